"""From a table's row to a document, counting what had to be touched."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from attending.data.annotations import Annotations, is_plain, read_annotations
from attending.data.label_cells import LabelCells, sound
from attending.data.readers import cell_text, cell_value, mended
from attending.data.tables import NumberLiteral, TableRow
from attending.data.wording import plural, some
from attending.errors import DataError
from attending.records import Document, Row, Source, Unreadable

_CHANGES: Mapping[str, tuple[str, str]] = {
    "label": (
        "label had outer white space (trimmed)",
        "labels had outer white space (trimmed)",
    ),
    "gap": (
        "row has nothing between two label separators (passed over)",
        "rows have nothing between two label separators (passed over)",
    ),
    "printed": (
        "row has its labels as a Python list (read as a list)",
        "rows have their labels as Python lists (read as lists)",
    ),
    "group": (
        "group had outer white space (trimmed)",
        "groups had outer white space (trimmed)",
    ),
    "id": ("row has no id (named row-N)", "rows have no id (named row-N)"),
    "date": (
        "date is not ISO 8601 (kept as an attribute)",
        "dates are not ISO 8601 (kept as attributes)",
    ),
    "half": (
        "row has half of a character beside its text (read as U+FFFD)",
        "rows have half of a character beside their text (read as U+FFFD)",
    ),
    "span": (
        "row has spans outside its text (left out)",
        "rows have spans outside their text (left out)",
    ),
    "surface": (
        "row has spans whose words don't stand at their offsets, as if of another text (left out)",
        "rows have spans whose words don't stand at their offsets, as if of another text "
        "(left out)",
    ),
    "odd": (
        "row has spans that can't be read (left out)",
        "rows have spans that can't be read (left out)",
    ),
}
_SPAN_COLUMNS = ("spans", "evidence")


class Notes:
    """Lines on which something was changed or could not be used, by kind."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._lines: dict[str, list[int]] = {}
        self._items: Counter[str] = Counter()

    def add(self, kind: str, line: int, items: int = 0) -> None:
        """Count one row, and how many things in it where it may hold several."""
        self._lines.setdefault(kind, []).append(line)
        self._items[kind] += items

    def count(self, kind: str) -> int:
        """Return how many rows were counted under a kind."""
        return len(self._lines.get(kind, ()))

    def lines(self, kind: str, singular: str, several: str) -> list[str]:
        """Return the note of a kind, or nothing if no row was counted."""
        found = self._lines.get(kind)
        if not found:
            return []
        subject = plural(len(found), singular, several)
        if self._items[kind] > len(found):
            subject += f": {self._items[kind]:,} in all"
        on = "line" if len(found) == 1 else "lines"
        return [f"{self.file}: {subject} ({on} {some(found)})"]


