"""The one masked softmax, and the mask value that fits a number type."""

import torch
from torch import Tensor

from attending.errors import ShapeError


def mask_value(dtype: torch.dtype) -> float:
    """Return the most negative finite number of a type: a mask that half precision can hold."""
    return float(torch.finfo(dtype).min)


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Softmax over the true positions of a mask; exactly zero elsewhere.

    scores (...) of any float type; mask, broadcastable to scores, bool, true where a score
    counts. Computed in float32 and returned in the type of ``scores``.

    Raises:
        ShapeError: If the mask is not bool.
    """
    if mask.dtype != torch.bool:
        raise ShapeError("a mask must be bool", found=str(mask.dtype), allowed="torch.bool")
    hidden = ~mask
    filled = scores.masked_fill(hidden, mask_value(scores.dtype))
    weights = torch.softmax(filled, dim=dim, dtype=torch.float32)
    return weights.masked_fill(hidden, 0.0).to(scores.dtype)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over real tokens: states (W, T, H), mask (W, T) bool; returns (W, H)."""
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
