"""Recurrent layers in both directions that never see padding."""

from typing import Literal

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """LSTM or GRU layers in both directions, (W, T, D) to (W, T, 2 x hidden).

    The backward direction reads each text from its own last token, which stands first in a turned
    copy; padding so comes last in both directions and reaches no state of a token. Packed
    sequences give the same, but on a processor an LSTM takes four to nine times as long with them.

    Args:
        cell: ``lstm`` or ``gru``.
        channels: Width of what comes in.
        hidden: Width of one direction.
        layers: Number of layers.
        dropout: Between layers.
    """

    def __init__(
        self,
        cell: Literal["lstm", "gru"],
        channels: int,
        hidden: int,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        widths = [channels] + [2 * hidden] * (layers - 1)
        self.width = 2 * hidden
        self.ahead = nn.ModuleList(kind(w, hidden, batch_first=True) for w in widths)
        self.back = nn.ModuleList(kind(w, hidden, batch_first=True) for w in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, T, H); mask (W, T) bool, padding on the right."""
        turn = turned(mask).unsqueeze(-1)
        states = vectors
        for number, (forth, back) in enumerate(zip(self.ahead, self.back, strict=True)):
            if number:
                states = self.dropout(states)
            onward = forth(states)[0]
            other = back(states.gather(1, turn.expand_as(states)))[0]
            states = torch.cat([onward, other.gather(1, turn.expand_as(other))], dim=-1)
        return states


def turned(mask: Tensor) -> Tensor:
    """Return the columns (W, T) that turn each row's real tokens round and leave padding."""
    columns = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    return torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - columns, columns)
