"""Counts of right and wrong answers, and the figures that follow from counts alone.

Letters: N documents, L labels. A predicted position outside ``0 .. L-1`` means "no answer". The
functions on counts take any leading axes, so one call scores every resample of a bootstrap.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import ShapeError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def ratio(top: NDArray[Any], bottom: NDArray[Any]) -> FloatArray:
    """Divide elementwise; NaN where the divisor is zero, because the figure is undefined."""
    top_, bottom_ = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    filler = np.full(np.broadcast(top_, bottom_).shape, np.nan)
    result: FloatArray = np.divide(top_, bottom_, out=filler, where=bottom_ != 0)
    return result


def confusion(truth: IntArray, predicted: IntArray, n: int) -> IntArray:
    """Count documents by truth and prediction.

    truth (N,) positions ``0 .. n-1``; predicted (N,) positions, anything outside ``0 .. n-1``
    is "no answer". Returns (n, n + 1): rows are the truth, the last column is "no answer".

    Raises:
        ShapeError: If the lengths differ or a truth is outside ``0 .. n-1``.
    """
    truth, predicted = np.asarray(truth, np.int64), np.asarray(predicted, np.int64)
    if truth.shape != predicted.shape or truth.ndim != 1:
        raise ShapeError(
            "truth and predictions must have one entry a document",
            found=f"{truth.shape} and {predicted.shape}",
            allowed="equal lengths",
        )
    if truth.size and (truth.min() < 0 or truth.max() >= n):
        raise ShapeError(
            "a truth is outside the label set",
            found=f"positions {truth.min()} to {truth.max()}",
            allowed=f"0 to {n - 1}",
        )
    answer = np.where((predicted >= 0) & (predicted < n), predicted, n)
    flat = np.bincount(truth * (n + 1) + answer, minlength=n * (n + 1))
    return flat.reshape(n, n + 1)


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What every figure on decisions needs: each (..., L), whole numbers.

    right: documents of the label that got it; support: documents of the label; predicted:
    documents that got the label. The same three serve multi-label tasks.
    """

    right: IntArray
    support: IntArray
    predicted: IntArray

    @classmethod
    def of(cls, matrix: IntArray) -> "LabelCounts":
        """Read the counts off a confusion matrix (..., L, L) or (..., L, L + 1)."""
        n = matrix.shape[-2]
        square = matrix[..., :n]
        return cls(
            right=np.diagonal(square, axis1=-2, axis2=-1).copy(),
            support=matrix.sum(axis=-1),
            predicted=square.sum(axis=-2),
        )

    @classmethod
    def of_rows(cls, truth: IntArray, predicted: IntArray, n: int) -> "LabelCounts":
        """Count R lists of documents at once: truth and predicted (R, N) give counts (R, n).

        A predicted position of -1 is "no answer". Memory grows with R x n, not with n x n.
        """
        lists = truth.shape[0]
        first = np.arange(lists)[:, None]

        def tally(cells: IntArray, width: int) -> IntArray:
            return np.bincount(cells.ravel(), minlength=lists * width).reshape(lists, width)

        by_truth = first * n + truth
        return cls(
            right=tally(by_truth[truth == predicted], n),
            support=tally(by_truth, n),
            predicted=tally(first * (n + 1) + predicted % (n + 1), n + 1)[:, :n],
        )

    @property
    def seen(self) -> BoolArray:
        """Labels that occur in the truth or in the predictions."""
        return (self.support > 0) | (self.predicted > 0)


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Precision, recall and F1 of every label, each (..., L); NaN where undefined."""

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    counts: LabelCounts


def scores_of(counts: LabelCounts) -> LabelScores:
    """Turn counts into precision, recall and F1 per label, each (..., L).

    Precision is undefined (NaN) for a label never predicted, recall for one that is never true,
    F1 only when both hold; a label that is true but never predicted has F1 0.
    """
    return LabelScores(
        precision=ratio(counts.right, counts.predicted),
        recall=ratio(counts.right, counts.support),
        f1=ratio(2 * counts.right, counts.support + counts.predicted),
        counts=counts,
    )


def precision_recall_f1(matrix: IntArray) -> LabelScores:
    """Score a confusion matrix (L, L) or (L, L + 1), rows the truth; see ``scores_of``."""
    return scores_of(LabelCounts.of(np.asarray(matrix)))


def mean_over(values: FloatArray, labels: BoolArray) -> FloatArray:
    """Average (..., L) over the labels marked (..., L); undefined values in it count as 0.

    NaN where no label is marked.
    """
    total = np.where(labels, np.nan_to_num(values), 0.0).sum(axis=-1)
    return ratio(total, labels.sum(axis=-1))


def harmonic(a: FloatArray, b: FloatArray) -> FloatArray:
    """Harmonic mean, 0 where both are 0."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    total = a + b
    return np.where(total == 0, 0.0, ratio(2 * a * b, total))


