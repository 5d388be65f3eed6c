"""Which found entity is which gold one, by the four schemes of SemEval 2013 as nervaluate has them.

Letters: g gold entities of a document, f found ones. Both come in text order.

Two entities overlap if they share at least one in a hundred of the gold one's code points. A
discontinuous entity is compared by its pieces: the gap between them belongs to nobody. Nested
entities are entities like others.

Deviation from nervaluate 1.2.1: it goes through found entities in their order and may hand a gold
entity to one that merely overlaps it before it comes to the one that equals it. Here entities that
are the same find each other first. Where found entities don't overlap each other, as those of a
flat tagger, the counts are the same.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from attending.evaluation.spans.outcome import Entity

SCHEMES = ("strict", "exact", "partial", "type")
LEAST_PERCENT = 1
"""How much of a gold entity must be shared, in percent: nervaluate's own border."""


def shared(a: Entity, b: Entity) -> int:
    """Count the code points that two entities share."""
    if len(a.pieces) == len(b.pieces) == 1:
        return max(0, min(a.end, b.end) - max(a.start, b.start))
    return sum(
        max(0, min(end, other_end) - max(start, other_start))
        for start, end in a.pieces
        for other_start, other_end in b.pieces
    )


def overlaps(gold: Entity, found: Entity) -> bool:
    """Say whether enough of a gold entity is covered."""
    common = shared(gold, found)
    return common > 0 and 100 * common >= LEAST_PERCENT * gold.length


def distance(a: Entity, b: Entity) -> int:
    """Return how far apart the outer ends of two entities are, in code points."""
    return abs(a.start - b.start) + abs(a.end - b.end)


def candidates(gold: Sequence[Entity], found: Sequence[Entity]) -> list[list[int]]:
    """Return for each found entity the gold ones that it overlaps, as places in ``gold``.

    Both are in text order, so only the gold entities between two places are looked at.
    """
    starts = [entity.start for entity in gold]
    reach = list(accumulate((entity.end for entity in gold), max))
    return [
        [
            k
            for k in range(bisect_right(reach, one.start), bisect_left(starts, one.end))
            if overlaps(gold[k], one)
        ]
        for one in found
    ]


@dataclass(frozen=True, slots=True)
class Rest:
    """A document's entities without those that are the same on both sides.

    Attributes:
        same: The entities that are on both sides.
        gold: The other gold ones, in text order.
        found: The other found ones, in text order.
        near: For each of ``found`` the places in ``gold`` that it overlaps.
    """

    same: tuple[Entity, ...]
    gold: tuple[Entity, ...]
    found: tuple[Entity, ...]
    near: tuple[tuple[int, ...], ...]


def rest_of(gold: Sequence[Entity], found: Sequence[Entity]) -> Rest:
    """Take out what is the same in gold and found."""
    same = set(gold) & set(found)
    if not same:
        left, right = tuple(gold), tuple(found)
    else:
        left = tuple(e for e in gold if e not in same)
        right = tuple(e for e in found if e not in same)
    near = candidates(left, right) if left and right else [[] for _ in right]
    kept = tuple(entity for entity in gold if entity in same)
    return Rest(kept, left, right, tuple(tuple(k) for k in near))


def _first_free(near: Iterable[int], taken: set[int]) -> int | None:
    return next((k for k in near if k not in taken), None)


def greedy(rest: Rest, taken: set[int], skip: set[int] | None = None) -> int:
    """Give each found entity, in text order, the first free gold one that it overlaps; count them.

    ``taken`` are places of gold entities that are not free, ``skip`` of found ones left out.
    """
    number = 0
    for j, near in enumerate(rest.near):
        if skip and j in skip:
            continue
        k = _first_free(near, taken)
        if k is not None:
            taken.add(k)
            number += 1
    return number


def same_places(rest: Rest) -> tuple[set[int], set[int]]:
    """Pair what has the same pieces but another type; return the places in gold and in found."""
    taken: set[int] = set()
    matched: set[int] = set()
    for j, near in enumerate(rest.near):
        for k in near:
            if k not in taken and rest.gold[k].pieces == rest.found[j].pieces:
                taken.add(k)
                matched.add(j)
                break
    return taken, matched


def _closest(rest: Rest, j: int, taken: set[int]) -> int | None:
    """Return the free gold entity of the same type whose ends are closest to those of ``j``."""
    one = rest.found[j]
    same = [k for k in rest.near[j] if k not in taken and rest.gold[k].type == one.type]
    return min(same, key=lambda k: distance(rest.gold[k], one), default=None)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a document's found entities under one scheme.

    Missed and spurious ones are what is left of the gold and of the found ones.
    """

    correct: int
    incorrect: int = 0
    partial: int = 0


def tallies(rest: Rest) -> tuple[Tally, Tally, Tally, Tally]:
    """Count a document under the four schemes, over all types together, in ``SCHEMES``' order.

    strict: the same pieces and type are correct, what overlaps is incorrect. exact: the same
    pieces are correct whatever the type, what overlaps is incorrect. partial: the same pieces are
    correct, what overlaps is partial, both whatever the type. type: what overlaps is correct if
    the type is the same (the closest ends first), else incorrect.
    """
    right = len(rest.same)
    taken, matched = same_places(rest)
    exact = right + len(matched)
    over = greedy(rest, taken, matched)
    return (
        Tally(right, greedy(rest, set())),
        Tally(exact, over),
        Tally(exact, partial=over),
        _by_type(rest),
    )


def _by_type(rest: Rest) -> Tally:
    correct, incorrect = len(rest.same), 0
    taken: set[int] = set()
    for j, near in enumerate(rest.near):
        k = _closest(rest, j, taken)
        if k is not None:
            correct += 1
        else:
            k = _first_free(near, taken)
            incorrect += k is not None
        if k is not None:
            taken.add(k)
    return Tally(correct, incorrect)


def within_types(rest: Rest) -> dict[int, tuple[int, int]]:
    """Count overlaps within each type, as if it were the only one: (partial, type) by type.

    Only what is not the same on both sides; types without such an overlap are left out.
    """
    near = tuple(
        tuple(k for k in near if rest.gold[k].type == one.type)
        for one, near in zip(rest.found, rest.near, strict=True)
    )
    alone = Rest(rest.same, rest.gold, rest.found, near)
    counts: dict[int, tuple[int, int]] = {}
    first: set[int] = set()
    closest: set[int] = set()
    for j, one in enumerate(rest.found):
        partial, typed = counts.get(one.type, (0, 0))
        k = _first_free(near[j], first)
        if k is not None:
            first.add(k)
            partial += 1
        k = _closest(alone, j, closest)
        if k is not None:
            closest.add(k)
            typed += 1
        if partial or typed:
            counts[one.type] = (partial, typed)
    return counts
