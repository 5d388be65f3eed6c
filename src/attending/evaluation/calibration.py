"""Do probabilities mean what they say: temperature, reliability, ECE, Brier score, log loss.

Letters: N documents, L labels. Temperatures are fitted on development documents only; the
caller sees to that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attending.errors import ShapeError
from attending.evaluation.counts import BoolArray, FloatArray, IntArray

Scheme = Literal["equal-width", "equal-mass"]
BINS = 15
LEAST_ROWS = 20
LOWEST, HIGHEST = 0.05, 20.0
_FLOOR = 1e-15


def softmax(logits: NDArray[Any]) -> FloatArray:
    """Turn logits (..., L) into probabilities (..., L) that sum to 1 over the last axis."""
    values = np.asarray(logits, np.float64)
    grown = np.exp(values - values.max(axis=-1, keepdims=True))
    result: FloatArray = grown / grown.sum(axis=-1, keepdims=True)
    return result


def _checked(scores: NDArray[Any], targets: NDArray[Any]) -> tuple[FloatArray, IntArray]:
    scores, targets = np.asarray(scores, np.float64), np.asarray(targets, np.int64)
    if scores.ndim != 2 or targets.shape != scores.shape[:1]:
        raise ShapeError(
            "scores must be (documents, labels) with one target a document",
            found=f"{scores.shape} and {targets.shape}",
        )
    if not np.isfinite(scores).all():
        raise ShapeError("a score is not a number", found="NaN or infinity", allowed="numbers")
    if targets.size and (targets.min() < 0 or targets.max() >= scores.shape[1]):
        raise ShapeError(
            "a target is outside the label set",
            found=f"positions {targets.min()} to {targets.max()}",
            allowed=f"0 to {scores.shape[1] - 1}",
        )
    return scores, targets


@dataclass(frozen=True, slots=True)
class Temperature:
    """A fitted temperature: divide logits by ``value`` before the softmax.

    reason says why nothing was fitted (then ``value`` is 1), else ``None``; before and after
    are the mean negative log likelihoods in nats on the rows it was fitted on.
    """

    value: float
    reason: str | None
    rows: int
    before: float | None
    after: float | None

    def __float__(self) -> float:
        return self.value


def _nll(logits: FloatArray, targets: IntArray, temperature: float) -> float:
    scaled = logits / temperature
    peak = scaled.max(axis=1)
    norm = peak + np.log(np.exp(scaled - peak[:, None]).sum(axis=1))
    return float((norm - scaled[np.arange(targets.size), targets]).mean())


def _unfit_reason(logits: FloatArray, targets: IntArray) -> str | None:
    if targets.size < LEAST_ROWS:
        return f"only {targets.size} rows to fit on; at least {LEAST_ROWS} are needed"
    if np.unique(targets).size < 2:
        return "all rows have the same label"
    if (np.ptp(logits, axis=1) == 0).all():
        return "the logits of every row are all equal"
    others = logits.copy()
    others[np.arange(targets.size), targets] = -np.inf
    if (logits[np.arange(targets.size), targets] > others.max(axis=1)).all():
        return "every row is answered right, so any sharper temperature looks better"
    return None


def fit_temperature(logits: NDArray[Any], targets: NDArray[Any]) -> Temperature:
    """Find the temperature that makes the targets most likely.

    logits (N, L) raw; targets (N,) positions. Searches 0.05 to 20. Where nothing can be fitted
    (fewer than 20 rows, one label only, all rows right, constant logits) the value is 1 and
    ``reason`` says why.

    Raises:
        ShapeError: If shapes don't fit or a logit is not finite.
    Source: Guo et al. 2017, arXiv:1706.04599, section 4.2.
    """
    scores, positions = _checked(logits, targets)
    rows = int(positions.size)
    before = _nll(scores, positions, 1.0) if rows else None
    reason = _unfit_reason(scores, positions)
    if reason is not None:
        return Temperature(1.0, reason, rows, before, before)
    value = likeliest_temperature(lambda t: _nll(scores, positions, t), 1e-6)
    return Temperature(value, None, rows, before, _nll(scores, positions, value))


def likeliest_temperature(loss: Callable[[float], float], tolerance: float) -> float:
    """Return the temperature between 0.05 and 20 of the lowest loss, to a tolerance in its log."""
    from scipy.optimize import minimize_scalar

    # The loss is convex in 1/T, so it has one valley on the log scale that is searched here.
    found = minimize_scalar(
        lambda log_t: loss(float(np.exp(log_t))),
        bounds=(np.log(LOWEST), np.log(HIGHEST)),
        method="bounded",
        options={"xatol": tolerance},
    )
    return float(np.exp(found.x))


@dataclass(frozen=True, slots=True)
class Bin:
    """Documents of like confidence, ``low`` exclusive, ``high`` inclusive (the first from 0).

    confidence and accuracy are means over the bin's documents, ``None`` when it is empty.
    """

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None


def _edges(confidence: FloatArray, bins: int, scheme: Scheme) -> FloatArray:
    if scheme == "equal-width":
        return np.linspace(0.0, 1.0, bins + 1)
    # Equal values stay in one bin, so the order of the documents doesn't matter.
    inner = np.quantile(confidence, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def reliability_bins(
    confidence: FloatArray, correct: BoolArray, *, bins: int = BINS, scheme: Scheme = "equal-width"
) -> tuple[Bin, ...]:
    """Group documents by confidence and say how often each group was right.

    confidence (N,) in [0, 1]; correct (N,) bool. "equal-width" cuts [0, 1] into equal parts;
    "equal-mass" puts about as many documents in each bin, equal confidences together.

    Raises:
        ShapeError: If lengths differ or a confidence is outside [0, 1].
    """
    confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if confidence.shape != correct.shape or confidence.ndim != 1:
        raise ShapeError(
            "confidence and correctness must have one entry a document",
            found=f"{confidence.shape} and {correct.shape}",
        )
    if confidence.size and not (confidence.min() >= 0 and confidence.max() <= 1 + 1e-9):
        raise ShapeError("a confidence is not a probability", allowed="0 to 1")
    edges = _edges(confidence, bins, scheme) if confidence.size else np.linspace(0, 1, bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, edges.size - 2)
    count = np.bincount(place, minlength=edges.size - 1)
    sure = np.bincount(place, weights=confidence, minlength=edges.size - 1)
    right = np.bincount(place, weights=correct, minlength=edges.size - 1)
    return tuple(
        Bin(
            low=float(edges[i]),
            high=float(edges[i + 1]),
            count=int(n),
            confidence=float(sure[i] / n) if n else None,
            accuracy=float(right[i] / n) if n else None,
        )
        for i, n in enumerate(count)
    )


def _gap(bins: tuple[Bin, ...]) -> float:
    total = sum(b.count for b in bins)
    return sum(
        b.count / total * abs(b.confidence - b.accuracy)
        for b in bins
        if b.confidence is not None and b.accuracy is not None
    )


def top_label(probs: FloatArray, targets: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return each document's highest probability (N,) and whether that label is true (N,)."""
    return probs.max(axis=1), probs.argmax(axis=1) == targets


