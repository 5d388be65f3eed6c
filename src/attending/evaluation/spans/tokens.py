"""What type each word of a document has, by gold and by found entities."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from attending.evaluation.counts import IntArray
from attending.evaluation.spans.outcome import Entity, Offsets, SpanOutcome, Words, words_of

OUTSIDE = -1
"""The type of a word that no entity covers, 'O'."""


def types_of(words: Sequence[Offsets], entities: Sequence[Entity]) -> list[int]:
    """Return the type of every word, ``OUTSIDE`` where it has none.

    A word belongs to an entity if it shares a code point with one of its pieces. Where several
    cover it, the one that covers most code points gives the type, then the one that comes first in
    the text (start, end, type).
    """
    types = [OUTSIDE] * len(words)
    if not entities or not words:
        return types
    starts = [start for start, _ in words]
    ends = [end for _, end in words]
    # What is painted later stays: the longest, then the first in the text.
    for entity in sorted(reversed(entities), key=lambda e: e.length):
        for start, end in entity.pieces:
            first, last = bisect_right(ends, start), bisect_left(starts, end)
            if last > first:
                types[first:last] = [entity.type] * (last - first)
    return types


def word_types(
    outcome: SpanOutcome, words: Words | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return document, gold type and found type of every word of all documents, each (W,).

    A document without an answer has words of which none was found.
    """
    sizes, gold, found = [], [], []
    for document, true, given in zip(outcome.documents, outcome.gold, outcome.given, strict=True):
        own = words_of(document, words)
        sizes.append(len(own))
        types = types_of(own, true)
        gold.extend(types)
        found.extend(types if given == true else types_of(own, given))
    place = np.repeat(np.arange(len(sizes)), sizes)
    return place, np.array(gold, np.int64), np.array(found, np.int64)
