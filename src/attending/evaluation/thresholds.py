"""Thresholds: the one that is best for F1, one a label, and the one that keeps a recall.

All are fitted on development rows only; the caller sees to that. A threshold lies half way between
the lowest score that it takes and the highest that it leaves, so that rounding moves no label over
it; what reaches it (>=) is taken. Letters: N documents, L labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse
from scipy.special import logit

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import BoolArray, FloatArray, IntArray
from attending.evaluation.intervals import Interval, wilson_interval

Metric = Literal["micro_f1", "macro_f1"]
CELLS_AT_ONCE = 4_000_000
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold and what the metric is there.

    reason says why nothing was fitted (then ``value`` is the default), else ``None``.
    """

    value: float
    figure: float | None
    reason: str | None = None

    def __float__(self) -> float:
        return self.value


def best_threshold(
    scores: Any, truth: Any, metric: Metric = "micro_f1", *, default: float = 0.5
) -> Threshold:
    """Find the threshold for all cells that makes micro-F1 or macro-F1 as high as it can be.

    scores and truth (N, L), dense or ``scipy.sparse``; a score that isn't stored is below every
    threshold. Exact: every score of a true cell is tried, and no other can be the best, as taking
    in more cells that aren't true only lowers F1. Of equally good ones the highest is taken.
    macro-F1 is the mean over labels that occur in the truth or reach the threshold. Cells are
    sorted into the true scores block by block, so memory doesn't grow with N x L.

    Raises:
        ShapeError: If shapes differ or a score is not finite.
    """
    table = _Table.of(scores, truth)
    tried = np.unique(np.concatenate([b.scores[b.true] for b in table.blocks()] or [np.empty(0)]))
    if not tried.size:
        reason = "no document truly has a label" if not table.support.any() else (
            "no label that a document truly has was given a score"
        )  # fmt: skip
        return Threshold(default, None, reason)
    figures = (_micro if metric == "micro_f1" else _macro)(table, tried)
    best = int(np.flatnonzero(figures >= figures.max() - _SAME)[-1])
    below = [b.scores[b.scores < tried[best]].max(initial=-np.inf) for b in table.blocks()]
    return Threshold(between(float(max(below)), float(tried[best])), float(figures[best]))


def per_label_thresholds(
    scores: Any, truth: Any, *, shared: float, shrinkage: float = 10.0
) -> FloatArray:
    """Return a threshold for each label, (L,): its own best for F1, drawn to the shared one.

    scores and truth as in ``best_threshold``. A label that n documents truly have gets
    (n t + k s) / (n + k), with t its own best threshold, s the shared one and k the shrinkage: the
    shared one counts as k documents, and a label without any gets it as it is.

    Raises:
        ShapeError: If shapes differ or a score is not finite.
    """
    table = _Table.of(scores, truth)
    found = np.full(table.width, shared)
    for block in table.blocks():
        order = np.argsort(block.labels, kind="stable")
        ends = np.cumsum(np.bincount(block.labels, minlength=table.width))
        for label in np.unique(block.labels[block.true]):
            own = order[ends[label - 1] if label else 0 : ends[label]]
            n = int(table.support[label])
            best = _own_best(block.scores[own], block.true[own], n)
            found[label] = (n * best + shrinkage * shared) / (n + shrinkage)
    return found


@dataclass(frozen=True, slots=True)
class RecallPoint:
    """A point with a wanted recall and what it costs, counted on ``rows`` documents.

    An alert is a document that reaches the threshold; ``caught`` of the ``positives`` documents
    with the label are among them. ``interval`` says how sure the recall is (Wilson, 95 %).
    """

    threshold: float
    rows: int
    positives: int
    alerts: int
    caught: int
    interval: Interval | None

    @property
    def recall(self) -> float:
        """Share of the documents with the label that raise an alert."""
        return self.caught / self.positives

    @property
    def precision(self) -> float:
        """Share of the alerts whose document has the label."""
        return self.caught / self.alerts

    @property
    def alerts_per_1000(self) -> float:
        """Alerts among 1,000 documents."""
        return 1000 * self.alerts / self.rows

    @property
    def false_alerts_per_1000(self) -> float:
        """Alerts among 1,000 documents whose document doesn't have the label."""
        return 1000 * (self.alerts - self.caught) / self.rows

    @property
    def missed_per_1000(self) -> float:
        """Documents among 1,000 that have the label and raise no alert."""
        return 1000 * (self.positives - self.caught) / self.rows


