"""Heads of tagging: from the states of words to scores of tags.

Letters: N words, H width, L types, K layers, C tags, S tags of a type.
"""

import torch
from torch import Tensor, nn

from attending.parts.encoders import AnyEncoder
from attending.parts.masking import masked_softmax
from attending.specs import TokenLabelHead, TokenLinearHead
from attending.tags import TagSet
from attending.tensors import LabelStates


class TokenLinear(nn.Module):
    """Dropout and one linear map: (N, H) to (N, K, C)."""

    def __init__(self, width: int, tags: TagSet, dropout: float) -> None:
        super().__init__()
        self.shape = tags.shape
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, self.shape[0] * self.shape[1])
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, states: Tensor, labels: LabelStates | None = None) -> Tensor:
        """Score words (N, H); returns logits (N, K, C)."""
        logits: Tensor = self.out(self.dropout(states))
        return logits.view(-1, *self.shape)


class TokenLabel(nn.Module):
    """Scores of a word's tags from what the labels mean.

    First, the word attends over the L labels and a learned "none of them", and adds what it found
    to its state (normalised). Then tag s of type l scores (M_s h) . u_l / sqrt(H) + b_s, with u_l
    the label's vector; the outside scores w . h + b. As M is shared by all types, what is learned
    of one helps the others, and a type with three examples is found by its name. Each tag's own
    weights, which start at zero, add what the meaning can't say.

    Source: ours; the comparison follows MSMN (Yuan et al. 2022, equation 8), the attention LAME.

    Args:
        width: H of words and of label vectors.
        tags: The tags.
        dropout: On states.
        attend: Whether words attend over labels.
        own: Whether tags have weights of their own.
    """

    def __init__(self, width: int, tags: TagSet, dropout: float, attend: bool, own: bool) -> None:
        super().__init__()
        self.tags, self.scale = tags, width**-0.5
        self.dropout = nn.Dropout(dropout)
        self.maps = nn.Linear(width, tags.states * width, bias=False)
        self.bias = nn.Parameter(torch.zeros(tags.states))
        self.outside = nn.Linear(width, 1)
        self.own = nn.Linear(width, len(tags.labels) * tags.states) if own else None
        self.query = nn.Linear(width, width) if attend else None
        self.value = nn.Linear(width, width) if attend else None
        self.none = nn.Parameter(torch.zeros(width)) if attend else None
        self.norm = nn.LayerNorm(width) if attend else None
        nn.init.normal_(self.outside.weight, std=0.02)
        nn.init.zeros_(self.outside.bias)
        if self.own is not None:
            nn.init.zeros_(self.own.weight)
            nn.init.zeros_(self.own.bias)

    def forward(self, states: Tensor, labels: LabelStates) -> Tensor:
        """Score words (N, H) against labels (L, H); returns logits (N, K, C)."""
        vectors = labels.states
        states = self._attended(self.dropout(states), vectors)
        mapped = self.maps(states).unflatten(-1, (self.tags.states, -1))
        scores = torch.einsum("nsh,lh->nls", mapped, vectors) * self.scale + self.bias
        if self.own is not None:
            scores = scores + self.own(states).unflatten(-1, (-1, self.tags.states))
        outside = self.outside(states)
        if self.tags.layered:
            beyond = outside.unsqueeze(1).expand(-1, len(vectors), -1)
            return torch.cat([beyond, scores], dim=-1)
        return torch.cat([outside, scores.flatten(1)], dim=-1).unsqueeze(1)

    def _attended(self, states: Tensor, vectors: Tensor) -> Tensor:
        """Add to states (N, H) what they find among the labels (L, H)."""
        if self.query is None or self.value is None or self.norm is None or self.none is None:
            return states
        keys = torch.cat([vectors, self.none.to(vectors.dtype).unsqueeze(0)])
        scores = self.query(states) @ keys.T * self.scale
        weights = masked_softmax(scores, torch.ones_like(scores, dtype=torch.bool))
        found: Tensor = self.norm(states + weights[:, :-1] @ self.value(vectors))
        return found


def build_token_linear(
    spec: TokenLinearHead, *, encoder: AnyEncoder, tags: TagSet, **_: object
) -> TokenLinear:
    """Build a linear head."""
    return TokenLinear(encoder.width, tags, spec.dropout)


def build_token_label(
    spec: TokenLabelHead, *, encoder: AnyEncoder, tags: TagSet, **_: object
) -> TokenLabel:
    """Build a head that compares words with labels."""
    return TokenLabel(encoder.width, tags, spec.dropout, spec.attend, spec.own)
