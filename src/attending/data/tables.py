"""Rows of cells, before anyone knows which column is the text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class NumberLiteral(str):
    """A JSON number as it was spelled, so that a code such as ``250.00`` keeps its zeros."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: ``line`` is the physical line on which it starts (Parquet: the row), from 1.

    ``cells`` is ``None`` where the row could not be read; ``problem`` then says why.
    """

    line: int
    cells: Mapping[str, Any] | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file in order, its columns, and notes on how it was read."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
