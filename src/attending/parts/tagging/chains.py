"""Best sequences and probabilities of tags, many texts at a time. No torch here.

Letters: D texts, S words of the longest, N words of all, K layers, C tags.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from attending.tags import TagSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_CELLS = 2**14


@dataclass(frozen=True)
class Chain:
    """Scores of transitions (K, C before, C after), of first and of last tags (K, C)."""

    moves: Floats
    starts: Floats
    ends: Floats

    @classmethod
    def of_tags(cls, tags: TagSet) -> "Chain":
        """Return the chain in which what the tags allow scores 0, and nothing else can be."""
        return cls(
            _barred(np.zeros(tags.can_follow.shape), tags.can_follow),
            _barred(np.zeros(tags.shape), tags.can_start),
            np.zeros(tags.shape),
        )

    def within(self, tags: TagSet) -> "Chain":
        """Return the chain with all that the tags forbid ruled out."""
        return Chain(
            _barred(self.moves, tags.can_follow), _barred(self.starts, tags.can_start), self.ends
        )


def _barred(scores: Floats, allowed: NDArray[np.bool_]) -> Floats:
    return np.where(allowed, scores, -np.inf)


def best_tags(scores: Floats, lengths: Sequence[int], chain: Chain) -> Ints:
    """Return the best sequence of every text, (N, K), by Viterbi's algorithm.

    scores (N, K, C) of the words of D texts, one after the other; lengths (D,).
    """
    found = np.zeros(scores.shape[:2], dtype=np.int64)
    for words, sizes in _alike(lengths):
        found[words] = _best(scores[words], sizes, chain)
    return found


def _best(scores: Floats, lengths: Sequence[int], chain: Chain) -> Ints:
    padded, real = _padded(scores, lengths)
    texts, words, layers, count = padded.shape
    reached = padded[:, 0] + chain.starts
    back = np.zeros((words, texts, layers, count), dtype=np.int32)
    stay = np.arange(count)
    for word in range(1, words):
        ways = reached[..., :, None] + chain.moves
        best = ways.argmax(axis=2)
        onward = np.take_along_axis(ways, best[:, :, None], axis=2)[:, :, 0] + padded[:, word]
        here = real[:, word, None, None]
        back[word] = np.where(here, best, stay)
        reached = np.where(here, onward, reached)
    tag = (reached + chain.ends).argmax(axis=-1)
    found = np.zeros((texts, words, layers), dtype=np.int64)
    for word in range(words - 1, -1, -1):
        found[:, word] = tag
        tag = np.take_along_axis(back[word], tag[..., None], axis=-1)[..., 0]
    return found[real]


def marginals(scores: Floats, lengths: Sequence[int], chain: Chain) -> Floats:
    """Return the log probability of every tag of every word, (N, K, C), by forward-backward."""
    found = np.zeros(scores.shape)
    for words, sizes in _alike(lengths):
        found[words] = _likely(scores[words], sizes, chain)
    return found


def _likely(scores: Floats, lengths: Sequence[int], chain: Chain) -> Floats:
    padded, real = _padded(scores, lengths)
    words = padded.shape[1]
    forward, backward = np.zeros_like(padded), np.zeros_like(padded)
    forward[:, 0] = padded[:, 0] + chain.starts
    for word in range(1, words):
        onward = logsumexp(forward[:, word - 1, :, :, None] + chain.moves, axis=2)
        forward[:, word] = onward + padded[:, word]
    last = np.append(~real[:, 1:], np.ones((len(real), 1), dtype=bool), axis=1)
    backward[:, -1] = chain.ends
    for word in range(words - 2, -1, -1):
        after = (backward[:, word + 1] + padded[:, word + 1])[:, :, None, :]
        behind = logsumexp(after + chain.moves, axis=-1)
        backward[:, word] = np.where(last[:, word, None, None], chain.ends, behind)
    joint = (forward + backward)[real]
    found: Floats = joint - logsumexp(joint, axis=-1, keepdims=True)
    return found


def _alike(lengths: Sequence[int]) -> Iterator[tuple[Ints, list[int]]]:
    """Yield groups of texts of like length: the places of their words, and their lengths.

    After padding, a group holds at most ``_CELLS`` words, or one text.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    group: list[int] = []
    for text in np.argsort(-sizes, kind="stable").tolist():
        if group and sizes[group[0]] * (len(group) + 1) > _CELLS:
            yield _places(group, starts, sizes), sizes[group].tolist()
            group = []
        if sizes[text]:
            group.append(text)
    if group:
        yield _places(group, starts, sizes), sizes[group].tolist()


def _places(texts: Sequence[int], starts: Ints, sizes: Ints) -> Ints:
    return np.concatenate([np.arange(starts[t], starts[t] + sizes[t]) for t in texts])


def _padded(scores: Floats, lengths: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    """Lay words out as texts: scores (D, S, K, C), zero behind a text's end, and real (D, S)."""
    sizes = np.asarray(lengths, dtype=np.int64)
    longest = int(sizes.max())
    real = np.arange(longest) < sizes[:, None]
    padded = np.zeros((len(sizes), longest, *scores.shape[1:]))
    padded[real] = scores
    return padded, real


@dataclass(frozen=True, slots=True)
class Runs:
    """Spans of words found in tags: text, first and last word (counted over all N), and type."""

    text: Ints
    first: Ints
    last: Ints
    label: Ints
    layer: Ints

    def __len__(self) -> int:
        return len(self.first)


def runs_of(tags: Ints, lengths: Sequence[int], known: TagSet) -> Runs:
    """Return the spans that tags (N, K) say, layer by layer, in the order of words.

    A span begins at its type's first tag, or where a type begins without it: after another type,
    outside, or at a text's beginning (the rule of the CoNLL evaluation).
    """
    texts = np.repeat(np.arange(len(lengths)), lengths)
    layer = np.arange(tags.shape[1])
    types, firsts = known.type_of[layer, tags], known.first[layer, tags]
    inside = types >= 0
    same = np.zeros_like(inside)
    if len(tags):
        same[1:] = (types[1:] == types[:-1]) & (texts[1:] == texts[:-1])[:, None]
    begins = inside & (firsts | ~same)
    goes_on = np.zeros_like(inside)
    goes_on[:-1] = inside[1:] & ~begins[1:]
    ends = inside & ~goes_on
    # Columns go first, so that beginnings and ends of a layer pair up.
    where, first = np.nonzero(begins.T)
    _, last = np.nonzero(ends.T)
    order = np.lexsort((where, last, first))
    where, first, last = where[order], first[order], last[order]
    return Runs(texts[first], first, last, types[first, where], where)
