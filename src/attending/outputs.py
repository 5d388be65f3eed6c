"""Files that are written whole or not at all, and never over another one unasked."""

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from attending.errors import OutputError


def require_new(path: Path, *, force: bool = False) -> None:
    """Make sure that a file may be written, before the work that fills it.

    Raises:
        OutputError: If it exists and ``force`` isn't set, is a folder, or lies in no folder.
    """
    if path.is_dir():
        raise OutputError("this is a folder, not a file", where=str(path), step="Name a file.")
    if path.exists() and not force:
        raise OutputError(
            "the file exists already", where=str(path), step="Choose another name or pass --force."
        )
    if not path.parent.is_dir():
        raise OutputError(
            "its folder does not exist",
            where=str(path),
            step=f"Make the folder {path.parent} first.",
        )


def require_apart(outputs: Iterable[Path | str], read: Iterable[Path | str] = ()) -> None:
    """Make sure that no output is another one, or what is read: forcing doesn't change that.

    Raises:
        OutputError: If one is.
    """
    seen: set[Path] = set()
    for output in outputs:
        place = Path(output).resolve()
        if place in seen:
            raise OutputError(
                "two outputs are one file", where=str(output), step="Give one of them another name."
            )
        seen.add(place)
    for source in read:
        if Path(source).resolve() in seen and Path(source).exists():
            raise OutputError(
                "this is what is read: what is written would replace it",
                where=str(source),
                step="Choose another --out.",
            )


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only once everything has been written.

    A name that ends in ``.gz`` is compressed (the same content gives the same bytes).

    Raises:
        OutputError: If the file exists and ``force`` isn't set, or can't be written.
    """
    require_new(path, force=force)
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
        reason = error.strerror or type(error).__name__
        raise OutputError(f"can't be written: {reason}", where=str(path)) from None
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
