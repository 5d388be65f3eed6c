"""Windows of tagged words: what a tagger's encoder reads at a time, in training and prediction.

A word's tag is scored at its first piece. Windows overlap, and each word belongs to the one
window in whose middle its first piece lies most: every word that was read is scored exactly once,
and nothing is lost at a border.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attending.data.tagging.words import Words
from attending.data.windows import Window, Windowed, owners

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unit:
    """A window and its words.

    document: the position of its document. words (n,): numbers of words in the document, in text
    order. columns (n,): where in the window each one's piece is. goes_on (n,) bool: true for
    pieces after a word's first, where those are asked for. shapes: how the words are written that
    the window's pieces are of, special tokens left out, where that is looked for.
    """

    window: Window
    document: int
    words: Ints
    columns: Ints
    goes_on: NDArray[np.bool_]
    shapes: tuple[int, ...] = ()


def first_pieces(windowed: Windowed, words: Words) -> Ints:
    """Return the number of every word's first piece, (N,); -1 for words without one.

    The first piece is the first that overlaps the word. A piece may be that of several words
    (where a tokenizer takes ``).`` as one); a word of nothing but characters that a tokenizer
    drops has none.
    """
    bounds = np.array(words, dtype=np.int64).reshape(-1, 2)
    offsets = np.array(windowed.offsets, dtype=np.int64).reshape(-1, 2)
    if not len(offsets):
        return np.full(len(bounds), -1, dtype=np.int64)
    ends = np.maximum.accumulate(offsets[:, 1])
    found = np.searchsorted(ends, bounds[:, 0], side="right")
    inside = np.minimum(found, len(offsets) - 1)
    overlaps = (found < len(offsets)) & (offsets[inside, 0] < bounds[:, 1])
    return np.where(overlaps, found, -1)


def units_of(windowed: Windowed, words: Words, document: int) -> list[Unit]:
    """Return the windows of a document that have words, with the words that each speaks for."""
    if not windowed.windows or not words:
        return []
    pieces = first_pieces(windowed, words)
    return _dealt(windowed, np.arange(len(words)), pieces, pieces < 0, document)


def units_of_pieces(windowed: Windowed, words: Words, document: int) -> list[Unit]:
    """Return the windows of a document with all pieces of its words; words repeat."""
    if not windowed.windows or not words:
        return []
    first = first_pieces(windowed, words)
    offsets = np.array(windowed.offsets, dtype=np.int64).reshape(-1, 2)
    bounds = np.array(words, dtype=np.int64)
    past = np.searchsorted(np.maximum.accumulate(offsets[:, 0]), bounds[:, 1], side="left")
    counts = np.where(first >= 0, np.maximum(past - first, 1), 0)
    numbers = np.repeat(np.arange(len(words)), counts)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    return _dealt(windowed, numbers, first[numbers] + within, within > 0, document)


def _dealt(
    windowed: Windowed, numbers: Ints, pieces: Ints, goes_on: NDArray[np.bool_], document: int
) -> list[Unit]:
    """Give each piece to the window that speaks for it."""
    owner = owners(windowed)
    read = (pieces >= 0) & (pieces < len(owner))
    numbers, pieces, goes_on = numbers[read], pieces[read], goes_on[read]
    whose = owner[pieces]
    made = []
    for row, window in enumerate(windowed.windows):
        mine = whose == row
        if mine.any():
            columns = pieces[mine] - window.first + window.before
            shapes = windowed.words[window.first : window.first + window.tokens]
            made.append(Unit(window, document, numbers[mine], columns, goes_on[mine], shapes))
    return made
