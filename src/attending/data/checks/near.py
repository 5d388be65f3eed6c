"""Near duplicates: pairs of texts that share most of their word 5-grams.

Similarity is the Jaccard index of the two sets of 5-grams. Pairs are found by prefix filtering:
two sets that reach the threshold must share one of their rarest members, so only those are looked
up, and every candidate is then measured exactly. Nothing is missed, except where one 5-gram stands
in very many texts (a signature, a form): there each text meets its neighbours of similar length
only, which is enough to find that it has a twin.
Source: Xiao, Wang, Lin and Yu, Efficient similarity joins for near duplicate detection, WWW 2008,
section 2 (prefix filtering).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = 5
"""Words in a gram; a shorter text is one gram of all its words."""
THRESHOLD = 0.5
_ALL_PAIRS = 64
_NEIGHBOURS = 20
_CHUNK = 20_000
_WORD = re.compile(r"\w+")
_MIX = np.uint64(0x9E3779B97F4A7C15)

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs of positions with their similarity, and the group of each text that has a twin."""

    pairs: tuple[tuple[int, int, float], ...]
    groups: tuple[tuple[int, ...], ...]


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> NearPairs:
    """Find near duplicates among distinct, folded texts.

    Args:
        texts: Texts as given by ``fold_text``; punctuation doesn't count.
        threshold: Smallest Jaccard similarity of two sets of word 5-grams.
    """
    document, gram, sizes = _grams(texts)
    if not len(document):
        return NearPairs((), ())
    first, second = _candidates(document, gram, sizes, threshold)
    first, second, similarity = _measured(document, gram, sizes, first, second, threshold)
    pairs = tuple(zip(first.tolist(), second.tolist(), similarity.tolist(), strict=True))
    return NearPairs(pairs, _groups(len(texts), first, second))


def _grams(texts: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """Return (text, gram) of every distinct gram of a text, sorted by text, and grams a text.

    Grams are numbered from the rarest to the most common.
    """
    known: dict[str, int] = {}
    numbers = [
        [known.setdefault(word, len(known) + 1) for word in _WORD.findall(text)] for text in texts
    ]
    lengths = np.array([len(n) for n in numbers], dtype=np.int64)
    flat = np.array([n for row in numbers for n in [*row, *[0] * (WORDS - 1)]], dtype=np.uint64)
    # Each text is followed by four zeros. A gram that reaches into them is dropped, unless it is
    # the first of a text that has fewer than five words.
    starts = np.cumsum(lengths + WORDS - 1) - (lengths + WORDS - 1)
    count = np.where(lengths >= WORDS, lengths - WORDS + 1, np.minimum(lengths, 1))
    document = np.repeat(np.arange(len(texts)), count)
    within = np.arange(len(document)) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(starts, count) + within
    mixed = np.zeros(len(at), dtype=np.uint64)
    for step in range(WORDS):
        mixed = (mixed ^ flat[at + step]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    _, number, frequency = np.unique(mixed, return_inverse=True, return_counts=True)
    rank = np.empty(len(frequency), dtype=np.int64)
    rank[np.argsort(frequency, kind="stable")] = np.arange(len(frequency))
    kinds = max(len(frequency), 1)
    both = np.unique(document * kinds + rank[number])
    document = both // kinds
    return document, both % kinds, np.bincount(document, minlength=len(texts))


def _candidates(document: Ints, gram: Ints, sizes: Ints, threshold: float) -> tuple[Ints, Ints]:
    """Return pairs that share one of the rarest grams of both and are similar in size."""
    position = np.arange(len(document)) - np.searchsorted(document, document)
    size = sizes[document]
    keep = position <= size - np.ceil(threshold * size - 1e-9)
    document, gram, size = document[keep], gram[keep], size[keep]
    order = np.lexsort((size, gram))
    document, gram, size = document[order], gram[order], size[order]
    shared_by = np.bincount(gram)[gram]
    shared = shared_by > 1
    document, gram, size, shared_by = (x[shared] for x in (document, gram, size, shared_by))
    found = np.zeros(0, dtype=np.int64)
    total = len(sizes)
    for step in range(1, _ALL_PAIRS):
        if step >= len(gram):
            break
        fits = (gram[step:] == gram[:-step]) & (size[:-step] >= threshold * size[step:] - 1e-9)
        if step > _NEIGHBOURS:
            fits &= shared_by[:-step] <= _ALL_PAIRS
        one, other = document[:-step][fits], document[step:][fits]
        key = np.minimum(one, other) * total + np.maximum(one, other)
        found = np.union1d(found, key)
    return found // total, found % total


def _measured(
    document: Ints, gram: Ints, sizes: Ints, first: Ints, second: Ints, threshold: float
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return the candidates that reach the threshold, with their exact similarity."""
    from scipy.sparse import csr_matrix

    rows: Any = csr_matrix(
        (np.ones(len(document), dtype=np.int32), (document, gram)),
        shape=(len(sizes), int(gram.max()) + 1),
    )
    similarity = np.zeros(len(first))
    for start in range(0, len(first), _CHUNK):
        part = slice(start, start + _CHUNK)
        both = rows[first[part]].multiply(rows[second[part]])
        common = np.asarray(both.sum(axis=1)).ravel()
        similarity[part] = common / (sizes[first[part]] + sizes[second[part]] - common)
    near = similarity >= threshold - 1e-9
    return first[near], second[near], similarity[near]


def _groups(total: int, first: Ints, second: Ints) -> tuple[tuple[int, ...], ...]:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(total, total))
    _, number = connected_components(graph, directed=False)
    members: dict[int, list[int]] = {}
    for i in sorted({*first.tolist(), *second.tolist()}):
        members.setdefault(int(number[i]), []).append(i)
    return tuple(tuple(group) for group in members.values())
