"""The user's own table of codes and descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attending.data.coding.systems import Entry
from attending.data.columns import find_named, listing
from attending.data.files import decode, read_bytes
from attending.data.readers import cell_text, read_table, read_table_bytes
from attending.data.separated import read_headless
from attending.data.tables import Table
from attending.data.wording import plural, some
from attending.errors import DataError

_CODES = ("code", "id", "codigo", "código", "icd", "icd_code", "icd9_code", "icd10_code")
_TEXTS = (
    "description", "descriptor completo", "long_title", "long title", "title", "term", "name",
    "label", "descripcion", "descripción", "text",
)  # fmt: skip
_MARK = "|"
_LINES = 20


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which columns of a table hold what; by name, or by number from 1 where it has no header."""

    code: str | None = None
    description: str | None = None
    parent: str | None = None
    synonyms: str | None = None
    header: bool = True


def read_entries(
    path: str | Path, columns: TableColumns | None = None, encoding: str = "utf-8"
) -> tuple[dict[str, Entry], tuple[str, ...]]:
    """Read a table of codes: CSV, TSV, ``.txt`` with tabs, JSON lines or Parquet.

    A code's first row that has a description gives it; further rows of the code, and the cells of
    the column of synonyms (several set apart by ``|``), give other names of it. Rows without a
    code are passed over.

    Returns the entries by code, and notes: which rows can't be read and are left out, by line.

    Raises:
        DataError: If the file or a column can't be used, or no row has a code.
    """
    path, columns = Path(path), columns or TableColumns()
    table = _table(path, columns.header, encoding)
    code, text = (
        _column(table, name, usual, role)
        for name, usual, role in (
            (columns.code, _CODES, "code"),
            (columns.description, _TEXTS, "description"),
        )
    )
    parent, more = (
        find_named(name, table.columns, table.file, f"as the {role}") if name else None
        for name, role in ((columns.parent, "parent"), (columns.synonyms, "synonyms"))
    )
    entries: dict[str, Entry] = {}
    for row in table.rows:
        cells = {c: (cell_text(v) or "").strip() for c, v in (row.cells or {}).items()}
        if not cells.get(code):
            continue
        names = [x.strip() for x in cells.get(more or "", "").split(_MARK)]
        new = Entry(
            cells[code],
            cells.get(text, ""),
            tuple(dict.fromkeys(x for x in names if x and x != cells.get(text))),
            cells.get(parent or "") or None,
        )
        entries[new.code] = _joined(entries[new.code], new) if new.code in entries else new
    left_out = _left_out(table)
    if not entries:
        raise DataError(
            f'no row has a code in the column "{code}"',
            where=table.file,
            found="; ".join(left_out).removeprefix(f"{table.file}: ") or None,
        )
    return entries, left_out


def _left_out(table: Table) -> tuple[str, ...]:
    """Say which rows can't be read, by line."""
    odd = [row for row in table.rows if row.cells is None]
    if not odd:
        return ()
    lines = f"{'line' if len(odd) == 1 else 'lines'} {some([row.line for row in odd], _LINES)}"
    return (
        f"{table.file}: {plural(len(odd), 'row')} left out, whose codes are not there ({lines}; "
        f"first: {odd[0].problem})",
    )


def _joined(first: Entry, more: Entry) -> Entry:
    description = first.description or more.description
    names = (*first.synonyms, more.description, *more.synonyms)
    return replace(
        first,
        description=description,
        synonyms=tuple(dict.fromkeys(x for x in names if x and x != description)),
        parent=first.parent or more.parent,
    )


def _table(path: Path, header: bool, encoding: str) -> Table:
    plain = path.suffix.lower() == ".txt"
    if header and not plain:
        return read_table(path, encoding=encoding)
    data = read_bytes(path)
    if header:
        return read_table_bytes(data, path.name, "tsv", encoding)
    name = path.name.lower().removesuffix(".gz")
    text = decode(data, path.name, encoding)
    return read_headless(text, path.name, "," if name.endswith(".csv") else "\t")


def _column(table: Table, name: str | None, usual: Sequence[str], role: str) -> str:
    if name is not None:
        return find_named(name, table.columns, table.file, f"as the {role}")
    alike = {column.strip().casefold(): column for column in reversed(table.columns)}
    found = next((alike[x] for x in usual if x in alike), None)
    if found is None and table.columns[:2] == ("1", "2"):
        found = table.columns[0 if role == "code" else 1]
    if found is None:
        raise DataError(
            f"no column looks like the {role}",
            where=table.file,
            found=listing(table.columns),
            step=f"Name it with --{role}, or pass --no-header if the first line is a code.",
        )
    return found
