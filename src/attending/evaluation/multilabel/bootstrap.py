"""Intervals of the main figures: documents drawn with replacement, counted as weights."""

from collections.abc import Mapping

import numpy as np

from attending.evaluation.counts import FloatArray, ratio
from attending.evaluation.intervals import Interval, centred, percentile_interval, resamples_of
from attending.evaluation.multilabel.decisions import MACRO, MICRO, Decided, label_averages, micro
from attending.evaluation.multilabel.outcome import weights_of


def mean_over_known(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average values (N,) over documents weighted by weights (R, N), NaN left out: (R,)."""
    known = ~np.isnan(values)
    return ratio(weights @ np.where(known, values, 0.0), weights @ known.astype(np.float64))


def bootstrap(
    decided: Decided,
    values: Mapping[str, FloatArray],
    *,
    resamples: int,
    seed: int,
    confidence: float,
) -> dict[str, Interval | None]:
    """Return an interval for micro and macro figures and for means of values (N,) by name.

    All figures come from the same draws. Sums over documents are matrix products with sparse
    counts, so a draw costs about as much as reading the answers once.

    The draws of macro figures are moved so that their mean is the figure, see ``centred``.
    Source: Efron 1979, percentile intervals.
    """
    documents, labels = len(decided.document), decided.truth.shape[1]
    drawn: dict[str, list[FloatArray]] = {}
    for rows in resamples_of(documents, resamples, seed, 3 * labels):
        weights = weights_of(rows, documents)
        right, true, given = np.rint(weights @ decided.document).astype(np.int64).T
        figures = micro(right, true, given)
        overall = label_averages(decided.drawn_counts(weights))
        figures |= {key: overall[key] for key in MACRO}
        figures |= {key: mean_over_known(column, weights) for key, column in values.items()}
        for key, value in figures.items():
            drawn.setdefault(key, []).append(value)
    whole = label_averages(decided.label_counts())
    intervals = {}
    for key in (*MICRO, *MACRO, *values):
        draws = np.concatenate([np.empty(0), *drawn.get(key, [])])
        if key in MACRO:
            draws = centred(draws, float(whole[key]))
        intervals[key] = percentile_interval(draws, confidence)
    return intervals
