"""Losses of tags: cross-entropy over words, weighted and focal.

Letters: N words, K layers, C tags.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attending.parts.losses import require_complete
from attending.specs import TokenCrossEntropy

_TINY = torch.finfo(torch.float32).tiny

Counts = Sequence[Sequence[int]]
"""How many training words have each tag: K rows of C."""


class TokenCrossEntropyLoss(nn.Module):
    """Weighted mean of -w_c (1 - p_c)^gamma log p_c over words and layers.

    Args:
        weights: (K, C), or ``None`` for 1.
        gamma: How fast sure words fade (Lin et al. 2017); 0: off.
        lacks: What training needs that is not there.
    """

    copies = False
    weights: Tensor | None

    def __init__(
        self, weights: Tensor | None = None, gamma: float = 0.0, lacks: str | None = None
    ) -> None:
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.gamma, self.lacks = gamma, lacks

    def forward(self, logits: Tensor, targets: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the loss of logits (N, K, C) against tags (N, K); negative tags don't count."""
        require_complete(self.lacks)
        return weighted_mean(logits, targets, self.weights, self.gamma)


def weighted_mean(logits: Tensor, targets: Tensor, weights: Tensor | None, gamma: float) -> Tensor:
    """Return sum(w l) / sum(w) over words and layers whose target is not negative."""
    counted = targets >= 0
    known = targets.clamp(min=0).unsqueeze(-1)
    of_tag = log_loss(logits, gamma).gather(-1, known).squeeze(-1)
    share = torch.ones_like(of_tag) if weights is None else picked(weights, known)
    share = share * counted
    return (share * of_tag).sum() / share.sum().clamp(min=torch.finfo(share.dtype).tiny)


def log_loss(logits: Tensor, gamma: float) -> Tensor:
    """Return -(1 - p)^gamma log p of every tag, (N, K, C) in float32."""
    found = torch.log_softmax(logits.float(), dim=-1)
    # The floor keeps the slope finite where a tag is sure and gamma is below 1.
    return -found if not gamma else -found * (-torch.expm1(found)).clamp(min=_TINY) ** gamma


def picked(weights: Tensor, known: Tensor) -> Tensor:
    """Return the weights (K, C) of tags (N, K, 1), as (N, K)."""
    return weights.expand(len(known), -1, -1).gather(-1, known).squeeze(-1)


def tag_weights(kind: str, counts: Counts | None) -> tuple[Tensor | None, str | None]:
    """Return weights (K, C) or ``None``, and what is lacking where they can't be made.

    ``published``: 1 - N_c/N (the paper's section 3). It calls them inversely proportional to the
    frequency, but where most words are outside they are near 1 for every type, however rare.
    ``inverse``: N/N_c. Both are scaled, layer by layer, so that their mean over words is 1, which
    changes nothing in a weighted mean but keeps losses comparable. A tag without words gets 0.
    """
    if kind == "none":
        return None, None
    if counts is None:
        return None, "class weights need the tag counts of the training rows"
    found = torch.tensor(counts, dtype=torch.float64)
    total = found.sum(dim=1, keepdim=True)
    raw = 1 - found / total if kind == "published" else total / found.clamp(min=1)
    raw = raw * (found > 0)
    mean = (raw * found).sum(dim=1, keepdim=True) / total
    # A layer whose words all have one tag has nothing to weigh.
    return torch.where(mean > 0, raw / mean.clamp(min=1e-12), torch.ones_like(raw)).float(), None


def build_token_cross_entropy(
    spec: TokenCrossEntropy, *, counts: Counts | None = None, **_: object
) -> TokenCrossEntropyLoss:
    """Build the loss; ``counts`` are the tags' counts in the training rows."""
    weights, lacks = tag_weights(spec.class_weights, counts)
    return TokenCrossEntropyLoss(weights, spec.gamma, lacks)
