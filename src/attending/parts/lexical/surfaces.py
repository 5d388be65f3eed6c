"""Surfaces: groups of words that stand for labels, and how surely each of them does.

Letters: S surfaces, L labels, N documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from attending.parts.lexical.words import Words

Group = tuple[str, ...]
FLOOR, CEILING = -6.0, 7.0
"""Log-odds that a strength of 0 stands for, and those that no surface exceeds."""


def strength(share: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return log-odds of shares in nats above ``FLOOR``; at least 0, so that 0 means no match."""
    odds = np.log(share) - np.log1p(-share)
    return np.asarray(np.clip(odds, FLOOR, CEILING) - FLOOR, np.float32)


@dataclass(frozen=True, slots=True)
class Match:
    """A surface found in a text: its number, its first word and one past its last."""

    surface: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Surfaces with the labels that each stands for.

    Attributes:
        groups: S groups of folded words.
        indptr: (S + 1,); the labels of surface s are ``labels[indptr[s]:indptr[s + 1]]``.
        labels: Positions of labels.
        strengths: How surely a surface stands for each of its labels; see ``strength``.
        documents: How many training documents have surface and label.
        overlapping: Whether surfaces inside longer ones are found too. If not, the longest one
            wins, from left to right.
    """

    groups: tuple[Group, ...]
    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    strengths: NDArray[np.float32]
    documents: NDArray[np.int32]
    overlapping: bool
    _numbers: Mapping[Group, int] = field(init=False, repr=False, compare=False)
    _sizes: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers, sizes = _index(self.groups)
        object.__setattr__(self, "_numbers", numbers)
        object.__setattr__(self, "_sizes", sizes)

    def find(self, words: Words) -> Iterator[Match]:
        """Yield the surfaces that a text holds, from left to right."""
        return _find(words, self._numbers, self._sizes, self.overlapping)

    def of(self, surface: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the labels of a surface and how surely it stands for each."""
        which = slice(self.indptr[surface], self.indptr[surface + 1])
        return self.labels[which], self.strengths[which]


def fit_surfaces(
    owners: Mapping[Group, Sequence[int]],
    documents: Sequence[Words],
    truth: Sequence[frozenset[int]],
    *,
    smoothing: float,
    overlapping: bool,
    from_documents: bool,
) -> Surfaces:
    """Estimate how surely each surface stands for each of its labels.

    With n documents that hold the surface, k of which have the label, the probability is
    (k + smoothing * rate) / (n + smoothing), where ``rate`` is the share of all such (document,
    surface, label) cells that are right. A surface that no document holds keeps the rate.

    Args:
        owners: Labels by surface.
        documents: Training documents.
        truth: Their labels.
        smoothing: How many documents the rate counts as much as.
        overlapping: See ``Surfaces``.
        from_documents: The surfaces were taken from these documents, so one right document of each
            cell, where it came from, says nothing and is left out of the rate.
    """
    groups = tuple(owners)
    numbers, sizes = _index(groups)
    held = np.zeros(len(groups))
    indptr = np.cumsum([0, *(len(owners[g]) for g in groups)])
    labels = np.array([x for g in groups for x in owners[g]], np.int32)
    right = np.zeros(len(labels))
    for words, true in zip(documents, truth, strict=True):
        for surface in {m.surface for m in _find(words, numbers, sizes, overlapping)}:
            held[surface] += 1
            for cell in range(indptr[surface], indptr[surface + 1]):
                right[cell] += int(labels[cell]) in true
    seen = np.repeat(held, np.diff(indptr))
    own = (right > 0) if from_documents else np.zeros(len(labels), bool)
    # Counts to start from: without any document half of annotated surfaces, a tenth of others.
    rate = (1 + (right - own).sum()) / ((2 if from_documents else 10) + (seen - own).sum())
    share = (right + smoothing * rate) / (seen + smoothing)
    return Surfaces(
        groups, indptr, labels, strength(share), right.astype(np.int32), overlapping=overlapping
    )


def _index(groups: Sequence[Group]) -> tuple[dict[Group, int], dict[str, tuple[int, ...]]]:
    """Number the surfaces, and list by first word how long they are, the longest first."""
    sizes: dict[str, set[int]] = {}
    for group in groups:
        sizes.setdefault(group[0], set()).add(len(group))
    ordered = {word: tuple(sorted(found, reverse=True)) for word, found in sizes.items()}
    return {group: i for i, group in enumerate(groups)}, ordered


def _find(
    words: Words,
    numbers: Mapping[Group, int],
    sizes: Mapping[str, tuple[int, ...]],
    overlapping: bool,
) -> Iterator[Match]:
    folded, first = words.folded, 0
    while first < len(folded):
        step = 1
        for size in sizes.get(folded[first], ()):
            # Past the end, a slice is shorter than asked for and could be another surface.
            surface = numbers.get(folded[first : first + size])
            if surface is not None and first + size <= len(folded):
                yield Match(surface, first, first + size)
                if not overlapping:
                    step = size
                    break
        first += step
