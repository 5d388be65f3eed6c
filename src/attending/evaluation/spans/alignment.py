"""What went wrong with each entity: gold and found ones set side by side, one to one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from attending.evaluation.spans.matching import Rest, distance, rest_of
from attending.evaluation.spans.outcome import Entity

Kind = Literal["right", "type", "boundary", "both", "missed", "spurious"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""right: the same; type: the same place, another type; boundary: the same type, another place that
overlaps; both: overlaps, another type; missed: nothing was found there; spurious: nothing is."""

Shift = Literal["longer", "shorter", "moved"]
SHIFTS: tuple[Shift, ...] = get_args(Shift)
"""How the found entity of a boundary error lies: around the gold one, inside it, or neither."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A gold entity and the found one that is set beside it; one of both may lack."""

    kind: Kind
    gold: Entity | None
    found: Entity | None

    @property
    def start(self) -> int:
        """Where it begins in the text."""
        return min(e.start for e in (self.gold, self.found) if e is not None)

    @property
    def shift(self) -> Shift | None:
        """How the found entity lies to the gold one, where their places differ."""
        if self.gold is None or self.found is None or self.kind not in ("boundary", "both"):
            return None
        if self.found.start <= self.gold.start and self.found.end >= self.gold.end:
            return "longer"
        inside = self.found.start >= self.gold.start and self.found.end <= self.gold.end
        return "shorter" if inside else "moved"


def align(gold: Sequence[Entity], found: Sequence[Entity]) -> tuple[Aligned, ...]:
    """Set gold and found entities (each in text order) side by side, in text order.

    The best pairs come first: the same entity; the same place; an overlap of the same type, the
    closest ends first; any other overlap, likewise. Each entity is used once.
    """
    return aligned(rest_of(gold, found))


def aligned(rest: Rest) -> tuple[Aligned, ...]:
    """Set a document's entities side by side whose same ones were found before; see ``align``."""
    pairs = [Aligned("right", entity, entity) for entity in rest.same]
    pairs += differing(rest)
    return tuple(sorted(pairs, key=lambda p: (p.start, KINDS.index(p.kind))))


def differing(rest: Rest) -> Iterator[Aligned]:
    """Set what is not the same on both sides side by side; see ``align``."""
    used_gold: set[int] = set()
    used_found: set[int] = set()
    for _, _, j, k, kind in sorted(_ranked(rest)):
        if j in used_found or k in used_gold:
            continue
        used_found.add(j)
        used_gold.add(k)
        yield Aligned(kind, rest.gold[k], rest.found[j])
    for k, entity in enumerate(rest.gold):
        if k not in used_gold:
            yield Aligned("missed", entity, None)
    for j, entity in enumerate(rest.found):
        if j not in used_found:
            yield Aligned("spurious", None, entity)


def _ranked(rest: Rest) -> Iterator[tuple[int, int, int, int, Kind]]:
    """Yield every overlap: how good it is (0 best), how far apart its ends are, found, gold."""
    for j, near in enumerate(rest.near):
        one = rest.found[j]
        for k in near:
            true = rest.gold[k]
            far = distance(true, one)
            if true.pieces == one.pieces:
                yield 0, far, j, k, "type"
            elif true.type == one.type:
                yield 1, far, j, k, "boundary"
            else:
                yield 2, far, j, k, "both"
