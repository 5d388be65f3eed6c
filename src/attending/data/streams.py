"""Tables read row by row: files of any size in bounded memory, with the readers' own care.

A stream gives the rows that ``attending.data.readers`` gives. Two things differ, because a stream
can't look ahead: the columns of JSON lines are those of its first 1,000 rows, and a quotation mark
that is opened and not closed within 64 Mi characters counts as never closed.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast, overload

from attending.data.columns import SPANS, find_columns, find_named
from attending.data.files import decode, read_bytes
from attending.data.label_cells import LabelCells
from attending.data.readers import cell_text, kind_of, parquet_cells, parse_line
from attending.data.rows import Notes, RowReader
from attending.data.separated import head_of, long_cells, rows_of
from attending.data.tables import TableRow
from attending.errors import DataError, MissingExtra
from attending.records import Document, Row

LONGEST_RECORD = 64 << 20
_FIRST = 1000
_AT_ONCE = 1024
_ANEW = 4096
_HELD = 4096
_UTF8 = {"utf-8", "utf8", "utf-8-sig", "utf_8", "utf_8_sig"}


class LazyLines(Sequence[str]):
    """Lines that are read as they are asked for; ``len`` knows of one more than was seen.

    Args:
        lines: The lines, with their ends.
        longest: Characters that one record may have.
    """

    def __init__(self, lines: Iterator[str], longest: int = LONGEST_RECORD) -> None:
        self.longest = longest
        self._source, self._held, self._before, self._seen = lines, [""] * 0, 0, -1

    def __len__(self) -> int:
        self._read(self._seen + 1)
        return self._before + len(self._held)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return a line that wasn't forgotten."""
        if isinstance(index, slice):
            raise TypeError("lines are read one by one")
        self._read(index)
        self._seen = max(self._seen, index)
        return self._held[index - self._before]

    def forget(self, before: int) -> None:
        """Let go of the lines before an index."""
        if before - self._before >= _HELD:
            del self._held[: before - self._before]
            self._before = before

    def _read(self, index: int) -> None:
        missing = index + 1 - self._before - len(self._held)
        if missing > 0:
            self._held += islice(self._source, missing)


@dataclass(frozen=True)
class RowStream:
    """The rows of a file in order, its columns, and what was remarked on its first line."""

    file: str
    columns: tuple[str, ...]
    rows: Iterator[TableRow]
    notes: tuple[str, ...] = ()


def open_rows(path: Path, encoding: str = "utf-8", separator: str | None = None) -> RowStream:
    """Open a CSV, TSV, JSON lines (each also ``.gz``) or Parquet file, to be read row by row.

    Raises:
        DataError: If it is missing, empty, of an unknown kind or has no usable first line. What
            is wrong further on is raised by the rows.
        MissingExtra: If it is Parquet and ``pyarrow`` is not installed.
    """
    if path.is_dir():
        raise DataError("this is a folder, not a file", where=str(path), step="Name its files.")
    kind = kind_of(path)
    if not path.exists():
        read_bytes(path)
    if kind == "parquet":
        return _parquet(path)
    if kind == "jsonl":
        return _json_lines(path, encoding)
    lines = LazyLines(_lines(path, encoding, ""), LONGEST_RECORD)
    default = "\t" if kind == "tsv" else ","
    with long_cells():
        columns, start, used, notes = head_of(lines, path.name, separator, default)
    rows = _separated(lines, start, used, columns)
    return RowStream(path.name, columns, rows, tuple(notes))


