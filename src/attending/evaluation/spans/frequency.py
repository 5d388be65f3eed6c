"""Figures by how often types occur in training: head, torso, tail, and types without a row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attending.evaluation.counts import FloatArray, IntArray
from attending.evaluation.multilabel.frequency import BUCKETS, Bucket, check_cutoffs
from attending.evaluation.result import plain
from attending.evaluation.spans.counts import BY_TYPE
from attending.evaluation.spans.figures import Sums, figures_of

SPAN_CUTOFFS = (50, 500)
"""Training entities up to which a type is of the tail, and up to which of the torso."""
GROUP_FIGURES = (
    "strict_micro_precision",
    "strict_micro_recall",
    "strict_micro_f1",
    "strict_macro_f1",
    "unweighted_accuracy",
    "mean_f1",
)


def groups_of(training: IntArray, cutoffs: Sequence[int] = SPAN_CUTOFFS) -> dict[str, Any]:
    """Return lowest and highest training count and the types (positions) of each group.

    training (T,) counts entities. The groups come in the order of ``BUCKETS``.

    Raises:
        DataError: If the cut-offs aren't two rising whole numbers from 1.
    """
    tail, torso = check_cutoffs(cutoffs)
    borders = ((torso + 1, None), (tail + 1, torso), (1, tail), (0, 0))
    found = {}
    for name, (low, high) in zip(BUCKETS, borders, strict=True):
        inside = (training >= low) & (training <= (np.inf if high is None else high))
        found[name] = (low, high, np.flatnonzero(inside))
    return found


def only_types(sums: Sums, types: Sequence[int] | IntArray) -> dict[str, Any]:
    """Keep the sums of some types alone; sums over all types are left out."""
    return {name: sums[name][:, types] for name in BY_TYPE if name in sums}


def group_figures(sums: Sums, types: IntArray) -> dict[str, FloatArray]:
    """Return the figures of a group of types, each (R,)."""
    figures = figures_of(only_types(sums, types), ("strict", "paper"))
    return {key: figures[key] for key in GROUP_FIGURES}


def buckets_of(sums: Sums, groups: Mapping[str, Any]) -> tuple[Bucket, ...]:
    """Score each group of types on sums over all documents (one row)."""
    found = []
    for name, (low, high, types) in groups.items():
        gold, given, right = (sums[key][0, types] for key in ("gold", "found", "right"))
        figures = group_figures(sums, types)
        found.append(
            Bucket(
                name=name,
                low=low,
                high=high,
                labels=len(types),
                labels_true=int((gold > 0).sum()),
                labels_given=int((given > 0).sum()),
                true=int(gold.sum()),
                given=int(given.sum()),
                right=int(right.sum()),
                figures={key: plain(value[0]) for key, value in figures.items()},
            )
        )
    return tuple(found)
