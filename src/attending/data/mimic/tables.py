"""PhysioNet's CSV files, row by row: notes of millions of rows never stand in memory at once."""

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TextIO

from attending.data.columns import listing
from attending.errors import DataError


def find_table(folders: Sequence[Path], name: str) -> Path:
    """Return the file of a table, ``name.csv`` or ``name.csv.gz``, in any case, in some folders.

    Raises:
        DataError: If no folder holds it; says where it was looked for.
    """
    wanted = {f"{name}.csv".lower(), f"{name}.csv.gz".lower()}
    for folder in folders:
        if folder.is_dir():
            found = sorted(p for p in folder.iterdir() if p.name.lower() in wanted)
            if found:
                return found[0]
    raise DataError(
        f'there is no table "{name}"',
        where=" or ".join(dict.fromkeys(str(f) for f in folders)),
        allowed=f"{name}.csv or {name}.csv.gz",
        step="Give the folder that PhysioNet's download made with --path.",
    )


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of some columns, in the order asked for; names in any case.

    Raises:
        DataError: If a column is missing, a row has another number of cells, or the file is
            damaged; with the line.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with closing(_opened(path)) as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [c.strip().lower() for c in next(reader, [])]
            places = [_place(header, name, path) for name in columns]
            for row in reader:
                if len(row) != len(header):
                    raise DataError(
                        "a row has another number of cells than the header",
                        where=f"{path} line {reader.line_num}",
                        found=f"{len(row)}",
                        allowed=f"{len(header)}",
                        step="The file may be cut off: download it again.",
                    )
                yield tuple(row[i] for i in places)
        except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
            raise DataError(
                f"can't be read on ({type(error).__name__})",
                where=f"{path} line {reader.line_num}",
                step="The file may be cut off: download it again.",
            ) from None


def _opened(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _place(header: Sequence[str], name: str, path: Path) -> int:
    if name not in header:
        raise DataError(
            f'there is no column "{name}"',
            where=str(path),
            found=listing(tuple(header)),
            step="Is it PhysioNet's file of that name?",
        )
    return header.index(name)
