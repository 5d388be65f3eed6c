"""Writing a file whole or not at all, and never over another one by accident."""

import csv
import gzip
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from attending.errors import OutputError


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only once everything has been written.

    A name that ends in ``.gz`` is compressed (the same content gives the same bytes).

    Raises:
        OutputError: If the file exists and ``force`` isn't set, or can't be written.
    """
    if path.is_dir():
        raise OutputError("this is a folder", where=str(path), step="Name a file.")
    if path.exists() and not force:
        raise OutputError("the file exists already", where=str(path), step="Pass --force.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as raw:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]  # a GzipFile writes bytes as a file does
            else:
                yield raw
        part.replace(path)
    except OSError as error:
        raise OutputError(
            f"can't be written: {error.strerror or type(error).__name__}",
            where=str(path),
            step=None if path.parent.is_dir() else f"Make the folder {path.parent} first.",
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file in UTF-8, whole or not at all.

    Raises:
        OutputError: As ``new_file``.
    """
    with new_file(path, force=force) as file:
        file.write(text.encode("utf-8"))


def write_separated(rows: Iterable[Sequence[str]], file: BinaryIO, separator: str) -> None:
    """Write rows of cells as CSV or TSV in UTF-8, so that every cell comes back the same."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    plain = csv.writer(text, delimiter=separator, lineterminator="\n")
    # A lone carriage return must be quoted, which not every version of the csv module does.
    quoted = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        (quoted if any("\r" in cell for cell in row) else plain).writerow(row)
    text.detach()
