"""Tables for a terminal: aligned columns, numbers to the right, nothing but the figures."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attending.cli.console import visible

if TYPE_CHECKING:
    from rich.table import Table

_NAMES = 11
"""Least width of the names of facts, so that several lists of them stand in line."""


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    wide: Sequence[int] = (),
) -> "Table":
    """Return a table.

    Args:
        columns: The head of each column; empty heads are fine.
        rows: The cells of each row.
        words: How many columns, from the left, hold words; the others are set to the right.
        wide: Positions of columns that hold words and are wrapped where there is no room.
    """
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for position, head in enumerate(columns):
        left = position < words or position in wide
        made.add_column(
            Text(visible(head)), justify="left" if left else "right", no_wrap=position not in wide
        )
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


def facts(pairs: Iterable[tuple[str, str]]) -> "Table":
    """Return facts by name, one a row; long ones are wrapped where there is no room."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="bold", min_width=_NAMES)
    made.add_column()
    for name, fact in pairs:
        made.add_row(Text(visible(name)), Text(visible(fact)))
    return made
