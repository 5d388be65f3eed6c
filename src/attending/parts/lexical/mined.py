"""Word groups that training documents with a label have in common.

Letters: N documents, V word groups, L labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from attending.parts.lexical.surfaces import Group, Surfaces, strength
from attending.parts.lexical.words import Words

_COMMON = 0.5
_LEAST = 2
_SMOOTHING = 3.0
_CELLS = 5_000_000


@dataclass(frozen=True, slots=True)
class _Groups:
    """Word groups of two documents or more, with the documents that hold each (N, V)."""

    groups: list[Group]
    held: sparse.csr_matrix


def mine_surfaces(
    documents: Sequence[Words],
    truth: sparse.csr_matrix,
    *,
    size: int,
    least_share: float,
    least_lift: float,
) -> Surfaces:
    """Return word groups that point to labels, though nobody said so.

    A group of at most ``size`` words stands for a label if two documents or more hold it and have
    the label, if at least ``least_share`` of the documents that hold it do, and if that is
    ``least_lift`` times the label's share of all documents. Shares are drawn to the latter as if
    three more documents had been seen. Groups that begin or end with a word of more than half of
    all documents are left out.

    documents: N; truth: (N, L) of 0 and 1.
    """
    found = _frequent_groups(documents, size)
    counts = np.asarray(truth.sum(axis=0)).ravel()
    wanted = np.flatnonzero(counts >= _LEAST)
    prior = counts[wanted] / max(len(documents), 1)
    held = np.asarray(found.held.sum(axis=0)).ravel()
    own, by_group = truth[:, wanted], found.held.T.tocsr()
    kept: list[Group] = []
    sizes, labels, shares, counted = [0], [], [], []
    step = max(1, _CELLS // max(len(wanted), 1))
    for start in range(0, len(found.groups), step):
        both = (by_group[start : start + step] @ own).tocsr()
        for row in range(both.shape[0]):
            cells = slice(both.indptr[row], both.indptr[row + 1])
            column, k = both.indices[cells], both.data[cells]
            share = (k + _SMOOTHING * prior[column]) / (held[start + row] + _SMOOTHING)
            good = (k >= _LEAST) & (share >= least_share) & (share >= least_lift * prior[column])
            if good.any():
                kept.append(found.groups[start + row])
                sizes.append(int(good.sum()))
                labels.append(wanted[column[good]])
                shares.append(share[good])
                counted.append(k[good])
    return Surfaces(
        tuple(kept),
        np.cumsum(sizes),
        np.concatenate(labels).astype(np.int32) if labels else np.zeros(0, np.int32),
        strength(np.concatenate(shares) if shares else np.zeros(0)),
        np.concatenate(counted).astype(np.int32) if counted else np.zeros(0, np.int32),
        overlapping=True,
    )


def _frequent_groups(documents: Sequence[Words], size: int) -> _Groups:
    """Count word groups level by level: a longer one can't be more frequent than its parts."""
    vocabulary: dict[str, int] = {}
    coded = [
        np.array([vocabulary.setdefault(w, len(vocabulary)) for w in d.folded], np.int64)
        for d in documents
    ]
    spelled: list[Group] = [(word,) for word in vocabulary]
    groups: list[Group] = []
    blocks = []
    common: set[str] = set()
    for level in range(size):
        keys = [np.unique(codes[codes >= 0]) for codes in coded]
        held, counts = np.unique(np.concatenate([*keys, np.zeros(0, np.int64)]), return_counts=True)
        kept = held[counts >= _LEAST]
        if level == 0:
            many = held[counts > max(_COMMON * len(documents), _LEAST)]
            common = {spelled[i][0] for i in many.tolist()}
        names = [spelled[i] for i in kept.tolist()]
        usable = [not (g[0] in common or g[-1] in common) for g in names]
        blocks.append(_held(keys, kept)[:, np.flatnonzero(usable)])
        groups += [g for g, ok in zip(names, usable, strict=True) if ok]
        if level + 1 == size or not len(kept):
            break
        coded, spelled = _longer([_renumbered(c, kept) for c in coded], names)
    return _Groups(groups, sparse.hstack(blocks, format="csr"))


def _held(keys: Sequence[NDArray[np.int64]], kept: NDArray[np.int64]) -> sparse.csr_matrix:
    """Return which documents hold which of the kept groups, (N, kept)."""
    columns = [_renumbered(k, kept) for k in keys]
    columns = [c[c >= 0] for c in columns]
    indptr = np.cumsum([0, *(len(c) for c in columns)])
    indices = np.concatenate([*columns, np.zeros(0, np.int64)])
    shape = (len(keys), len(kept))
    return sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=shape)


def _renumbered(codes: NDArray[np.int64], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places in ``kept`` (sorted), -1 where a code isn't there."""
    if not len(kept):
        return np.full(len(codes), -1)
    place = np.minimum(np.searchsorted(kept, codes), len(kept) - 1)
    return np.where(kept[place] == codes, place, -1)


def _longer(
    coded: Sequence[NDArray[np.int64]], names: Sequence[Group]
) -> tuple[list[NDArray[np.int64]], list[Group]]:
    """Join each group with the one that starts a word later, and number the results."""
    joined = []
    for codes in coded:
        left, right = codes[:-1], codes[1:]
        joined.append(np.where((left >= 0) & (right >= 0), left * len(names) + right, -1))
    distinct = np.unique(np.concatenate([*joined, np.zeros(0, np.int64)]))
    distinct = distinct[distinct >= 0]
    spelled = [(*names[i // len(names)], names[i % len(names)][-1]) for i in distinct.tolist()]
    return [_renumbered(codes, distinct) for codes in joined], spelled
