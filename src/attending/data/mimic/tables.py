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
from attending.data.wording import plural
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


class Cells(tuple[str, ...]):
    """The cells of a row, which know where they stand, for what is wrong with one of them."""

    path: Path
    line: int
    columns: Sequence[str]

    def number(self, column: str) -> int:
        """Return the cell of a column as a whole number, which some exports write as ``1.0``.

        Raises:
            DataError: If it is none; says where.
        """
        cell = whole(self[self.columns.index(column)])
        if not cell.isascii() or not cell.isdecimal():
            raise DataError(
                f'there is no whole number in the column "{column}"',
                where=f"{self.path} line {self.line}",
                found=plural(len(cell), "character") if cell else "an empty cell",
                step="Is it PhysioNet's file of that name? Download it again.",
            )
        return int(cell)


def whole(number: str) -> str:
    """Return an id that some exports write as a decimal, ``100001.0``."""
    return number.strip().removesuffix(".0")


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[Cells]:
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
                cells = Cells(row[i] for i in places)
                cells.path, cells.line, cells.columns = path, reader.line_num, columns
                yield cells
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
