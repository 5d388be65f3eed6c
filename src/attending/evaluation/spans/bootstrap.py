"""Intervals of every figure on entities: documents drawn with replacement, from the same draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attending.evaluation.counts import FloatArray, LabelCounts, scores_of
from attending.evaluation.intervals import (
    Interval,
    centred,
    percentile_interval,
    resamples_of,
)
from attending.evaluation.multilabel.outcome import weighted, weights_of
from attending.evaluation.spans.counts import BY_TYPE, IN_ALL, SpanCounts, sums_of
from attending.evaluation.spans.figures import FAMILIES, figures_of, is_mean_over_types
from attending.evaluation.spans.frequency import group_figures

BLOCKS = tuple(dict.fromkeys(name for blocks, _ in FAMILIES.values() for name in blocks))
PER_TYPE = ("precision", "recall", "f1")
Known = Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Intervals over all types by figure, of each type's figures, of each group's figures."""

    overall: Known
    by_type: tuple[Known, ...]
    by_group: Mapping[str, Known]


def whole_sums(counts: SpanCounts) -> dict[str, Any]:
    """Sum the counts of all documents: (1, T) by type, (1,) in all."""
    places = {name: k for k, name in enumerate(IN_ALL)}
    total = np.rint(counts.in_all.sum(axis=0)).astype(np.int64)
    sums: dict[str, Any] = {name: total[[k]] for name, k in places.items()}
    for name in BY_TYPE:
        sums[name] = np.rint(np.asarray(counts.by_type[name].sum(axis=0))[None]).astype(np.int64)
    return sums


def bootstrap(
    counts: SpanCounts,
    groups: Mapping[str, Any],
    *,
    resamples: int,
    seed: int,
    confidence: float,
) -> Drawn:
    """Draw documents with replacement and return the intervals of every figure.

    A draw is a row of weights, and all sums are one matrix product. The draws of averages over
    types are moved so that their mean is the figure, see ``intervals.centred``.
    Source: Efron 1979, percentile intervals.
    """
    documents, types = len(counts.ids), len(counts.labels)
    features = counts.laid(BLOCKS)
    overall: dict[str, list[FloatArray]] = {}
    single: dict[str, list[FloatArray]] = {name: [] for name in PER_TYPE}
    grouped: dict[tuple[str, str], list[FloatArray]] = {}
    for rows in resamples_of(documents, resamples, seed, features.shape[1]):
        sums = sums_of(weighted(weights_of(rows, documents), features), BLOCKS, types)
        for key, value in figures_of(sums).items():
            overall.setdefault(key, []).append(value)
        scores = scores_of(LabelCounts(sums["right"], sums["gold"], sums["found"]))
        for name in PER_TYPE:
            single[name].append(getattr(scores, name))
        for group, (_, _, inside) in groups.items():
            for key, value in group_figures(sums, inside).items():
                grouped.setdefault((group, key), []).append(value)
    whole = whole_sums(counts)
    observed = figures_of(whole)
    by_group: dict[str, dict[str, Interval | None]] = {}
    for group, (_, _, inside) in groups.items():
        found = group_figures(whole, inside)
        by_group[group] = {
            key: _interval(key, grouped.get((group, key), []), float(found[key][0]), confidence)
            for key in found
        }
    joined = {k: np.concatenate([np.empty((0, types)), *v]) for k, v in single.items()}
    return Drawn(
        overall={
            key: _interval(key, overall.get(key, []), float(value[0]), confidence)
            for key, value in observed.items()
        },
        by_type=tuple(
            {k: percentile_interval(v[:, j], confidence) for k, v in joined.items()}
            for j in range(types)
        ),
        by_group=by_group,
    )


def _interval(
    key: str, draws: list[FloatArray], figure: float, confidence: float
) -> Interval | None:
    joined = np.concatenate([np.empty(0), *draws])
    if is_mean_over_types(key) and np.isfinite(figure):
        joined = centred(joined, figure)
    return percentile_interval(joined, confidence)
