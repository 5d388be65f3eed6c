"""Cells that hold labels: one as it stands, several as a JSON list or with a separator.

Nothing in a cell is ever evaluated. A list as Python prints it (``['I10', 'E11.9']``) is what a
data frame leaves in a CSV: it is taken apart by its quotation marks, and the rows are counted.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attending.data.readers import cell_text
from attending.data.tables import NumberLiteral
from attending.errors import DataError

EmptyCells = Literal["unlabelled", "none"]
"""What an empty label cell says: nobody has looked, or somebody has and no label applies."""

_QUOTED = r"(?:'[^'\\]*'|\"[^\"\\]*\")"
_PRINTED = re.compile(rf"\[\s*{_QUOTED}(?:\s*,\s*{_QUOTED})*\s*,?\s*\]")
_SCALARS = (str, NumberLiteral, int, float, bool)


@dataclass(frozen=True, slots=True)
class LabelCell:
    """What a cell says.

    Args:
        labels: Distinct ids in order; ``()`` none, ``None`` unlabelled.
        problem: Why the row can't be read, if it can't.
        trimmed: Whether a label had white space around it.
        gaps: Whether there was nothing between two separators.
        printed: Whether it was a list as Python prints it.
    """

    labels: tuple[str, ...] | None = None
    problem: str | None = None
    trimmed: bool = False
    gaps: bool = False
    printed: bool = False


@dataclass(frozen=True, slots=True)
class LabelCells:
    """How the label cells of a file are written.

    Args:
        separator: What stands between labels; blank for any white space; ``None``: a cell that is
            no list is one label.
        empty: What an empty cell says.

    Raises:
        DataError: If the separator is empty or could begin a JSON list.
    """

    separator: str | None = None
    empty: EmptyCells = "unlabelled"

    def __post_init__(self) -> None:
        if self.separator is not None and (not self.separator or set(self.separator) & set('[]"')):
            raise DataError(
                "labels can't be told apart by this separator",
                found=f'"{self.separator}"',
                allowed='characters such as ";" or "|", or a blank for white space; no [ ] "',
            )

    def read(self, cell: Any) -> LabelCell:
        """Return the labels of a cell."""
        items, printed = as_list(cell), False
        if items is None and type(cell) is str and cell.lstrip().startswith(("['", '["')):
            items, printed = _printed(cell), True
            if items is None:
                return LabelCell(problem="the labels are a list that is no JSON")
        if items is None:
            return self._plain(cell)
        if not all(type(i) in _SCALARS for i in items):
            return LabelCell(problem="a list of labels holds something that is not a label")
        labels = [cell_text(item) or "" for item in items]
        if not all(label.strip() for label in labels):
            return LabelCell(problem="a list of labels holds an empty one")
        return _told(labels, printed=printed)

    def _plain(self, cell: Any) -> LabelCell:
        text = cell_text(cell) or ""
        labels = [text] if text.strip() else []
        gaps = False
        if labels and self.separator is not None and type(cell) is str:
            parts = self._parts(text)
            labels = [part for part in parts if part.strip()]
            gaps = len(labels) < len(parts)
        if labels:
            return _told(labels, gaps=gaps, spaced=self.separator is not None)
        return LabelCell(() if self.empty == "none" else None, gaps=gaps)

    def _parts(self, text: str) -> list[str]:
        blank = self.separator is None or self.separator.isspace()
        return text.split(None if blank else self.separator)

    def write(self, labels: tuple[str, ...] | None) -> str | list[str] | None:
        """Return the cell of a document's labels, which ``read`` turns into the same again.

        Raises:
            DataError: If a label holds the separator, or two labels make one where they meet.
        """
        if labels is None:
            return None
        if not labels:
            return []
        if self.separator is None:
            # A lone label that looks like a list would be read as one.
            return labels[0] if len(labels) == 1 and labels[0][0] != "[" else list(labels)
        cell = self.separator.join(labels)
        if cell[0] == "[" or self._parts(cell) != list(labels):
            # Held by one label, or made where two meet: "a:" and "b" with "::".
            wrong = labels[0] if cell[0] == "[" else None
            wrong = wrong or next((s for s in labels if self._parts(s) != [s]), None)
            named = "these labels" if wrong is None else f'the label "{wrong[:60]}"'
            raise DataError(
                f'{named} can\'t be written with the separator "{self.separator}"',
                found=None if wrong is not None else cell[:60],
                step="Choose another separator, or leave it out: lists are written as JSON.",
            )
        return cell


def _told(
    labels: Sequence[str], *, printed: bool = False, gaps: bool = False, spaced: bool = False
) -> LabelCell:
    """Return labels without the white space around them; after a separator it needs no mention."""
    bare = [label.strip() for label in labels]
    if not all(map(sound, bare)):
        return LabelCell(problem="the label holds a character that is not text")
    trimmed = not spaced and list(labels) != bare
    return LabelCell(tuple(dict.fromkeys(bare)), None, trimmed, gaps, printed)


def as_list(cell: Any) -> list[Any] | None:
    """Return a list cell, also one that is written as JSON in a CSV; else ``None``."""
    if isinstance(cell, list):
        return cell
    bare = cell.strip() if type(cell) is str else ""
    if not bare.startswith("[") or not bare.endswith("]"):
        return None
    try:
        items = json.loads(bare, parse_int=NumberLiteral, parse_float=NumberLiteral)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def _printed(cell: str) -> list[str] | None:
    if not _PRINTED.fullmatch(cell.strip()):
        return None
    return [quoted[1:-1] for quoted in re.findall(_QUOTED, cell)]


def sound(cell: str) -> bool:
    """Whether a string is whole Unicode without NUL: others break tokenizers and files."""
    if cell.isascii():
        return "\0" not in cell
    return "\0" not in cell and not any("\ud800" <= c <= "\udfff" for c in cell)
