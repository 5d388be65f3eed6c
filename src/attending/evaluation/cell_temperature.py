"""One temperature for labels that don't exclude each other, fitted on all document-label cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import ShapeError
from attending.evaluation.calibration import LEAST_ROWS, Temperature, likeliest_temperature
from attending.evaluation.counts import BoolArray, FloatArray

CELLS_AT_ONCE = 4_000_000


def fit_cell_temperature(logits: NDArray[Any], truth: NDArray[Any]) -> Temperature:
    """Find the temperature under whose sigmoids the cells are most likely.

    logits (N, L) raw; truth (N, L) bool. Searches 0.05 to 20. Where nothing can be fitted (fewer
    than 20 rows, no true cell or only true ones, every cell on its right side of 0, all logits 0)
    the value is 1 and ``reason`` says why. Likelihoods are means over cells, in nats.

    Raises:
        ShapeError: If shapes differ or a logit is not finite.
    Source: Guo et al. 2017, arXiv:1706.04599, section 4.2, with one sigmoid a label.
    """
    scores, true = np.asarray(logits, np.float64), np.asarray(truth, bool)
    if scores.ndim != 2 or scores.shape != true.shape:
        raise ShapeError(
            "logits and truth must both be (documents, labels)",
            found=f"{scores.shape} and {true.shape}",
        )
    if not np.isfinite(scores).all():
        raise ShapeError("a score is not a number", found="NaN or infinity", allowed="numbers")
    rows = len(scores)
    before = _log_loss(scores, true, 1.0) if scores.size else None
    reason = _unfit_reason(scores, true)
    if reason is not None:
        return Temperature(1.0, reason, rows, before, before)
    value = likeliest_temperature(lambda t: _log_loss(scores, true, t), 1e-4)
    return Temperature(value, None, rows, before, _log_loss(scores, true, value))


def _log_loss(logits: FloatArray, truth: BoolArray, temperature: float) -> float:
    """Return the mean of log(1 + exp(-margin)) over cells, block by block."""
    step = max(1, CELLS_AT_ONCE // logits.shape[1])
    total = 0.0
    for start in range(0, len(logits), step):
        block = slice(start, start + step)
        scaled = logits[block] / temperature
        total += float(np.logaddexp(0.0, np.where(truth[block], -scaled, scaled)).sum())
    return total / logits.size


def _unfit_reason(logits: FloatArray, truth: BoolArray) -> str | None:
    if len(logits) < LEAST_ROWS:
        return f"only {len(logits)} rows to fit on; at least {LEAST_ROWS} are needed"
    if not truth.any():
        return "no row has a label"
    if truth.all():
        return "every row has every label"
    if not logits.any():
        return "the logits are all 0"
    if (np.where(truth, logits, -logits) > 0).all():
        return "every cell is answered right, so any sharper temperature looks better"
    return None
