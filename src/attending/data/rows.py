"""From a table's row to a document, counting what had to be touched."""

import json
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from attending.data.readers import cell_text, cell_value
from attending.data.tables import NumberLiteral, TableRow
from attending.data.wording import plural, some
from attending.errors import DataError
from attending.records import Document, Row, Source, Span, Unreadable

_CHANGES: Mapping[str, tuple[str, str]] = {
    "label": (
        "label had outer white space (trimmed)",
        "labels had outer white space (trimmed)",
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
    "span": (
        "row has spans outside its text (left out)",
        "rows have spans outside their text (left out)",
    ),
}
_SPAN_COLUMNS = ("spans", "evidence")


class Notes:
    """Lines on which something was changed or could not be used, by kind."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._lines: dict[str, list[int]] = {}

    def add(self, kind: str, line: int) -> None:
        """Count one row."""
        self._lines.setdefault(kind, []).append(line)

    def count(self, kind: str) -> int:
        """Return how many rows were counted under a kind."""
        return len(self._lines.get(kind, ()))

    def lines(self, kind: str, singular: str, several: str) -> list[str]:
        """Return the note of a kind, or nothing if no row was counted."""
        found = self._lines.get(kind)
        if not found:
            return []
        subject = plural(len(found), singular, several)
        on = "line" if len(found) == 1 else "lines"
        return [f"{self.file}: {subject} ({on} {some(found)})"]


class RowReader:
    """Turns the rows of one table into documents.

    Args:
        file: The table's name.
        roles: Role -> column.
        named: Roles that the user named a column for; these must hold what is expected.
        notes: Where to count.
    """

    def __init__(
        self, file: str, roles: Mapping[str, str], named: Mapping[str, str | None], notes: Notes
    ) -> None:
        self._file, self._roles, self._named, self._notes = file, roles, named, notes
        self._taken = {column for role, column in roles.items() if role != "date"}
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
        if problem is None:
            labels, problem = self._labels(row)
        if problem is not None:
            return Unreadable(id_, problem, source)
        attributes = {c: cell_value(v) for c, v in row.cells.items() if c not in self._taken}
        when = self._when(row, attributes)
        spans = self._spans(row.line, attributes, len(str(text)), labels)
        return Document(
            id=id_,
            text=str(text),
            labels=labels,
            spans=spans,
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

    def _cell(self, row: TableRow, role: str) -> Any:
        column = self._roles.get(role)
        return None if column is None or row.cells is None else row.cells.get(column)

    def _id(self, row: TableRow, fallback: str) -> str:
        id_ = cell_text(self._cell(row, "id"))
        if id_ is not None and id_.strip() and _sound(id_):
            return id_
        if "id" in self._roles:
            self._notes.add("id", row.line)
        return fallback

    def _group(self, row: TableRow) -> str | None:
        group = cell_text(self._cell(row, "group"))
        if group is None or not group.strip():
            return None
        if group != group.strip():
            self._notes.add("group", row.line)
        return group.strip()

    def _labels(self, row: TableRow) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the labels, and why the row can't be read if they make no sense."""
        cell = self._cell(row, "label")
        items = _as_list(cell)
        if items is None:
            items = [cell]
        elif not all(type(i) in (str, NumberLiteral, int, float, bool) for i in items):
            return None, "a list of labels holds something that is not a label"
        labels = [cell_text(item) or "" for item in items]
        trimmed = [label.strip() for label in labels]
        if any(a != b and b for a, b in zip(labels, trimmed, strict=True)):
            self._notes.add("label", row.line)
        if any(not _sound(label) for label in trimmed):
            return None, "the label holds a character that is not text"
        if _as_list(cell) is None:
            return ((trimmed[0],) if trimmed[0] else None), None
        if not all(trimmed):
            return None, "a list of labels holds an empty one"
        return tuple(dict.fromkeys(trimmed)), None

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

    def _spans(
        self,
        line: int,
        attributes: dict[str, Any],
        length: int,
        labels: tuple[str, ...] | None,
    ) -> tuple[Span, ...]:
        """Take spans out of the attributes; a span without a label gets the only one there is."""
        for column in _SPAN_COLUMNS:
            items = _as_list(attributes.get(column))
            if items is None or not all(_is_span(i) for i in items):
                continue
            del attributes[column]
            only = labels[0] if labels and len(labels) == 1 else None
            spans = [Span(i["start"], i["end"], i.get("label", only)) for i in items]
            inside = tuple(s for s in spans if 0 <= s.start < s.end <= length)
            if len(inside) < len(spans):
                self._notes.add("span", line)
            return inside
        return ()


def _is_span(item: Any) -> bool:
    return isinstance(item, dict) and type(item.get("start")) is type(item.get("end")) is int


def _as_list(cell: Any) -> list[Any] | None:
    """Return a list cell, also one that is written as JSON in a CSV; else ``None``."""
    if isinstance(cell, list):
        return cell
    if type(cell) is not str or not cell.startswith("[") or not cell.endswith("]"):
        return None
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return items if all(isinstance(i, str | dict) for i in items) else None


def _not_text(cell: Any) -> str | None:
    """Say why a cell is no text; ``None`` if it is one (it may be empty)."""
    if cell is None:
        return "no text"
    if type(cell) is not str:
        kind = "a number" if isinstance(cell, NumberLiteral) else f"a {type(cell).__name__}"
        return f"the text is {kind}, not text"
    if "\0" in cell:
        return "the text holds a NUL character"
    return None if _sound(cell) else "the text holds half of a character (a lone surrogate)"


def _sound(cell: str) -> bool:
    """Whether a string is whole Unicode without NUL: others break tokenizers and files."""
    if cell.isascii():
        return "\0" not in cell
    return "\0" not in cell and not any("\ud800" <= c <= "\udfff" for c in cell)


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
