"""Windows laid out as whole documents, and their logits merged.

Letters: W windows of T cells, B documents of S columns, L labels, H wide states.
"""

import torch
from torch import Tensor

from attending.tensors import TokenStates


def join(tokens: TokenStates, layout: Tensor) -> TokenStates:
    """Lay the windows' states (W, T, H) out as whole documents (B, S, H); see ``Batch.layout``."""
    flat = tokens.states.flatten(0, 1)
    mask = layout >= 0
    states = flat[layout.clamp(min=0)] * mask.unsqueeze(-1)
    return TokenStates(states, mask)


def laid_out(words: Tensor, layout: Tensor) -> Tensor:
    """Lay the words under the windows' tokens (W, T) out as whole documents (B, S); 0 for none."""
    return words.flatten()[layout.clamp(min=0)] * (layout >= 0)


def pool_windows(logits: Tensor, document: Tensor, size: int, how: str) -> Tensor:
    """Merge the logits of a document's windows, (W, L) to (B, L), by maximum or mean.

    Source: maximum over windows, as in the public code of label-description attention.
    """
    if len(logits) == size:
        return logits
    index = document.unsqueeze(1).expand_as(logits)
    out = torch.zeros(size, logits.shape[1], dtype=logits.dtype, device=logits.device)
    reduce = "amax" if how == "max" else "mean"
    return out.scatter_reduce(0, index, logits, reduce, include_self=False)
