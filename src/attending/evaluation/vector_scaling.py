"""Vector scaling: a scale and an offset for each label, where one temperature is too little.

Letters: N documents, L labels. Fitted on development documents only; the caller sees to that.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.evaluation.calibration import fit_temperature
from attending.evaluation.counts import FloatArray, IntArray

ROWS_A_LABEL = 10
"""Each label must be the true one of so many documents."""
_FOLDS = 5
_SEED = 2020
_LOWEST, _HIGHEST, _OFFSET = 0.02, 20.0, 10.0


@dataclass(frozen=True, slots=True)
class VectorScaling:
    """Logits z become z * scales + biases before the softmax; both (L,), in the labels' order.

    reason says why nothing was fitted (then both are empty), else ``None``. temperature and vector
    are mean negative log likelihoods in nats on documents that neither was fitted on (5 folds),
    ``None`` where that wasn't computed.
    """

    scales: tuple[float, ...]
    biases: tuple[float, ...]
    reason: str | None
    temperature: float | None = None
    vector: float | None = None


def fit_vector_scaling(logits: NDArray[Any], targets: NDArray[Any]) -> VectorScaling:
    """Find the scales and offsets that make the targets most likely.

    logits (N, L) raw; targets (N,) positions. It has 2L numbers to fit, so it is refused where a
    label has fewer than 10 documents, where one temperature can't be fitted, and where it is no
    better than one temperature on documents that it wasn't fitted on (5 folds).

    Raises:
        ShapeError: If shapes don't fit or a logit is not finite.
    Source: Guo et al. 2017, arXiv:1706.04599, section 4.2. Deviations: scales are kept positive,
    so that more evidence for a label never makes it less likely; the two guards above.
    """
    single = fit_temperature(logits, targets)
    if single.reason is not None:
        return VectorScaling((), (), single.reason)
    scores, positions = np.asarray(logits, np.float64), np.asarray(targets, np.int64)
    counts = np.bincount(positions, minlength=scores.shape[1])
    if counts.min() < ROWS_A_LABEL:
        few = f"a label has only {counts.min()} rows; at least {ROWS_A_LABEL} of each are needed"
        return VectorScaling((), (), few)
    one, own = _unseen(scores, positions)
    if own >= one:
        worse = f"log loss {own:.4f} on rows it wasn't fitted on, {one:.4f} with one temperature"
        return VectorScaling((), (), worse, one, own)
    scales, biases = _fit(scores, positions)
    return VectorScaling(tuple(scales.tolist()), tuple(biases.tolist()), None, one, own)


def _unseen(scores: FloatArray, targets: IntArray) -> tuple[float, float]:
    """Return the losses of one temperature and of vector scaling on documents left out."""
    # By label in turn, so that each fold has its share of the rare ones.
    order = np.random.default_rng(_SEED).permutation(targets.size)
    fold = np.empty(targets.size, np.int64)
    fold[order[np.argsort(targets[order], kind="stable")]] = np.arange(targets.size) % _FOLDS
    one = own = 0.0
    for k in range(_FOLDS):
        fitted, held = fold != k, fold == k
        value = float(fit_temperature(scores[fitted], targets[fitted]))
        one += _loss(scores[held] / value, targets[held]) * held.sum()
        scales, biases = _fit(scores[fitted], targets[fitted])
        own += _loss(scores[held] * scales + biases, targets[held]) * held.sum()
    return one / targets.size, own / targets.size


def _log_softmax(logits: FloatArray) -> FloatArray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def _loss(logits: FloatArray, targets: IntArray) -> float:
    return float(-_log_softmax(logits)[np.arange(targets.size), targets].mean())


def _fit(scores: FloatArray, targets: IntArray) -> tuple[FloatArray, FloatArray]:
    from scipy.optimize import minimize

    width = scores.shape[1]
    truth = np.eye(width)[targets]
    start = 1.0 / float(fit_temperature(scores, targets))

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        logits = scores * values[:width] + values[width:]
        logs = _log_softmax(logits)
        slope = (np.exp(logs) - truth) / targets.size
        gradient = np.concatenate([(slope * scores).sum(axis=0), slope.sum(axis=0)])
        return float(-(logs * truth).sum() / targets.size), gradient

    bounds = [(_LOWEST, _HIGHEST)] * width + [(-_OFFSET, _OFFSET)] * width
    begin = np.concatenate([np.full(width, start), np.zeros(width)])
    found = minimize(loss, begin, jac=True, bounds=bounds, method="L-BFGS-B")
    # The softmax doesn't change when all offsets move together: they are told around 0.
    return found.x[:width], found.x[width:] - found.x[width:].mean()
