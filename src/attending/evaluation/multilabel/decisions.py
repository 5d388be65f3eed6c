"""Figures of what was assigned: per label, per document, and their averages."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attending.evaluation.counts import (
    BoolArray,
    FloatArray,
    IntArray,
    LabelCounts,
    averages,
    ratio,
    scores_of,
)
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, Sparse, sizes, weighted

MICRO = ("micro_precision", "micro_recall", "micro_f1")
MACRO = (
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "macro_f1_declared_zero",
    "macro_f1_support_only",
    "macro_f1_of_averages",
)


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """What was assigned against what is true, for N documents and L labels.

    right, truth and assigned are sparse (N, L); document holds right, true and assigned labels
    of each document, (N, 3).
    """

    right: Sparse
    truth: Sparse
    assigned: Sparse
    document: IntArray

    @classmethod
    def of(cls, outcome: MultiLabelOutcome, keep: BoolArray | None = None) -> "Decided":
        """Count an outcome; ``keep`` (L,) bool leaves labels out of truth and assigned."""
        truth, assigned = outcome.truth, outcome.assigned
        if keep is not None:
            truth, assigned = only(truth, keep), only(assigned, keep)
        right = truth.multiply(assigned).tocsr()
        document = np.stack([sizes(right), sizes(truth), sizes(assigned)], axis=1)
        right, truth, assigned = (m.astype(np.float32) for m in (right, truth, assigned))
        return cls(right, truth, assigned, document)

    def label_counts(self) -> LabelCounts:
        """Return the counts of every label, each (L,)."""
        sums = [np.asarray(m.sum(axis=0)) for m in (self.right, self.truth, self.assigned)]
        return LabelCounts(*(np.rint(s).astype(np.int64) for s in sums))

    def drawn_counts(self, weights: FloatArray) -> LabelCounts:
        """Return the counts of every label, each (R, L), where documents count weights (R, N)."""
        sums = [weighted(weights, m) for m in (self.right, self.truth, self.assigned)]
        return LabelCounts(*(np.rint(s).astype(np.int64) for s in sums))


def only(matrix: Sparse, keep: BoolArray) -> Sparse:
    """Return a boolean matrix with the cells of labels outside ``keep`` taken out."""
    cut = matrix.copy()
    cut.data = cut.data & keep[cut.indices]
    cut.eliminate_zeros()
    return cut


def label_averages(counts: LabelCounts) -> dict[str, FloatArray]:
    """Give the averages over labels by name, each (...,), from counts (..., L)."""
    figures = averages(scores_of(counts))
    # The share of true pairs found goes by the name of accuracy only where labels exclude others.
    return {key: value for key, value in figures.items() if key != "accuracy"}


def micro(right: IntArray, true: IntArray, given: IntArray) -> dict[str, FloatArray]:
    """Give micro precision, recall and F1 of pair counts, each (...,); NaN where undefined."""
    return dict(
        zip(MICRO, (ratio(right, given), ratio(right, true), ratio(2 * right, true + given)),
            strict=True)
    )  # fmt: skip


def per_document(document: IntArray, answered: BoolArray) -> dict[str, FloatArray]:
    """Give what is averaged over documents: counts (N, 3) and who was answered, to values (N,).

    A document that truly has no label and rightly got none is perfect; one without an answer is
    not, whatever its labels.
    """
    right, true, given = document.T
    nothing = (true + given) == 0
    f1 = np.where(nothing, 1.0, ratio(2 * right, np.maximum(true + given, 1)))
    same = (right == true) & (right == given)
    return {
        "example_f1": np.where(answered, f1, 0.0),
        "subset_accuracy": (same & answered).astype(np.float64),
    }


def hamming_loss(document: IntArray, labels: int) -> float:
    """Return the share of document-label cells that are wrong; counts (N, 3), L labels."""
    right, true, given = document.sum(axis=0)
    return float((true + given - 2 * right) / (len(document) * labels))


def kept_without(labels: int, dropped: Sequence[int]) -> BoolArray:
    """Mark all labels but the dropped positions, (L,) bool."""
    keep = np.ones(labels, bool)
    keep[list(dropped)] = False
    return keep