class RowReader:
    """Turns the rows of one table into documents.

    Args:
        file: The table's name.
        roles: Role -> column.
        named: Roles that the user named a column for; these must hold what is expected.
        notes: Where to count.
        cells: How label cells are written.
    """

    def __init__(
        self,
        file: str,
        roles: Mapping[str, str],
        named: Mapping[str, str | None],
        notes: Notes,
        cells: LabelCells,
    ) -> None:
        self._file, self._roles, self._named, self._notes = file, roles, named, notes
        self._cells = cells
        self._taken = {mended(column) for role, column in roles.items() if role != "date"}
        self._dates = 0

    def row(self, row: TableRow, ordinal: int) -> Row:
        """Return the document of a row, or why there is none; ``ordinal`` counts from 1."""
        source = Source(self._file, row.line)
        fallback = f"row-{ordinal}"
        if row.cells is None:
            return Unreadable(fallback, row.problem or "can't be read", source)
        id_ = self._id(row, fallback)
        text = row.cells.get(self._roles["text"])
        problem = _not_text(text)
        labels = None
        if problem is None:
            labels, problem = self._labels(row)
        if problem is not None:
            return Unreadable(id_, problem, source)
        attributes = self._attributes(row)
        when = self._when(row, attributes)
        found = self._annotations(row, attributes, str(text), labels)
        for kind, count in (("span", found.outside), ("surface", found.differing)):
            if count:
                self._notes.add(kind, row.line, count)
        return Document(
            id=id_,
            text=str(text),
            labels=labels,
            spans=found.spans,
            group=self._group(row),
            when=when,
            attributes=attributes,
            source=source,
        )

    def finish(self) -> list[str]:
        """Return the notes of the whole table.

        Raises:
            DataError: If a date column was named and none of its cells is a date.
        """
        unread = self._notes.count("date")
        if unread and not self._dates and self._named.get("date"):
            raise DataError(
                f'no cell of the column "{self._roles["date"]}" is a date',
                where=self._file,
                allowed="ISO 8601, such as 2024-03-11 or 2024-03-11T07:30:00Z",
            )
        return [note for kind in _CHANGES for note in self._notes.lines(kind, *_CHANGES[kind])]

    def _attributes(self, row: TableRow) -> dict[str, Any]:
        """Return what has no role, without halves of characters; a row that had one is noted."""
        looked_at = [self._roles.get(role) for role in ("text", "id", "label")]
        beside = {c: v for c, v in (row.cells or {}).items() if c not in looked_at}
        whole = mended(beside)
        if whole != beside:
            self._notes.add("half", row.line)
        return {c: cell_value(v) for c, v in whole.items() if c not in self._taken}

    def _cell(self, row: TableRow, role: str) -> Any:
        column = self._roles.get(role)
        return None if column is None or row.cells is None else row.cells.get(column)

    def _id(self, row: TableRow, fallback: str) -> str:
        id_ = cell_text(self._cell(row, "id"))
        if id_ is not None and id_.strip() and sound(id_):
            return id_
        if "id" in self._roles:
            self._notes.add("id", row.line)
        return fallback

    def _group(self, row: TableRow) -> str | None:
        group = mended(cell_text(self._cell(row, "group")))
        if group is None or not group.strip():
            return None
        if group != group.strip():
            self._notes.add("group", row.line)
        return str(group.strip())

    def _labels(self, row: TableRow) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the labels, and why the row can't be read if they make no sense."""
        if "label" not in self._roles:
            return None, None
        read = self._cells.read(self._cell(row, "label"))
        for kind, holds in (
            ("label", read.trimmed), ("gap", read.gaps), ("printed", read.printed),
        ):  # fmt: skip
            if holds:
                self._notes.add(kind, row.line)
        return read.labels, read.problem

    def _when(self, row: TableRow, attributes: dict[str, Any]) -> datetime | None:
        """Return the date; a cell that is none stays among the attributes."""
        cell = self._cell(row, "date")
        when = _date(cell)
        column = self._roles.get("date")
        if column is not None and (when is not None or cell is None or cell == ""):
            attributes.pop(column, None)
        self._dates += when is not None
        if when is None and cell not in (None, ""):
            self._notes.add("date", row.line)
        return when

    def _annotations(
        self,
        row: TableRow,
        attributes: dict[str, Any],
        text: str,
        labels: tuple[str, ...] | None,
    ) -> Annotations:
        """Read the column of spans that was named, else a usual one that is plainly of spans.

        A span without a label gets the only one that its document has.
        """
        only = labels[0] if labels and len(labels) == 1 else None
        if "spans" in self._roles:
            cell = mended(cell_value(self._cell(row, "spans")))
            items = _json_list(cell)
            if items is None and cell not in (None, ""):
                self._notes.add("odd", row.line)
            found = read_annotations(items or [], text, only)
            if found.odd:
                self._notes.add("odd", row.line)
            return found
        for column in _SPAN_COLUMNS:
            items = _json_list(attributes.get(column))
            if items is not None and all(map(is_plain, items)):
                del attributes[column]
                return read_annotations(items, text, only)
        return Annotations(())


def _json_list(cell: Any) -> list[Any] | None:
    """Return a list, also one that is written as JSON in a CSV; else ``None``."""
    if type(cell) is not str or not cell.lstrip().startswith("["):
        return cell if isinstance(cell, list) else None
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def _not_text(cell: Any) -> str | None:
    """Say why a cell is no text; ``None`` if it is one (it may be empty)."""
    if cell is None:
        return "no text"
    if type(cell) is not str:
        kind = "a number" if isinstance(cell, NumberLiteral) else f"a {type(cell).__name__}"
        return f"the text is {kind}, not text"
    if "\0" in cell:
        return "the text holds a NUL character"
    return None if sound(cell) else "the text holds half of a character (a lone surrogate)"


def _date(cell: Any) -> datetime | None:
    if isinstance(cell, datetime):
        return cell
    if isinstance(cell, date):
        return datetime.combine(cell, time())
    text = cell_text(cell)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None