def stream_rows(
    path: Path,
    named: Mapping[str, str | None],
    where: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Iterator[tuple[int, Row]]:
    """Yield the number of each row, from 1, and its document, or why there is none.

    Documents have text and id alone: what is scored, and what it is called. Rows that don't meet
    ``where`` are numbered and passed over; unreadable ones are kept.

    Args:
        path: The file.
        named: Role -> column, ``text`` and ``id``; usual names are found.
        where: Column -> value.
        encoding: How characters are stored.

    Raises:
        DataError: If the file or a column can't be used.
    """
    stream = open_rows(path, encoding)
    bare = {"label": "", "group": "", "date": "", SPANS: None, **named}
    roles, _ = find_columns(stream.columns, stream.file, bare)
    wanted = {
        find_named(column, stream.columns, stream.file, "as a condition"): value.strip()
        for column, value in (where or {}).items()
    }
    kept: dict[str, str] = {role: c for role, c in roles.items() if role in ("text", "id")}
    reader = None
    for number, row in enumerate(stream.rows, start=1):
        # Notes grow with the file, so a reader is used for some rows only.
        if reader is None or number % _ANEW == 0:
            reader = RowReader(stream.file, kept, {}, Notes(stream.file), LabelCells())
        if row.cells is not None:
            if any((cell_text(row.cells.get(c)) or "").strip() != v for c, v in wanted.items()):
                continue
            row = replace(row, cells={c: row.cells.get(c) for c in kept.values()})
        made = reader.row(row, number)
        yield number, replace(made, attributes={}) if isinstance(made, Document) else made


def _separated(
    lines: LazyLines, start: int, separator: str, columns: tuple[str, ...]
) -> Iterator[TableRow]:
    skipped: list[int] = []
    with long_cells():
        for row in rows_of(lines, start, separator, columns, skipped):
            yield row
            skipped.clear()
            lines.forget(row.line - 1)


def _json_lines(path: Path, encoding: str) -> RowStream:
    rows = (
        parse_line(line, number)
        for number, line in enumerate(_lines(path, encoding, "\n"), start=1)
        if line.strip()
    )
    first = list(islice(rows, _FIRST))
    if not first:
        raise DataError("the file is empty", where=path.name)
    columns = tuple(dict.fromkeys(c for row in first for c in row.cells or ()))
    if not columns:
        raise DataError(
            f"no line of the first {len(first):,} holds a JSON object ({first[0].problem})",
            where=f"{path.name} line {first[0].line}",
            allowed='one object a line, such as {"id": "1", "text": "..."}',
        )
    return RowStream(path.name, columns, chain(first, rows))


def _parquet(path: Path) -> RowStream:
    try:
        import pyarrow.parquet as parquet
        from pyarrow import ArrowException
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "Reading Parquet") from None
    try:
        file = parquet.ParquetFile(path)
    except (ArrowException, OSError):
        raise DataError("not a readable Parquet file", where=str(path)) from None
    columns = tuple(file.schema_arrow.names)
    if len(set(columns)) < len(columns):
        raise DataError("two columns have the same name", where=str(path))

    def rows() -> Iterator[TableRow]:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=_AT_ONCE):
                for cells in parquet_cells(batch, path.name, number + 1):
                    number += 1
                    yield TableRow(number, cells)
        except (ArrowException, OSError):
            raise DataError("can't be read on", where=f"{path.name} row {number + 1}") from None

    return RowStream(path.name, columns, rows())


def _lines(path: Path, encoding: str, newline: str) -> Iterator[str]:
    """Yield lines with their ends; says after which line a byte can't be read."""
    name = "utf-8-sig" if encoding.lower() in _UTF8 else encoding
    done = 0
    try:
        with _opened(path) as raw:
            if name == "utf-8-sig" and _is_utf16(raw):
                decode(codecs.BOM_UTF16, path.name, encoding)  # says what to do
            for line in io.TextIOWrapper(raw, encoding=name, newline=newline):
                yield line if done else line.removeprefix("\ufeff")
                done += 1
    except UnicodeDecodeError as error:
        raise DataError(
            "a byte can't be read",
            where=f"{path.name} after line {done}",
            found=f"0x{error.object[error.start]:02x}; encoding tried: {encoding.lower()}",
            step="If the file was saved on Windows, pass --encoding cp1252."
            if name == "utf-8-sig"
            else "Pass the encoding that the file was saved in.",
        ) from None
    except LookupError:
        decode(b"a", path.name, encoding)  # says which there are
        raise
    except UnicodeError as error:
        raise DataError(
            f"the file can't be read as {encoding}: {error}",
            where=path.name,
            step="Pass the encoding that the file was saved in.",
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(
            "not a whole gzip archive", where=str(path), step="Copy or compress it again."
        ) from None
    except OSError as error:
        raise DataError(f"can't be opened: {error.strerror}", where=str(path)) from None


def _is_utf16(raw: Any) -> bool:
    return bytes(raw.peek(2)[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")
