"""A threshold from few rows, steadied by a simpler system's answers to many.

Letters: n rows that both systems scored, m more that only the simpler one did, L labels, T
thresholds that are tried.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attending.evaluation.counts import BoolArray, FloatArray
from attending.evaluation.thresholds import best_threshold, between, log_odds

_DRAWS = 200
_MOST_TRIED = 512
_SAME = 1e-12


def steadied_threshold(
    own: FloatArray,
    simpler: FloatArray,
    truth: BoolArray,
    more: FloatArray,
    more_truth: BoolArray,
    *,
    seed: int,
    weight: float = 20.0,
) -> float:
    """Find the threshold of a model for micro-F1 from few rows and a simpler system's many.

    own and simpler (n, L): probabilities of the same rows by the model and by the simpler system;
    more (m, L): the simpler system's of other rows; truth (n, L) and more_truth (m, L). One row
    and one true cell are needed at least.

    Two thresholds are averaged in log-odds, the first counting as many rows as there are, n, the
    second as ``weight`` rows. One is the model's own: the mean of those that are best as the n rows
    are drawn anew with replacement (bagging, Breiman 1996), for the best one of few rows jumps. The
    other is that at which the model gives the n rows as many labels as the simpler system does
    where it is best on all n + m. So few rows say little, and many have their way.
    """
    cut = best_threshold(
        np.concatenate([simpler, more]), np.concatenate([truth, more_truth]), "micro_f1"
    ).value
    matched = _as_many(own, int((simpler >= cut).sum()))
    bagged = np.mean([log_odds(value) for value in _best_of_draws(own, truth, seed)])
    rows = len(own)
    return float(expit((rows * bagged + weight * log_odds(matched)) / (rows + weight)))


def _as_many(scores: FloatArray, wanted: int) -> float:
    """Return a threshold that ``wanted`` scores reach; of equal ones all do."""
    ordered = np.sort(scores, axis=None)[::-1]
    if not wanted:
        return (1 + float(ordered[0])) / 2
    lowest = float(ordered[min(wanted, ordered.size) - 1])
    return between(float(ordered[ordered < lowest].max(initial=-np.inf)), lowest)


def _best_of_draws(scores: FloatArray, truth: BoolArray, seed: int) -> list[float]:
    """Return the best thresholds of rows drawn anew; of draws without a true cell there is none."""
    tried = np.unique(scores[truth])
    if tried.size > _MOST_TRIED:
        tried = tried[np.linspace(0, tried.size - 1, _MOST_TRIED).round().astype(np.int64)]
    place = np.searchsorted(tried, scores.ravel(), side="right")
    below = np.full(tried.size + 1, -np.inf)
    np.maximum.at(below, place, scores.ravel())
    below = np.maximum.accumulate(below)
    rows = len(scores)
    drawn = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), size=_DRAWS)
    true = drawn @ truth.sum(axis=1)
    drawn, true = drawn[true > 0], true[true > 0, None]
    given, right = (_reached(place - 1, kept, rows, tried.size) for kept in (True, truth.ravel()))
    figures = 2 * (drawn @ right) / (drawn @ given + true)
    best = figures >= figures.max(axis=1, keepdims=True) - _SAME
    last = tried.size - 1 - np.argmax(best[:, ::-1], axis=1)
    return [between(float(below[i]), float(tried[i])) for i in last]


def _reached(
    place: NDArray[np.int64], kept: BoolArray | bool, rows: int, tried: int
) -> NDArray[np.int64]:
    """Count the kept cells of each row that reach each threshold, (n, T)."""
    row = np.repeat(np.arange(rows), place.size // rows)
    wanted = (place >= 0) & kept
    counts = np.bincount(row[wanted] * tried + place[wanted], minlength=rows * tried)
    reached: NDArray[np.int64] = np.cumsum(counts.reshape(rows, tried)[:, ::-1], axis=1)[:, ::-1]
    return reached
