"""Shaded words of a message on lines of a given width, measured so that nothing overlaps."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, islice, pairwise, takewhile
from typing import Protocol

from attending.explain.words import Offsets

_LINE_END = re.compile(r"\r\n|[\n\r\v\f\u0085\u2028\u2029]")


class Face(Protocol):
    """What a text is drawn with."""

    def printable(self, text: str) -> str:
        """Return the text as it can be drawn: nothing hidden, nothing without a glyph."""
        ...

    def width(self, text: str) -> float:
        """Return the width of a printable text in points, blanks at its ends included."""
        ...


@dataclass(frozen=True, slots=True)
class Shade:
    """A word and how dark it is: 0 is not at all, 1 the darkest. Offsets into the message."""

    start: int
    end: int
    strength: float


@dataclass(frozen=True, slots=True)
class Part:
    """Text drawn in one go, at ``x`` points from the left of line ``line``, both from 0."""

    text: str
    strength: float
    width: float
    x: float = 0.0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A laid-out message: its parts, how many lines it takes, and how many words did not fit."""

    parts: tuple[Part, ...]
    lines: int
    hidden: int


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What stands between two blanks, or a piece of that (``glued`` to the chunk before it)."""

    parts: tuple[Part, ...]
    backward: bool | None
    glued: bool = False

    @property
    def width(self) -> float:
        return sum(part.width for part in self.parts)


def lay_out(text: str, shades: Sequence[Shade], width: float, face: Face, max_lines: int) -> Block:
    """Wrap a text with shaded words to lines.

    Args:
        text: The message; its own line breaks are kept.
        shades: Whole words in text order, not overlapping.
        width: Line width in points.
        face: Measures and cleans text.
        max_lines: Lines beyond are left out, their words counted.

    Right-to-left writing runs from the right: a line takes the direction of its first letter.
    """
    space = face.width(" ")
    lines: list[tuple[list[_Chunk], bool]] = []
    start = 0
    for end, following in _line_ends(text):
        chunks = _chunks(text, start, end, shades, width, face)
        backward = next((c.backward for c in chunks if c.backward is not None), False)
        lines += [(line, backward) for line in _wrap(chunks, width, space)]
        start = following
    while len(lines) > 1 and not lines[-1][0]:
        lines.pop()
    parts = [
        replace(part, line=number)
        for number, (line, backward) in enumerate(lines[:max_lines])
        for part in _place(line, backward, width, space)
    ]
    hidden = sum(not chunk.glued for line, _ in lines[max_lines:] for chunk in line)
    return Block(tuple(parts), min(len(lines), max_lines), hidden)


def _line_ends(text: str) -> Iterator[Offsets]:
    for match in _LINE_END.finditer(text):
        yield match.span()
    yield len(text), len(text)


def _chunks(
    text: str, start: int, end: int, shades: Sequence[Shade], width: float, face: Face
) -> list[_Chunk]:
    """Cut a line of the message at its blanks; what is wider than the page is cut again."""
    chunks: list[_Chunk] = []
    for match in re.finditer(r"\S+", text[start:end]):
        first, last = start + match.start(), start + match.end()
        parts = _measured(_parts(text, first, last, shades), face)
        backward = _is_backward(match.group())
        for i, piece in enumerate(_fit(parts, width, face)):
            chunks.append(_Chunk(piece, backward, glued=i > 0))
    return chunks


def _parts(text: str, start: int, end: int, shades: Sequence[Shade]) -> list[tuple[str, float]]:
    """Cut a chunk at the edges of its shaded words."""
    parts: list[tuple[str, float]] = []
    at = start
    first = bisect_left(shades, start, key=lambda shade: shade.start)
    for shade in takewhile(lambda shade: shade.end <= end, islice(shades, first, None)):
        parts.append((text[at : shade.start], 0.0))
        parts.append((text[shade.start : shade.end], shade.strength))
        at = shade.end
    parts.append((text[at:end], 0.0))
    return parts


def _measured(parts: Sequence[tuple[str, float]], face: Face) -> tuple[Part, ...]:
    """Measure parts by what the text before them takes, so that they join without gaps."""
    cleaned = [(shown, strength) for t, strength in parts if (shown := face.printable(t))]
    ends = [face.width(prefix) for prefix in accumulate(shown for shown, _ in cleaned)]
    return tuple(
        Part(shown, strength, end - start)
        for (shown, strength), (start, end) in zip(cleaned, pairwise([0.0, *ends]), strict=True)
    )


def _fit(parts: tuple[Part, ...], width: float, face: Face) -> Iterator[tuple[Part, ...]]:
    if sum(part.width for part in parts) <= width:
        if parts:
            yield parts
        return
    line: list[Part] = []
    for part in chain.from_iterable(_cut(whole, width, face) for whole in parts):
        if line and sum(p.width for p in line) + part.width > width:
            yield tuple(line)
            line = []
        line.append(part)
    yield tuple(line)


def _cut(part: Part, width: float, face: Face) -> Iterator[Part]:
    """Cut a part that is wider than a line; marks stay with their letter."""
    text, start = part.text, 0
    if part.width <= width:
        yield part
        return
    for i in range(1, len(text) + 1):
        ends_here = i == len(text) or (
            not unicodedata.combining(text[i]) and face.width(text[start : i + 1]) > width
        )
        if ends_here:
            yield Part(text[start:i], part.strength, face.width(text[start:i]))
            start = i


def _wrap(chunks: Sequence[_Chunk], width: float, space: float) -> list[list[_Chunk]]:
    lines: list[list[_Chunk]] = [[]]
    used = 0.0
    for chunk in chunks:
        gap = space if lines[-1] and not chunk.glued else 0.0
        if lines[-1] and used + gap + chunk.width > width:
            lines.append([])
            used = gap = 0.0
        lines[-1].append(chunk)
        used += gap + chunk.width
    return lines


def _place(line: Sequence[_Chunk], backward: bool, width: float, space: float) -> Iterator[Part]:
    """Give the chunks of a line their places, runs of the other direction turned round."""
    order = _visual_order(line, backward)
    gaps = [0.0 if abs(a - b) == 1 and line[max(a, b)].glued else space for a, b in pairwise(order)]
    x = width - sum(c.width for c in line) - sum(gaps) if backward else 0.0
    for i, gap in zip(order, [*gaps, 0.0], strict=False):
        parts = line[i].parts[::-1] if line[i].backward else line[i].parts
        for part in parts:
            yield replace(part, x=x)
            x += part.width
        x += gap


def _visual_order(line: Sequence[_Chunk], backward: bool) -> list[int]:
    """Return positions from left to right (the two-level case of the Unicode bidi algorithm).

    Numbers and punctuation go with what stands before them.
    """
    directions: list[bool] = []
    for chunk in line:
        before = directions[-1] if directions else backward
        directions.append(before if chunk.backward is None else chunk.backward)
    runs = [(t, list(run)) for t, run in groupby(range(len(line)), directions.__getitem__)]
    ordered = [run[::-1] if turned else run for turned, run in runs]
    if backward:
        ordered.reverse()
    return [i for run in ordered for i in run]


def _is_backward(text: str) -> bool | None:
    """Say whether a text runs from right to left; ``None`` if it has no letter."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return None
