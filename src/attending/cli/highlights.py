"""A message with its evidence words marked: coloured on a terminal, in [brackets] elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attending.cli.console import Screen, visible

if TYPE_CHECKING:
    from rich.text import Text

    from attending.records import Evidence

_MARK = "bold black on yellow"
_WIDEST = 96
_INDENT = 2


def highlighted(screen: Screen, text: str, evidence: Sequence["Evidence"]) -> list["Text"]:
    """Return the lines of a message, wrapped and indented, its evidence marked."""
    coloured = screen.out.is_terminal and screen.out.color_system is not None
    width = min(screen.out.width, _WIDEST) - _INDENT
    lines = list(marked(text, evidence, coloured).wrap(screen.out, width))
    for line in lines:
        line.rstrip()
        line.pad_left(_INDENT)
    return lines


def marked(text: str, evidence: Sequence["Evidence"], coloured: bool) -> "Text":
    """Return a text with its evidence marked by colour or by brackets; overlaps are joined."""
    from rich.text import Text

    made, place = Text(), 0
    for start, end in _joined(evidence):
        made.append(visible(text[place:start]))
        inside = visible(text[start:end])
        if coloured:
            made.append(inside, style=_MARK)
        else:
            made.append(f"[{inside}]")
        place = end
    made.append(visible(text[place:]))
    return made


def _joined(evidence: Sequence["Evidence"]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start, end in sorted((e.start, e.end) for e in evidence):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans
