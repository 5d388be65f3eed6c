"""Is the difference between two multi-label systems more than luck: paired randomisation.

Letters: N documents, S runs (seeds) of a system, D numbers that a figure needs of each document,
L labels, R random draws. Every figure follows from sums over documents, so a round in which whole
documents change places is a matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import BoolArray, FloatArray, LabelCounts, ratio
from attending.evaluation.intervals import (
    Interval,
    moved,
    percentile_interval,
    resamples_of,
    within,
)
from attending.evaluation.multilabel.decisions import (
    MACRO,
    MICRO,
    Decided,
    label_averages,
    micro,
    only,
)
from attending.evaluation.multilabel.metrics import document_values
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, Sparse, weighted, weights_of
from attending.evaluation.multilabel.ranked import rank_documents
from attending.evaluation.pairs import PER_LABEL
from attending.evaluation.significance import DRAWS, PairedTest, over_runs
from attending.evaluation.sums import compare_sums, lay_runs

Runs = MultiLabelOutcome | Sequence[MultiLabelOutcome]


def paired_multilabel(
    a: Runs,
    b: Runs,
    metric: str = "micro_f1",
    *,
    position: int | None = None,
    groups: Sequence[BoolArray] | None = None,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two multi-label systems differ on the same documents.

    a and b are one outcome each, or one for each seed; a single one is set against all of the
    other. In each round everything that the systems said of a random half of the documents, all
    seeds together, changes places; the statistic is the difference of the means over seeds. Every
    seed may have a test part of its own; a document is then the same in all parts by its id.

    ``metric`` is any figure over decisions or rankings: micro and macro precision, recall and F1
    in all their forms, ``map`` and its variants, ``r_precision``, ``p_at_k``, ``r_at_k`` and
    ``ndcg_at_k`` for any k, ``example_f1``, ``subset_accuracy``; with ``position``, the place of
    a label, "precision", "recall" or "f1" of that label (precision of a label never given
    counts 0).

    ``groups`` (L,) bool, one for all runs or one for each, say which labels a figure is of, such
    as those without training documents: micro and macro figures of these alone, and ``r_at_k``,
    which is then the share of their true pairs that is among the first k of a document's whole
    ranking, as in ``buckets``.

    Raises:
        ShapeError: If the systems' documents or truths differ, or the runs don't pair.
        DataError: If the metric is unknown or undefined for a system.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    first, second = _paired(a, b)
    figure = _figure(metric, first[0].width, position, groups is not None)
    if groups is not None:
        first, second = _among(first, groups), _among(second, groups)
    left, right = _Laid.out(figure, first), _Laid.out(figure, second)
    return compare_sums(
        metric,
        left.features,
        right.features,
        figure.of,
        runs=len(first),
        rounds=rounds,
        seed=seed,
        confidence=confidence,
        # As in ``bootstrap``: rare labels fall out of draws, which moves every one of them.
        centre=metric in MACRO,
    )


def mean_interval_multilabel(
    runs: Runs,
    metric: str = "micro_f1",
    *,
    position: int | None = None,
    groups: Sequence[BoolArray] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Bootstrap interval of a multi-label system's mean over runs; documents and runs are drawn.

    ``metric``, ``position`` and ``groups`` are as in ``paired_multilabel``. With a single run,
    documents alone are drawn.

    Raises:
        ShapeError: If the runs' label sets or truths don't fit each other.
        DataError: If the metric is unknown.
    """
    outcomes, _ = _paired(runs, runs)
    figure = _figure(metric, outcomes[0].width, position, groups is not None)
    laid = _Laid.out(figure, outcomes if groups is None else _among(outcomes, groups))
    drawn = _drawn(laid, draws, seed)
    if metric in MACRO:
        observed = laid.score(weighted(np.ones((1, laid.documents)), laid.features))[0]
        drawn = moved(drawn, observed)
    return within(percentile_interval(over_runs(drawn, seed), confidence))


@dataclass(frozen=True, slots=True, eq=False)
class _Laid:
    """What a figure needs of each of N documents in each of S runs: features (N, S D) sparse."""

    figure: Any
    features: Sparse
    runs: int

    @classmethod
    def out(cls, figure: Any, outcomes: Sequence[MultiLabelOutcome]) -> "_Laid":
        parts = [figure.features(outcome) for outcome in outcomes]
        ids = [outcome.ids for outcome in outcomes]
        return cls(figure, lay_runs(ids, parts), len(outcomes))

    @property
    def documents(self) -> int:
        return int(self.features.shape[0])

    @property
    def width(self) -> int:
        return int(self.features.shape[1])

    def score(self, sums: FloatArray) -> FloatArray:
        """Score sums (R, S D): every run, (R, S)."""
        parts = sums.reshape(len(sums), self.runs, -1)
        return np.stack([self.figure.of(parts[:, k]) for k in range(self.runs)], axis=1)


def _drawn(laid: _Laid, draws: int, seed: int) -> FloatArray:
    """Return the figure of every run on drawn documents, (R, S)."""
    found = [np.empty((0, laid.runs))]
    for rows in resamples_of(laid.documents, draws, seed, laid.width):
        found.append(laid.score(weighted(weights_of(rows, laid.documents), laid.features)))
    return np.concatenate(found)


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
    first, second = (x * (number // len(x)) for x in (first, second))
    for one, other in zip(first, second, strict=True):
        same = other.ids == one.ids and other.truth.shape == one.truth.shape
        if not same or (other.truth != one.truth).nnz or one.width != first[0].width:
            raise ShapeError(
                "the systems were not scored on the same documents and labels",
                found=f"{other.truth.shape} and {one.truth.shape} documents and labels",
                allowed="equal ids and equal truth",
            )
    return first, second


def _among(
    outcomes: Sequence[MultiLabelOutcome], groups: Sequence[BoolArray]
) -> list[MultiLabelOutcome]:
    """Leave the labels outside a group out of truth and answers; rankings stay whole."""
    groups = list(groups) * (len(outcomes) if len(groups) == 1 else 1)
    count, shape = len(outcomes), (outcomes[0].width,)
    if len(groups) != count or any(group.shape != shape for group in groups):
        raise ShapeError(
            "the groups of labels don't fit the runs",
            found=", ".join(str(group.shape) for group in groups) or "none",
            allowed=f"one for all runs, or {count}, each of shape {shape}",
        )
    return [
        replace(x, truth=only(x.truth, group), assigned=only(x.assigned, group))
        for x, group in zip(outcomes, groups, strict=True)
    ]


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


@dataclass(frozen=True, slots=True)
class _Found:
    """Of all true pairs, the share that is among the first k of its document's ranking."""

    k: int

    def features(self, outcome: MultiLabelOutcome) -> Sparse:
        ranked = rank_documents(outcome, (self.k,))
        return csr_array(np.stack([ranked.hits[:, 0], ranked.true], axis=1).astype(np.float64))

    def of(self, sums: FloatArray) -> FloatArray:
        return ratio(sums[:, 0], sums[:, 1])


@dataclass(frozen=True, slots=True)
class _OfLabel:
    """Precision, recall or F1 of one label, by its position."""

    name: str
    position: int

    def features(self, outcome: MultiLabelOutcome) -> Sparse:
        decided = Decided.of(outcome)
        matrices = (decided.right, decided.truth, decided.assigned)
        return hstack([m[:, [self.position]] for m in matrices], format="csr")

    def of(self, sums: FloatArray) -> FloatArray:
        right, true, given = np.rint(sums).astype(np.int64).T
        figures = dict(zip(PER_LABEL, micro(right, true, given).values(), strict=True))
        values = figures[self.name]
        return np.nan_to_num(values) if self.name == "precision" else values


_Figure = _Micro | _Macro | _Mean | _Found | _OfLabel


def _figure(metric: str, labels: int, position: int | None, grouped: bool) -> _Figure:
    if position is not None:
        if metric not in PER_LABEL or not 0 <= position < labels:
            raise DataError(
                f'the metric "{metric}" is not known for one label', allowed=", ".join(PER_LABEL)
            )
        return _OfLabel(metric, position)
    if metric in MICRO:
        return _Micro(metric)
    if metric in MACRO:
        return _Macro(metric, labels)
    if not grouped:
        return _Mean(metric)
    place, _, k = metric.rpartition("_at_")
    if place != "r" or not k.isdigit() or not int(k):
        raise DataError(
            f'the metric "{metric}" is not known for a group of labels',
            allowed=", ".join([*MICRO, *MACRO, "r_at_k for any k"]),
        )
    return _Found(int(k))
