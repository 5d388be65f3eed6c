"""How well scores put documents of a label before the others: ROC-AUC and average precision.

Letters: N documents, L labels. A figure that the data can't define is ``None`` with a reason,
never a filler such as 0.5.
"""

from dataclasses import dataclass

import numpy as np

from attending.errors import ShapeError
from attending.evaluation.counts import FloatArray, IntArray

NO_POSITIVE = "no document has this label"
NO_NEGATIVE = "every document has this label"
NO_DOCUMENT = "no document has scores"


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """A ranking figure per label with its averages; ``None`` where undefined.

    reasons names the labels' positions without a value and why; macro is the mean over the
    ``defined`` of ``labels`` labels; micro takes all N x L cells as one list.
    """

    per_label: tuple[float | None, ...]
    reasons: dict[int, str]
    macro: float | None
    micro: float | None

    @property
    def defined(self) -> int:
        """How many labels the macro average is over."""
        return sum(value is not None for value in self.per_label)

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self.per_label)


def _checked(y: IntArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
    y, scores = np.asarray(y), np.asarray(scores, np.float64)
    if y.ndim != 2 or y.shape != scores.shape:
        raise ShapeError(
            "truth and scores must both be (documents, labels)",
            found=f"{y.shape} and {scores.shape}",
            allowed="equal shapes",
        )
    if not np.isfinite(scores).all():
        raise ShapeError("a score is not a number", found="NaN or infinity", allowed="numbers")
    return (y > 0).astype(np.int64), scores


def _reason(y: IntArray) -> str | None:
    if not y.size:
        return NO_DOCUMENT
    positives = int(y.sum())
    if positives == 0:
        return NO_POSITIVE
    return NO_NEGATIVE if positives == y.size else None


def _auc(y: IntArray, scores: FloatArray) -> float:
    """Mann-Whitney: the share of (positive, negative) pairs in right order, a tie counts half."""
    _, tied, size = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    ranks = (last - (size - 1) / 2)[tied]
    positives = int(y.sum())
    won = float(ranks[y == 1].sum()) - positives * (positives + 1) / 2
    return won / (positives * (y.size - positives))


def _average_precision(y: IntArray, scores: FloatArray) -> float:
    """Step-wise area under precision against recall; documents of equal score enter together."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(y[order])
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    gained = np.diff(hits[ends], prepend=0)
    return float((gained * hits[ends] / (ends + 1)).sum() / hits[-1])


def _per_label(y: IntArray, scores: FloatArray, figure: str) -> OneVsRest:
    compute = _auc if figure == "roc_auc" else _average_precision
    values: list[float | None] = []
    reasons: dict[int, str] = {}
    for column in range(y.shape[1]):
        reason = _reason(y[:, column])
        if reason is not None:
            reasons[column] = reason
        values.append(None if reason else compute(y[:, column], scores[:, column]))
    known = [value for value in values if value is not None]
    cells = y.ravel()
    return OneVsRest(
        per_label=tuple(values),
        reasons=reasons,
        macro=float(np.mean(known)) if known else None,
        micro=None if _reason(cells) else compute(cells, scores.ravel()),
    )


def roc_auc_one_vs_rest(y: IntArray, scores: FloatArray) -> OneVsRest:
    """Area under the ROC curve of each label against the rest.

    y (N, L) of 0 and 1; scores (N, L), higher means more likely. Labels without a positive or
    without a negative document have no value.

    Raises:
        ShapeError: If the shapes differ or a score is not finite.
    """
    return _per_label(*_checked(y, scores), "roc_auc")


def average_precision_one_vs_rest(y: IntArray, scores: FloatArray) -> OneVsRest:
    """Average precision (area under precision-recall, step-wise) of each label against the rest.

    Shapes, undefined labels and errors are as for ``roc_auc_one_vs_rest``. With only positives
    any scores give 1, so that case has no value either.
    """
    return _per_label(*_checked(y, scores), "average_precision")
