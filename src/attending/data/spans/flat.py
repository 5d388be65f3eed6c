"""Spans that share no word: what a scheme of one tag a word can hold.

The rule: the longest span first, of equal ones the one that begins first; a span that would share
a word with one that was kept is dropped, whole, and counted by id. A discontinuous span is as
long as its pieces together, and becomes one span a piece (``fragments``), one from its first to
its last word (``cover``), or nothing (``drop``). With words, a span takes in every word that it
touches. It is the rule by which taggers are trained, too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attending.data.wording import plural, some
from attending.records import Span

Discontinuous = Literal["fragments", "cover", "drop"]
Words = Sequence[tuple[int, int]]
Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Flat:
    """Spans that share nothing, in text order, and what became of the others.

    Args:
        kept: What is left, each of one piece.
        dropped: Spans that are lost, as they were.
        joined: Discontinuous spans that were split or covered, as they were.
        widened: Spans whose border lay within a word, as they were.
    """

    kept: tuple[Span, ...]
    dropped: tuple[Span, ...] = ()
    joined: tuple[Span, ...] = ()
    widened: tuple[Span, ...] = ()

    @property
    def affected(self) -> tuple[Span, ...]:
        """All spans that are not as they were, in text order."""
        every = dict.fromkeys((*self.dropped, *self.joined, *self.widened))
        return tuple(sorted(every, key=lambda s: (s.start, s.end, s.label or "")))


def flatten(
    spans: Iterable[Span],
    words: Words | None = None,
    *,
    discontinuous: Discontinuous = "fragments",
) -> Flat:
    """Choose spans that share no character, or no word.

    Args:
        spans: Nested, overlapping and discontinuous ones too.
        words: Start and end of every word, in text order; without them characters are compared.
        discontinuous: What becomes of spans in pieces.
    """
    taken: list[Stretch] = []
    kept: list[Span] = []
    dropped: list[Span] = []
    joined: list[Span] = []
    widened: list[Span] = []
    for span in sorted(spans, key=_longest_first):
        stretches = _stretches(span, words, discontinuous)
        if not stretches or any(_meets(stretch, taken) for stretch in stretches):
            dropped.append(span)
            continue
        if len(span.pieces) > 1:
            joined.append(span)
        if words is not None and stretches != _as_they_are(span, discontinuous):
            widened.append(span)
        for start, end in stretches:
            taken.insert(bisect_left(taken, (start, end)), (start, end))
            kept.append(replace(span, start=start, end=end, fragments=()))
    order = sorted(kept, key=lambda s: (s.start, s.end))
    return Flat(tuple(order), tuple(dropped), tuple(joined), tuple(widened))


def _longest_first(span: Span) -> tuple[int, int, int]:
    return -sum(end - start for start, end in span.pieces), span.start, span.end


def _as_they_are(span: Span, discontinuous: Discontinuous) -> list[Stretch]:
    if len(span.pieces) == 1 or discontinuous == "cover":
        return [(span.start, span.end)]
    return list(span.pieces) if discontinuous == "fragments" else []


def _stretches(span: Span, words: Words | None, discontinuous: Discontinuous) -> list[Stretch]:
    stretches = _as_they_are(span, discontinuous)
    if words is None:
        return stretches
    snapped: list[Stretch] = []
    for stretch in stretches:
        first, behind = words_of(stretch, words)
        if first == behind:
            continue
        found = words[first][0], words[behind - 1][1]
        if snapped and snapped[-1][1] >= found[0]:
            # Two pieces within one word are one stretch.
            found = snapped.pop()[0], found[1]
        snapped.append(found)
    return snapped


def words_of(stretch: Stretch, words: Words) -> tuple[int, int]:
    """Return the first word that a stretch touches and the word behind the last; equal if none."""
    first = bisect_right(words, stretch[0], key=lambda word: word[1])
    behind = bisect_left(words, stretch[1], lo=first, key=lambda word: word[0])
    return first, behind


def _meets(stretch: Stretch, taken: Sequence[Stretch]) -> bool:
    place = bisect_left(taken, stretch)
    return any(
        start < stretch[1] and stretch[0] < end
        for start, end in taken[max(place - 1, 0) : place + 1]
    )


def flat_notes(flats: Iterable[tuple[str, Flat]]) -> tuple[str, ...]:
    """Say how many spans are not as they were, and which, by id where they have one.

    Args:
        flats: A document's id and its flattened spans.
    """
    every = list(flats)
    notes = []
    for name, why in (
        ("dropped", "left out: one tag a word holds no nested or overlapping spans"),
        ("joined", "in pieces: tags can't say that they belong together"),
        ("widened", "widened to whole words"),
    ):
        spans = [(id_, s) for id_, flat in every for s in getattr(flat, name)]
        if spans:
            ids = [f"{id_} {s.id}" for id_, s in spans if s.id]
            shown = f" ({some(ids)})" if ids else ""
            notes.append(f"{plural(len(spans), 'span')}{shown} {why}")
    return tuple(notes)
