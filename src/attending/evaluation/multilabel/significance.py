"""Is the difference between two multi-label systems more than luck: paired randomisation.

Letters: N documents, S runs (seeds) of a system, D numbers that a figure needs of each document,
L labels, R random draws. Every figure follows from sums over documents, so a round in which whole
documents change places is a matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import BoolArray, FloatArray, LabelCounts, ratio
from attending.evaluation.intervals import percentile_interval, resamples_of
from attending.evaluation.multilabel.decisions import MACRO, MICRO, Decided, label_averages, micro
from attending.evaluation.multilabel.metrics import document_values
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, Sparse, weighted, weights_of
from attending.evaluation.multilabel.ranked import rank_documents
from attending.evaluation.significance import DRAWS, TIE, PairedTest, random_halves

Runs = MultiLabelOutcome | Sequence[MultiLabelOutcome]


def paired_multilabel(
    a: Runs,
    b: Runs,
    metric: str = "micro_f1",
    *,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two multi-label systems differ on the same documents.

    a and b are one outcome each, or one for each seed; a single one is set against all of the
    other. In each round everything that the systems said of a random half of the documents, all
    seeds together, changes places; the statistic is the difference of the means over seeds.

    ``metric`` is any figure over decisions or rankings: micro and macro precision, recall and F1
    in all their forms, ``map`` and its variants, ``r_precision``, ``p_at_k``, ``r_at_k`` and
    ``ndcg_at_k`` for any k, ``example_f1``, ``subset_accuracy``.

    Raises:
        ShapeError: If the systems' documents or truths differ, or the runs don't pair.
        DataError: If the metric is unknown or undefined for a system.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    first, second = _paired(a, b)
    figure = _figure(metric, first[0].width)
    left, right = (_features(figure, runs) for runs in (first, second))
    documents, runs = first[0].documents, len(first)

    def score(sums: FloatArray) -> FloatArray:
        parts = sums.reshape(len(sums), runs, -1)
        result: FloatArray = np.mean([figure.of(parts[:, k]) for k in range(runs)], axis=0)
        return result

    total = np.ones((1, documents))
    whole = weighted(total, left), weighted(total, right)
    observed = float(score(whole[0])[0]), float(score(whole[1])[0])
    difference = observed[0] - observed[1]
    if rounds < 1 or not np.isfinite(difference):
        raise DataError(
            f"{metric} can't be compared",
            found=f"{observed[0]} and {observed[1]} in {rounds} rounds",
            allowed="a metric that is defined for both systems, and 1 round or more",
        )
    moved = right - left
    extreme = 0
    for halves in random_halves(documents, rounds, seed, left.shape[1]):
        change = weighted(halves.astype(np.float64), moved)
        swapped = score(whole[0] + change) - score(whole[1] - change)
        extreme += int((np.abs(swapped) >= abs(difference) - TIE).sum())
    drawn = [np.empty(0)]
    for rows in resamples_of(documents, min(rounds, DRAWS), seed, left.shape[1]):
        weights = weights_of(rows, documents)
        drawn.append(score(weighted(weights, left)) - score(weighted(weights, right)))
    draws = np.concatenate(drawn)
    if metric in MACRO:
        # As in ``bootstrap``: rare labels fall out of draws, which moves every one of them.
        draws += difference - np.nanmean(draws)
    return PairedTest(
        metric=metric,
        a=observed[0],
        b=observed[1],
        difference=difference,
        interval=percentile_interval(draws, confidence),
        p_value=(1 + extreme) / (1 + rounds),
        rounds=rounds,
        documents=documents,
        differing=int(_differing(moved).sum()),
        runs=runs,
    )


def _differing(moved: Sparse) -> BoolArray:
    changed: BoolArray = np.asarray(abs(moved).sum(axis=1)) > 0
    return changed


def _paired(a: Runs, b: Runs) -> tuple[list[MultiLabelOutcome], list[MultiLabelOutcome]]:
    first = [a] if isinstance(a, MultiLabelOutcome) else list(a)
    second = [b] if isinstance(b, MultiLabelOutcome) else list(b)
    number = max(len(first), len(second))
    if not first or not second or len({len(first), len(second)} - {1}) > 1:
        raise ShapeError(
            "the systems don't have as many runs",
            found=f"{len(first)} and {len(second)}",
            allowed="as many runs in both, or one in one",
        )
    model = first[0]
    for other in (*first, *second):
        same = other.ids == model.ids and other.truth.shape == model.truth.shape
        if not same or (other.truth != model.truth).nnz:
            raise ShapeError(
                "the systems were not scored on the same documents and labels",
                found=f"{other.truth.shape} and {model.truth.shape} documents and labels",
                allowed="equal ids and equal truth",
            )
    return first * (number // len(first)), second * (number // len(second))


@dataclass(frozen=True, slots=True)
class _Micro:
    """A figure of summed pairs: right, true and assigned labels of each document."""

    name: str

    def features(self, outcome: MultiLabelOutcome) -> Sparse:
        return csr_array(Decided.of(outcome).document.astype(np.float64))

    def of(self, sums: FloatArray) -> FloatArray:
        right, true, given = np.rint(sums).astype(np.int64).T
        return micro(right, true, given)[self.name]


@dataclass(frozen=True, slots=True)
class _Macro:
    """A figure of counts of each of L labels."""

    name: str
    labels: int

    def features(self, outcome: MultiLabelOutcome) -> Sparse:
        decided = Decided.of(outcome)
        return hstack([decided.right, decided.truth, decided.assigned], format="csr")

    def of(self, sums: FloatArray) -> FloatArray:
        cells = np.rint(sums).astype(np.int64).reshape(len(sums), 3, self.labels)
        return label_averages(LabelCounts(cells[:, 0], cells[:, 1], cells[:, 2]))[self.name]


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean over the documents that are judged."""

    name: str

    def features(self, outcome: MultiLabelOutcome) -> Sparse:
        place, _, k = self.name.rpartition("_at_")
        cuts = (int(k),) if place and k.isdigit() else (1,)
        values = document_values(outcome, Decided.of(outcome), rank_documents(outcome, cuts))
        if self.name not in values:
            raise DataError(
                f'the metric "{self.name}" is not known',
                allowed=", ".join([*MICRO, *MACRO, *values, "p_at_k, r_at_k, ndcg_at_k for any k"]),
            )
        known = ~np.isnan(values[self.name])
        return csr_array(np.stack([np.where(known, values[self.name], 0.0), known], axis=1))

    def of(self, sums: FloatArray) -> FloatArray:
        return ratio(sums[:, 0], sums[:, 1])


def _figure(metric: str, labels: int) -> _Micro | _Macro | _Mean:
    if metric in MICRO:
        return _Micro(metric)
    return _Macro(metric, labels) if metric in MACRO else _Mean(metric)


def _features(figure: Any, runs: Sequence[MultiLabelOutcome]) -> Sparse:
    """Lay out what a figure needs of each document in every run, (N, S D) sparse."""
    return hstack([figure.features(outcome) for outcome in runs], format="csr")