def recall_floor_threshold(
    scores: NDArray[Any], truth: NDArray[Any], floor: float
) -> RecallPoint | str:
    """Find the threshold with the fewest alerts whose recall is at least ``floor``.

    scores (N,) of one label; truth (N,) bool, which documents have it; floor above 0, at most 1.
    Documents of equal score are taken together. Returns why there is no point where no document
    has the label.

    Raises:
        ShapeError: If lengths differ or a score is not finite.
        DataError: If the floor is out of range.
    """
    if not 0 < floor <= 1:
        raise DataError(
            "a recall floor must be a share", found=str(floor), allowed="above 0 and at most 1"
        )
    values, true = np.asarray(scores, np.float64), np.asarray(truth, bool)
    if values.ndim != 1 or values.shape != true.shape:
        raise ShapeError(
            "one score and one truth a document", found=f"{values.shape} and {true.shape}"
        )
    _require_finite(values)
    positives = int(true.sum())
    if not positives:
        return "no document has the label"
    wanted = ceil(floor * positives - _SAME * positives)
    lowest = float(np.sort(values[true])[positives - wanted])
    taken = values >= lowest
    caught = int((taken & true).sum())
    return RecallPoint(
        threshold=between(float(values[~taken].max(initial=-np.inf)), lowest),
        rows=len(values),
        positives=positives,
        alerts=int(taken.sum()),
        caught=caught,
        interval=wilson_interval(caught, positives, 0.95),
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """Cells of some labels, all of them: label, score and truth of each, (C,)."""

    labels: IntArray
    scores: FloatArray
    true: BoolArray


@dataclass(frozen=True, slots=True)
class _Table:
    """Scores and truth (N, L), and how many documents truly have each label, (L,)."""

    scores: Any
    truth: Any
    support: IntArray

    @classmethod
    def of(cls, scores: Any, truth: Any) -> "_Table":
        if scores.ndim != 2 or scores.shape != truth.shape:
            raise ShapeError(
                "scores and truth must both be (documents, labels)",
                found=f"{scores.shape} and {truth.shape}",
            )
        held: Any = csc_array(scores) if issparse(scores) else np.asarray(scores, np.float64)
        _require_finite(held.data if issparse(scores) else held)
        true = csc_array(truth).astype(bool) if issparse(truth) else np.asarray(truth, bool)
        support = np.asarray(true.sum(axis=0)).ravel().astype(np.int64)
        return cls(held, true, support)

    @property
    def width(self) -> int:
        return int(self.scores.shape[1])

    def blocks(self) -> Iterator[_Block]:
        """Yield the cells that have a score, label by label, in blocks of a fixed size."""
        rows = int(self.scores.shape[0])
        step = max(1, CELLS_AT_ONCE // max(rows, 1))
        for start in range(0, self.width, step):
            stop = min(start + step, self.width)
            true = self.truth[:, start:stop]
            true = true.toarray() if issparse(true) else true
            if not issparse(self.scores):
                values = self.scores[:, start:stop].T.ravel()
                yield _Block(np.repeat(np.arange(start, stop), rows), values, true.T.ravel())
                continue
            pointer = self.scores.indptr[start : stop + 1]
            span = slice(int(pointer[0]), int(pointer[-1]))
            columns = np.repeat(np.arange(stop - start), np.diff(pointer))
            marks = true[self.scores.indices[span], columns]
            yield _Block(columns + start, self.scores.data[span].astype(np.float64), marks)


def _micro(table: _Table, tried: FloatArray) -> FloatArray:
    """Return micro-F1 at each score tried, ascending."""
    given, right = np.zeros(tried.size, np.int64), np.zeros(tried.size, np.int64)
    for block in table.blocks():
        place = np.searchsorted(tried, block.scores, side="right") - 1
        given += np.bincount(place[place >= 0], minlength=tried.size)
        right += np.bincount(place[block.true], minlength=tried.size)
    reached, hits = _from_above(given), _from_above(right)
    figures: FloatArray = 2 * hits / (reached + table.support.sum())
    return figures


def _macro(table: _Table, tried: FloatArray) -> FloatArray:
    """Return macro-F1 at each score tried, ascending.

    As the threshold falls, F1 of a label changes only where one of its own cells is taken in; the
    changes of all labels are added up at the scores where they happen.
    """
    changes, seen = np.zeros(tried.size), np.zeros(tried.size, np.int64)
    for block in table.blocks():
        place = np.searchsorted(tried, block.scores, side="right") - 1
        kept = place >= 0
        place, label, true = place[kept], block.labels[kept], block.true[kept]
        order = np.lexsort((-place, label))
        place, label, true = place[order], label[order], true[order]
        first = np.flatnonzero(np.diff(label, prepend=-1))
        last = np.flatnonzero(_differs_from_next(label * tried.size - place))
        before = np.repeat(first, np.diff(first, append=label.size))[last]
        hits = np.concatenate([[0], np.cumsum(true)])
        f1 = 2 * (hits[last + 1] - hits[before]) / (last + 1 - before + table.support[label[last]])
        earlier = np.where(np.diff(label[last], prepend=-1) != 0, 0.0, np.roll(f1, 1))
        changes += np.bincount(place[last], weights=f1 - earlier, minlength=tried.size)
        strange = first[table.support[label[first]] == 0]
        seen += np.bincount(place[strange], minlength=tried.size)
    labels = int((table.support > 0).sum()) + _from_above(seen)
    figures: FloatArray = _from_above(changes) / labels
    return figures


def _differs_from_next(values: NDArray[Any]) -> BoolArray:
    return np.concatenate([values[1:] != values[:-1], np.ones(min(1, values.size), bool)])


def _from_above(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of each value and all after it."""
    return np.cumsum(values[::-1])[::-1]


def _own_best(scores: FloatArray, true: BoolArray, support: int) -> float:
    """Return the best threshold for F1 of one label; scores and true (n,), one at least true."""
    order = np.argsort(-scores, kind="stable")
    sorted_, hits = scores[order], np.cumsum(true[order])
    last = np.flatnonzero(_differs_from_next(sorted_))
    f1 = 2 * hits[last] / (last + 1 + support)
    best = int(np.argmax(f1))
    below = float(sorted_[last[best + 1]]) if best + 1 < last.size else -np.inf
    return between(below, float(sorted_[last[best]]))


def log_odds(share: float) -> float:
    """Return log(p / (1 - p)), finite for 0 and 1 too."""
    return float(logit(min(max(share, 1e-9), 1 - 1e-9)))


def between(below: float, lowest: float) -> float:
    """Return a threshold that takes ``lowest`` and leaves ``below`` (-inf: leaves nothing)."""
    if below == -np.inf:
        return lowest / 2 if lowest > 0 else lowest
    middle = (below + lowest) / 2
    return middle if middle > below else lowest


def _require_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise ShapeError("a score is not a number", found="NaN or infinity", allowed="numbers")