def expected_calibration_error(
    probs: NDArray[Any],
    targets: NDArray[Any],
    *,
    bins: int = BINS,
    scheme: Scheme = "equal-width",
    over: Literal["top-label", "classwise"] = "top-label",
) -> float:
    """Average gap between stated confidence and share of right answers, weighted by bin size.

    probs (N, L); targets (N,). "top-label" looks at the highest probability only; "classwise"
    bins every label's probability against how often that label is true and averages over labels.

    Raises:
        ShapeError: If shapes don't fit or there is no document.
    Source: Naeini et al. 2015 (top-label); Kull et al. 2019, arXiv:1910.12656 (classwise).
    """
    scores, positions = _checked(probs, targets)
    if not positions.size:
        raise ShapeError("calibration needs at least one document", found="0 documents")
    if over == "top-label":
        return _gap(reliability_bins(*top_label(scores, positions), bins=bins, scheme=scheme))
    gaps = [
        _gap(reliability_bins(scores[:, k], positions == k, bins=bins, scheme=scheme))
        for k in range(scores.shape[1])
    ]
    return float(np.mean(gaps))


def brier_score(probs: NDArray[Any], targets: NDArray[Any]) -> float:
    """Mean squared distance of probabilities (N, L) from the truth, summed over labels: 0 to 2."""
    scores, positions = _checked(probs, targets)
    truth = np.eye(scores.shape[1])[positions]
    return float(((scores - truth) ** 2).sum(axis=1).mean())


def log_loss(probs: NDArray[Any], targets: NDArray[Any]) -> float:
    """Mean negative natural log of the true label's probability, probs (N, L), targets (N,).

    Probabilities below 1e-15 are raised to it, so that one certain mistake stays finite.
    """
    scores, positions = _checked(probs, targets)
    given = scores[np.arange(positions.size), positions]
    return float(-np.log(np.maximum(given, _FLOOR)).mean())
