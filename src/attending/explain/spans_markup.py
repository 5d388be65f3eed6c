"""A text with entities as HTML: gold ones as lines above the words, found ones as lines below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from attending.explain.markup import plain

LANES = 6
"""Lines that can lie over each other on one side; deeper ones share the last lane."""

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Chip:
    """A gold and a found entity side by side; either may lack.

    number counts them in a document. gold and found are their stretches in the text; kind is the
    class of what became of them, words says it. score is of the found one.
    """

    number: int
    kind: str
    words: str
    gold: tuple[Stretch, ...]
    found: tuple[Stretch, ...]
    gold_type: str
    found_type: str
    score: float | None = None

    @property
    def start(self) -> int:
        """Where its first stretch begins."""
        return min(start for start, _ in (*self.gold, *self.found))

    @property
    def end(self) -> int:
        """Where its last stretch ends."""
        return max(end for _, end in (*self.gold, *self.found))

    @property
    def tag(self) -> str:
        """What its tag shows: the type, or both where they differ."""
        if self.gold_type and self.found_type and self.gold_type != self.found_type:
            return f"{self.gold_type} → {self.found_type}"
        return self.gold_type or self.found_type

    @property
    def says(self) -> str:
        """Types, offsets and what became of it, in one line."""
        parts = []
        if self.gold:
            parts.append(f"gold {self.gold_type} {where(self.gold)}")
        if self.found:
            found = f"found {self.found_type} {where(self.found)}"
            parts.append(found if self.score is None else f"{found}, score {self.score:.2f}")
        return f"{'; '.join(parts)}: {self.words}"


@dataclass(frozen=True, slots=True)
class Marked:
    """A text as HTML, and how many lanes it needs above and below its words."""

    html: Markup
    lanes: tuple[int, int]


def where(stretches: Sequence[Stretch]) -> str:
    """Write stretches as offsets: ``8–12 and 23–27``."""
    return " and ".join(f"{start}–{end}" for start, end in stretches)


def marked(text: str, chips: Sequence[Chip]) -> Marked:
    """Return a text as HTML for an element that keeps white space.

    The text is cut where an entity begins or ends; each part lies in one element a lane, so lines
    of entities that nest or cross never break or touch. A lane is as high for all of the text.
    """
    gold = _lanes([(chip.gold, k) for k, chip in enumerate(chips) if chip.gold])
    found = _lanes([(chip.found, k) for k, chip in enumerate(chips) if chip.found])
    edges = {0, len(text)}
    edges |= {at for chip in chips for part in (*chip.gold, *chip.found) for at in part}
    begins: dict[int, list[Chip]] = {}
    for chip in sorted(chips, key=lambda c: (c.start, -c.end)):
        begins.setdefault(chip.start, []).append(chip)
    over = _Cover(gold, chips), _Cover(found, chips)
    out = []
    for start, end in pairwise(sorted(edges)):
        above, below = (side.at(start) for side in over)
        tags = "".join(_tag(chip) for chip in begins.get(start, ()))
        inner = f"{tags}{plain(text[start:end])}"
        out.append(_wrapped(inner, above, below))
    deepest = tuple(max((lane for _, lane, _ in side), default=-1) + 1 for side in (gold, found))
    return Marked(Markup("".join(out)), (deepest[0], deepest[1]))


Line = tuple[Stretch, int, int]
"""A stretch, its lane, and the place of its chip."""


def _lanes(entities: Sequence[tuple[tuple[Stretch, ...], int]]) -> list[Line]:
    """Give every entity the nearest lane that is free over its whole reach, gaps and all."""
    ends: list[int] = []
    lines = []
    for stretches, chip in sorted(entities, key=lambda e: (e[0][0][0], -e[0][-1][1])):
        start, end = stretches[0][0], stretches[-1][1]
        lane = next((k for k, until in enumerate(ends) if until <= start), len(ends))
        if lane == len(ends) and lane < LANES:
            ends.append(end)
        lane = min(lane, LANES - 1)
        ends[lane] = max(end, ends[lane])
        lines += [(stretch, lane, chip) for stretch in stretches]
    return lines


class _Cover:
    """Which lines lie over a place, asked for from left to right."""

    def __init__(self, lines: Sequence[Line], chips: Sequence[Chip]) -> None:
        self.waiting = sorted(lines, reverse=True)
        self.open: list[Line] = []
        self.chips = chips

    def at(self, place: int) -> dict[int, Chip]:
        """Return the chips whose lines are over a place, by lane."""
        self.open = [line for line in self.open if line[0][1] > place]
        while self.waiting and self.waiting[-1][0][0] <= place:
            self.open.append(self.waiting.pop())
        return {lane: self.chips[chip] for _, lane, chip in self.open}


def _tag(chip: Chip) -> str:
    says = escape(chip.says)
    return (
        f'<span class="tag k-{chip.kind}" tabindex="0" role="note" title="{says}"'
        f' aria-label="{says}" data-says="{says}"><bdi>{escape(chip.tag)}</bdi></span>'
    )


def _wrapped(inner: str, above: dict[int, Chip], below: dict[int, Chip]) -> str:
    if not above and not below:
        return inner
    chips = {chip.number: chip for chip in (*above.values(), *below.values())}
    says = escape("\n".join(chips[number].says for number in sorted(chips)))
    opened = list(_elements("u", above)) + list(_elements("d", below))
    head = "".join(f'<span class="{names}">' for names in opened)
    return f'<span class="on" title="{says}">{head}{inner}{"</span>" * len(opened)}</span>'


def _elements(side: str, lanes: dict[int, Chip]) -> Iterator[str]:
    """Yield the classes of one element a lane, the outermost line first."""
    for lane in sorted(lanes, reverse=True):
        yield f"{side}{lane} k-{lanes[lane].kind}"