def averages(scores: LabelScores) -> dict[str, FloatArray]:
    """Give every average over labels under its own name, each (...,).

    The definitions are in ``definitions.DEFINITIONS``; they differ in which labels they take.
    """
    counts = scores.counts
    every = np.ones_like(counts.seen)
    right, support = counts.right.sum(axis=-1), counts.support.sum(axis=-1)
    predicted = counts.predicted.sum(axis=-1)
    share = ratio(counts.support, support[..., None])
    figures = {
        "accuracy": ratio(right, support),
        "macro_precision": mean_over(scores.precision, counts.seen),
        "macro_recall": mean_over(scores.recall, counts.seen),
        "macro_f1": mean_over(scores.f1, counts.seen),
        "macro_f1_declared_zero": mean_over(scores.f1, every),
        "macro_f1_support_only": mean_over(scores.f1, counts.support > 0),
        "macro_f1_of_averages": harmonic(
            mean_over(scores.precision, every), mean_over(scores.recall, every)
        ),
        "micro_precision": ratio(right, predicted),
        "micro_recall": ratio(right, support),
        "micro_f1": ratio(2 * right, support + predicted),
    }
    for name in ("precision", "recall", "f1"):
        values = np.nan_to_num(getattr(scores, name))
        figures[f"weighted_{name}"] = (share * values).sum(axis=-1)
    return figures


def over_labels(name: str) -> bool:
    """Say whether a figure of ``averages`` is a mean over labels, each counting as much."""
    return name.startswith("macro")


def matthews(matrix: IntArray) -> float:
    """Return the multi-class Matthews correlation; NaN when one side is constant.

    matrix (L, L + 1), rows the truth. "No answer" is a class of its own that is never true.
    Source: Gorodkin 2004, the R_K statistic.
    """
    n = matrix.shape[0]
    total, right = float(matrix.sum()), float(np.trace(matrix[:, :n]))
    true, given = matrix.sum(axis=1).astype(np.float64), matrix.sum(axis=0).astype(np.float64)
    covariance = right * total - float(true @ given[:n])
    spread = (total**2 - float(given @ given)) * (total**2 - float(true @ true))
    return covariance / spread**0.5 if spread > 0 else float("nan")


def quadratic_kappa(matrix: IntArray) -> float:
    """Return Cohen's kappa with quadratic weights; NaN when chance disagreement is zero.

    matrix (L, L), rows the truth, labels in their order.
    """
    n = matrix.shape[0]
    step = np.arange(n, dtype=np.float64)
    cost = (step[:, None] - step[None, :]) ** 2
    total = float(matrix.sum())
    by_chance = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / max(total, 1.0)
    expected = float((cost * by_chance).sum())
    return 1.0 - float((cost * matrix).sum()) / expected if expected > 0 else float("nan")


def level_distances(matrix: IntArray) -> dict[int, int]:
    """Count answered documents by predicted level minus true level (negative: too low)."""
    n = matrix.shape[0]
    return {d: int(np.trace(matrix[:, :n], offset=d)) for d in range(1 - n, n)}
