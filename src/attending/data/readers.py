"""Readers of tables: CSV, TSV, JSON lines (each also gzipped) and Parquet.

They give cells as they are in the file and never guess a type; ``attending.data.corpora`` turns
rows into documents.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attending.data.files import decode, read_bytes
from attending.data.separated import read_separated
from attending.data.tables import NumberLiteral, Table, TableRow
from attending.data.wording import plural
from attending.errors import DataError, MissingExtra

_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_CONVERT = {
    ".xlsx": "Save the sheet as CSV (UTF-8).",
    ".xls": "Save the sheet as CSV (UTF-8).",
    ".json": "Write one JSON object a line and name the file .jsonl.",
}
_HALVES = re.compile("[\ud800-\udfff]")
ALLOWED = ".csv, .tsv, .jsonl (each also .gz), .parquet"


def kind_of(path: Path) -> str:
    """Return ``csv``, ``tsv``, ``jsonl`` or ``parquet`` by a file's suffix.

    Raises:
        DataError: If the suffix is none that can be read or written.
    """
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
    kind = _KINDS.get(suffix)
    if kind is None or (packed and kind == "parquet"):
        ending = "".join(path.suffixes[-2:] if packed else path.suffixes[-1:])
        raise DataError(
            "the kind of file can't be told from its name",
            where=str(path),
            found=f'ending "{ending}"' if ending else "no ending",
            allowed=ALLOWED,
            step=_CONVERT.get(suffix),
        )
    return kind


def read_table(path: Path, *, encoding: str = "utf-8", separator: str | None = None) -> Table:
    """Read a file of rows by its suffix.

    Raises:
        DataError: If the file is missing, a folder, empty, of an unknown kind, can't be decoded
            (with the byte's position) or isn't what its suffix says.
        MissingExtra: If it is Parquet and ``pyarrow`` is not installed.
    """
    if path.is_dir():
        raise DataError(
            "this is a folder, not a file", where=str(path), step="Name the file in it."
        )
    if not path.exists():
        read_bytes(path)
    kind = kind_of(path)
    if separator is not None and len(separator) != 1:
        raise DataError("the separator must be one character", found=repr(separator))
    if kind == "parquet":
        return _read_parquet(path)
    return read_table_bytes(read_bytes(path), path.name, kind, encoding, separator)


def read_table_bytes(
    data: bytes, file: str, kind: str, encoding: str = "utf-8", separator: str | None = None
) -> Table:
    """Read the content of a CSV, TSV or JSON lines file that is in memory already.

    Raises:
        DataError: As ``read_table``.
    """
    text = decode(data, file, encoding)
    if kind == "jsonl":
        return _read_jsonl(text, file)
    return read_separated(text, file, separator, "\t" if kind == "tsv" else ",")


def _read_jsonl(text: str, file: str) -> Table:
    rows: list[TableRow] = []
    blank: list[int] = []
    skipped = 0
    columns: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            blank.append(number)
            continue
        skipped += len(blank)
        blank.clear()
        row = parse_line(line, number)
        rows.append(row)
        columns.update(dict.fromkeys(row.cells or ()))
    if not rows:
        raise DataError("the file is empty", where=file)
    if not columns:
        raise DataError(
            f"no line holds a JSON object ({rows[0].problem})",
            where=f"{file} line {rows[0].line}",
            allowed='one object a line, such as {"id": "1", "text": "...", "label": "..."}',
            step="A file that is one JSON array must be written as JSON lines first."
            if text.lstrip().startswith("[")
            else None,
        )
    notes = (f"{file}: {plural(skipped, 'blank line')} skipped",) if skipped else ()
    return Table(file, tuple(columns), tuple(rows), notes)


def parse_line(line: str, number: int) -> TableRow:
    """Return the row of a line of JSON, or why it is none."""
    try:
        cells = json.loads(line, parse_int=NumberLiteral, parse_float=NumberLiteral)
    except json.JSONDecodeError as error:
        return TableRow(number, None, f"broken JSON at column {error.colno} ({error.msg})")
    except RecursionError:
        return TableRow(number, None, "JSON nested too deeply")
    if not isinstance(cells, dict):
        return TableRow(number, None, "not a JSON object")
    return TableRow(number, cells)


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet as parquet
        from pyarrow import ArrowException
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "Reading Parquet") from None
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError):
        raise DataError("not a readable Parquet file", where=str(path)) from None
    columns = tuple(table.column_names)
    if len(set(columns)) < len(columns):
        raise DataError("two columns have the same name", where=str(path))
    rows = parquet_cells(table, path.name)
    return Table(
        path.name,
        columns,
        tuple(TableRow(number, cells) for number, cells in enumerate(rows, start=1)),
    )


def parquet_cells(table: Any, file: str, first: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table or batch of pyarrow's, column -> cell.

    Args:
        table: The table.
        file: Its name, for errors.
        first: The number of its first row in the file.

    Raises:
        DataError: If Python has no form for a value (a time after the year 9999 or of
            nanoseconds, a string that is no UTF-8); names the column.
    """
    names, columns = table.schema.names, []
    for name, column in zip(names, table.columns, strict=True):
        try:
            columns.append(column.to_pylist())
        except (ValueError, OverflowError, NotImplementedError, TypeError) as error:
            where = f"{file} rows {first:,} to {first + table.num_rows - 1:,}"
            raise DataError(
                f'the column "{name[:40]}" holds a value that can\'t be read',
                where=where,
                found=f"type {column.type}, {type(error).__name__}",
                step="Write it as strings in UTF-8, times in ISO 8601, or leave the column out.",
            ) from None
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))


_PLAIN: dict[type, Callable[[Any], str]] = {
    str: str,
    NumberLiteral: str.__str__,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: repr,
}


def cell_text(value: Any) -> str | None:
    """Return a cell as a string: numbers as spelled, structures as JSON, null and NaN ``None``."""
    if value is None or value != value:
        return None
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def cell_value(value: Any) -> Any:
    """Return a cell as an attribute: JSON numbers become numbers where nothing is lost."""
    if isinstance(value, NumberLiteral):
        return _number(str(value))
    if isinstance(value, list):
        return [cell_value(item) for item in value]
    if isinstance(value, dict):
        return {key: cell_value(item) for key, item in value.items()}
    return value


def mended(value: Any) -> Any:
    """Return a value with U+FFFD for each half of a character, which can't be written as UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else _HALVES.sub("\ufffd", value)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    return value


def finite(value: Any) -> Any:
    """Return a value with ``None`` for each number that JSON hasn't: NaN and the infinite ones."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


def _number(literal: str) -> int | float | str:
    for kind in (int, float):
        try:
            number = kind(literal)
        except ValueError:
            continue
        if repr(number) == literal:
            return number
    return literal
