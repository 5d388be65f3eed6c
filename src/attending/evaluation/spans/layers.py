"""What one layer of tags can't hold: entities that overlap others, and those in pieces."""

from collections.abc import Sequence
from dataclasses import dataclass

from attending.evaluation.spans.matching import shared
from attending.evaluation.spans.outcome import Entity, apart


@dataclass(frozen=True, slots=True)
class Layers:
    """Gold entities by what a tagger with one tag a word can do with them.

    Attributes:
        entities: All of them.
        discontinuous: Those in several pieces.
        overlapping: Those that share a code point with another one (nested, crossing, of two
            types).
        flat: Those that are left if the longest are kept first, each apart from the others and in
            one piece: as many as one layer of tags that keeps the longest can hold.
    """

    entities: int
    discontinuous: int
    overlapping: int
    flat: int


def layers_of(gold: Sequence[Sequence[Entity]]) -> Layers:
    """Count the gold entities of all documents, each document's in text order."""
    overlapping = flat = 0
    for entities in gold:
        if apart(entities):
            flat += sum(len(e.pieces) == 1 for e in entities)
            continue
        touching = _touching(entities)
        overlapping += sum(bool(near) for near in touching)
        flat += _kept(entities, touching)
    return Layers(
        entities=sum(len(entities) for entities in gold),
        discontinuous=sum(len(e.pieces) > 1 for entities in gold for e in entities),
        overlapping=overlapping,
        flat=flat,
    )


def _touching(entities: Sequence[Entity]) -> list[list[int]]:
    """Return for each entity, in text order, the places of those that share a code point."""
    near: list[list[int]] = [[] for _ in entities]
    open_: list[int] = []
    for j, one in enumerate(entities):
        open_ = [k for k in open_ if entities[k].end > one.start]
        for k in open_:
            if shared(entities[k], one):
                near[k].append(j)
                near[j].append(k)
        open_.append(j)
    return near


def _kept(entities: Sequence[Entity], touching: Sequence[Sequence[int]]) -> int:
    whole = [k for k, e in enumerate(entities) if len(e.pieces) == 1]
    kept: set[int] = set()
    for k in sorted(whole, key=lambda k: -entities[k].length):
        if not kept.intersection(touching[k]):
            kept.add(k)
    return len(kept)
