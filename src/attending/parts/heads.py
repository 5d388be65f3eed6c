"""Heads: from pooled states to one raw score per label."""

import torch
from torch import Tensor, nn

from attending.parts.encoders import Encoder
from attending.records import LabelSet
from attending.specs import LinearHead


class Linear(nn.Module):
    """Optional dense tanh layer, dropout, one linear map: (N, H) to (N, L)."""

    def __init__(self, width: int, labels: int, dropout: float, dense: nn.Linear | None) -> None:
        super().__init__()
        self.dense = dense
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, labels)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, context: Tensor) -> Tensor:
        """Score contexts (N, H); returns logits (N, L)."""
        if self.dense is not None:
            context = torch.tanh(self.dense(context))
        logits: Tensor = self.out(self.dropout(context))
        return logits


def build_linear(spec: LinearHead, *, encoder: Encoder, labels: LabelSet, **_: object) -> Linear:
    """Build a linear head; its dense layer starts from the encoder's pretrained pooler if any."""
    dense = None
    if spec.dense:
        dense = nn.Linear(encoder.width, encoder.width)
        if encoder.pretrained_pooler is not None:
            dense.load_state_dict(encoder.pretrained_pooler.state_dict())
        else:
            nn.init.normal_(dense.weight, std=0.02)
            nn.init.zeros_(dense.bias)
    return Linear(encoder.width, len(labels), spec.dropout, dense)
