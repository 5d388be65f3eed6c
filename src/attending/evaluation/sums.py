"""Two systems whose figure follows from sums over documents: their paired test.

Letters: N documents, S runs (seeds) of a system, D numbers that a figure needs of each document,
R random draws.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array, hstack

from attending.evaluation.counts import FloatArray
from attending.evaluation.intervals import moved, percentile_interval, resamples_of
from attending.evaluation.multilabel.outcome import Sparse, weighted, weights_of
from attending.evaluation.pairs import random_halves
from attending.evaluation.significance import (
    DRAWS,
    TIE,
    PairedTest,
    over_runs,
    require_comparable,
)


def lay_runs(ids: Sequence[tuple[str, ...]], parts: Sequence[Sparse]) -> Sparse:
    """Lay what a figure needs of each document side by side, run by run: (N, S D) sparse.

    ids are the documents of each run, parts their numbers (n, D). Runs may have test parts of
    their own: a document is the same in all of them by its id, and what a run lacks is empty.
    """
    if len(set(ids)) > 1:
        parts = _aligned(ids, parts)
    return hstack(parts, format="csr")


def _aligned(ids: Sequence[tuple[str, ...]], parts: Sequence[Sparse]) -> list[Sparse]:
    """Give runs with different documents the rows of all of them; what a run lacks is empty."""
    keys = [_numbered(of_run) for of_run in ids]
    place = {key: k for k, key in enumerate(dict.fromkeys(key for of in keys for key in of))}
    made = []
    for of_run, part in zip(keys, parts, strict=True):
        rows = [place[key] for key in of_run]
        marks = (np.ones(len(rows)), (rows, np.arange(len(rows))))
        made.append(csr_array(marks, shape=(len(place), len(rows))) @ part)
    return made


def _numbered(ids: Sequence[str]) -> list[tuple[str, int]]:
    """Tell documents of the same id apart by their order."""
    seen: Counter[str] = Counter()
    keys = []
    for i in ids:
        keys.append((i, seen[i]))
        seen[i] += 1
    return keys


def compare_sums(
    metric: str,
    left: Sparse,
    right: Sparse,
    score: Callable[[FloatArray], FloatArray],
    *,
    runs: int = 1,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    centre: bool = False,
) -> PairedTest:
    """Test two systems on the same documents by approximate randomisation.

    left and right (N, S D) are sparse: what a figure needs of each document in every run of system
    A and of system B, run by run. ``score`` turns sums of one run (R, D) into the figure (R,). In
    each round whole documents, all runs together, change places on a random half, which is a
    matrix product; the statistic is the difference of the means over runs. ``centre``: the draws
    behind the intervals are moved so that their mean is the difference, as averages over labels
    need (see ``intervals.centred``).

    Raises:
        DataError: If the figure is undefined for a system, or there is no round.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    documents, width = left.shape

    def by_run(sums: FloatArray) -> FloatArray:
        parts = sums.reshape(len(sums), runs, -1)
        return np.stack([score(parts[:, k]) for k in range(runs)], axis=1)

    whole = [weighted(np.ones((1, documents)), side) for side in (left, right)]
    first, second = (by_run(sums)[0] for sums in whole)
    difference = float(first.mean() - second.mean())
    require_comparable(metric, float(first.mean()), float(second.mean()), rounds)
    apart, extreme = right - left, 0
    for halves in random_halves(documents, rounds, seed, width):
        change = weighted(halves.astype(np.float64), apart)
        swapped = (by_run(whole[0] + change) - by_run(whole[1] - change)).mean(axis=1)
        extreme += int((np.abs(swapped) >= abs(difference) - TIE).sum())
    blocks = [np.empty((0, runs))]
    for rows in resamples_of(documents, min(rounds, DRAWS), seed, width):
        weights = weights_of(rows, documents)
        blocks.append(by_run(weighted(weights, left)) - by_run(weighted(weights, right)))
    drawn = np.concatenate(blocks)
    if centre:
        drawn = moved(drawn, first - second)
    both = over_runs(drawn, seed)
    return PairedTest(
        metric=metric,
        a=float(first.mean()),
        b=float(second.mean()),
        difference=difference,
        interval=percentile_interval(drawn.mean(axis=1), confidence),
        p_value=(1 + extreme) / (1 + rounds),
        rounds=rounds,
        documents=documents,
        differing=int((np.asarray(abs(apart).sum(axis=1)) > 0).sum()),
        runs=runs,
        with_seeds=percentile_interval(both, confidence) if runs > 1 else None,
        draws=tuple(both.tolist()),
        a_runs=tuple(first.tolist()),
        b_runs=tuple(second.tolist()),
    )
