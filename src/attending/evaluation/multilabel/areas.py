"""How well scores put true document-label pairs before false ones, and what a threshold does.

Letters: N documents, L labels. A cell that isn't stored lies below every stored one and ties with
all others that aren't. Everything follows from the sorted scores and those of the true pairs
among them, so no (N, L) array is made.
"""

from dataclasses import dataclass

import numpy as np

from attending.evaluation.counts import BoolArray, FloatArray, IntArray
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.ranking import NO_NEGATIVE, NO_POSITIVE, OneVsRest

POINTS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Where the true pairs lie in a list of scores; arrays are over their distinct scores, rising.

    value is the score, true the true pairs of that score, true_from and all_from count true and
    all pairs of at least that score, and above all pairs of a higher one.
    """

    value: FloatArray
    true: IntArray
    true_from: IntArray
    all_from: IntArray
    above: IntArray
    stored: int

    @classmethod
    def of(cls, scores: FloatArray, positives: FloatArray) -> "Steps":
        """Read sorted scores (n,) and the scores of the true pairs among them, in any order."""
        value, true = np.unique(positives, return_counts=True)
        return cls(
            value,
            true,
            np.cumsum(true[::-1])[::-1],
            scores.size - np.searchsorted(scores, value, "left"),
            scores.size - np.searchsorted(scores, value, "right"),
            int(scores.size),
        )

    def roc_auc(self, positives: int, cells: int) -> float:
        """Return the chance that a true pair scores higher than a false one, ties half."""
        false = cells - positives
        found = int(self.true.sum())
        false_from = self.all_from - self.true_from
        false_above = self.above - (self.true_from - self.true)
        won = (self.true * (false - (false_from + false_above) / 2)).sum()
        # The true pairs that aren't stored tie with the false ones that aren't.
        tied = (positives - found) * (false - (self.stored - found)) / 2
        return float((won + tied) / (positives * false))

    def average_precision(self, positives: int, cells: int) -> float:
        """Return the step-wise area under precision against recall; equal scores enter together."""
        found = int(self.true.sum())
        steps = (self.true * (self.true_from / self.all_from)).sum()
        return float((steps + (positives - found) * (positives / cells)) / positives)


@dataclass(frozen=True, slots=True)
class Operating:
    """What giving every label from a threshold on would do, over all document-label pairs."""

    threshold: float
    precision: float
    recall: float
    f1: float
    labels_per_document: float


@dataclass(frozen=True, slots=True)
class Areas:
    """Ranking figures of all cells, the curve over thresholds, and its point of the highest F1."""

    roc_auc: OneVsRest
    average_precision: OneVsRest
    curve: tuple[Operating, ...]
    best: Operating | None


def areas(outcome: MultiLabelOutcome) -> Areas:
    """Compute ROC-AUC and average precision by label, macro and micro, and the threshold curve.

    Labels that no document or every document truly has have no value and are left out of the
    macro; how many it is over is told.
    """
    hit = outcome.stored_in(outcome.truth)
    everything = np.sort(outcome.scores.data)
    steps = Steps.of(everything, outcome.scores.data[hit])
    cells, positives = outcome.documents * outcome.width, int(outcome.truth.nnz)
    auc, precision, reasons = _by_label(outcome, hit)
    both = 0 < positives < cells
    return Areas(
        _one_vs_rest(auc, reasons, steps.roc_auc(positives, cells) if both else None),
        _one_vs_rest(
            precision, reasons, steps.average_precision(positives, cells) if both else None
        ),
        _curve(everything, steps, positives, outcome.documents),
        _best(steps, positives, outcome.documents),
    )


def _one_vs_rest(
    values: list[float | None], reasons: dict[int, str], overall: float | None
) -> OneVsRest:
    known = [value for value in values if value is not None]
    return OneVsRest(tuple(values), reasons, float(np.mean(known)) if known else None, overall)


def _by_label(
    outcome: MultiLabelOutcome, hit: BoolArray
) -> tuple[list[float | None], list[float | None], dict[int, str]]:
    columns = outcome.scores.tocsc()
    marks = outcome.scores.copy()
    marks.data = hit
    found = marks.tocsc()
    support = np.bincount(outcome.truth.indices, minlength=outcome.width)
    auc: list[float | None] = [None] * outcome.width
    precision: list[float | None] = [None] * outcome.width
    reasons: dict[int, str] = {}
    for label in range(outcome.width):
        positives = int(support[label])
        if positives in (0, outcome.documents):
            reasons[label] = NO_NEGATIVE if positives else NO_POSITIVE
            continue
        span = slice(int(columns.indptr[label]), int(columns.indptr[label + 1]))
        scores = columns.data[span]
        steps = Steps.of(np.sort(scores), scores[found.data[span]])
        auc[label] = steps.roc_auc(positives, outcome.documents)
        precision[label] = steps.average_precision(positives, outcome.documents)
    return auc, precision, reasons


def _operating(
    threshold: float, right: int, given: int, positives: int, documents: int
) -> Operating:
    return Operating(
        float(threshold),
        right / given,
        right / positives,
        2 * right / (given + positives),
        given / documents,
    )


def _curve(
    scores: FloatArray, steps: Steps, positives: int, documents: int
) -> tuple[Operating, ...]:
    """Sample thresholds: evenly over 0 to 1 where scores are that, and evenly by labels given."""
    if not scores.size or not positives:
        return ()
    given = np.unique(np.geomspace(1, scores.size, POINTS).astype(np.int64))
    wanted = [scores[scores.size - given]]
    if scores[0] >= 0 and scores[-1] <= 1:
        grid = np.linspace(0, 1, 101)
        wanted.append(grid[(grid >= scores[0]) & (grid <= scores[-1])])
    thresholds = np.unique(np.concatenate(wanted))
    found = np.concatenate([steps.true_from, [0]])
    right = found[np.searchsorted(steps.value, thresholds, "left")]
    given = scores.size - np.searchsorted(scores, thresholds, "left")
    return tuple(
        _operating(float(t), int(r), int(g), positives, documents)
        for t, r, g in zip(thresholds, right, given, strict=True)
    )


def _best(steps: Steps, positives: int, documents: int) -> Operating | None:
    """Return the point of the highest F1, which lies at the score of a true pair."""
    if not steps.value.size:
        return None
    f1 = 2 * steps.true_from / (steps.all_from + positives)
    k = int(f1.argmax())
    return _operating(
        float(steps.value[k]), int(steps.true_from[k]), int(steps.all_from[k]), positives, documents
    )
