"""AWD-LSTM: layers of an LSTM, left to right, with weights and whole columns dropped."""

from itertools import pairwise

from torch import Tensor, nn
from torch.func import functional_call


class AwdLstm(nn.Module):
    """LSTM layers whose dropout holds still over a text, (W, T, D) to (W, T, H).

    Merity, Keskar, Socher 2018, section 4: DropConnect on the weights between hidden states, once
    a batch; and locked dropout, one mask for all tokens of a text, on what goes into each layer.
    Deviations: dropping whole word types and tied language-model weights are left out, as no
    language model is trained here; the last layer's output is dropped by the same rate as the
    others. Left to right, so padding on the right reaches no token.

    Args:
        channels: D, width of what comes in.
        hidden: Width of all layers but the last.
        width: H, width of the last layer.
        layers: Number of layers.
        hidden_dropout: On what goes from a layer to the next, and out of the last.
        input_dropout: On what comes in.
        weight_dropout: On the weights between hidden states.
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        width: int,
        layers: int = 3,
        *,
        hidden_dropout: float = 0.0,
        input_dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        widths = [channels, *[hidden] * (layers - 1), width]
        self.width = width
        self.layers = nn.ModuleList(nn.LSTM(a, b, batch_first=True) for a, b in pairwise(widths))
        self.hidden_dropout = hidden_dropout
        self.input_dropout = input_dropout
        self.weight_dropout = weight_dropout

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, T, H); mask (W, T) bool, padding on the right."""
        states = self._locked(vectors, self.input_dropout)
        for layer in self.layers:
            states = self._locked(self._layer(layer, states), self.hidden_dropout)
        return states

    def _layer(self, layer: nn.Module, states: Tensor) -> Tensor:
        if not self.training or not self.weight_dropout:
            return layer(states)[0]  # type: ignore[no-any-return]
        weight = layer.weight_hh_l0
        dropped = nn.functional.dropout(weight, self.weight_dropout)  # type: ignore[arg-type]
        return functional_call(layer, {"weight_hh_l0": dropped}, (states,))[0]  # type: ignore[no-any-return]

    def _locked(self, states: Tensor, share: float) -> Tensor:
        """Drop the same columns of a text's states at every token."""
        if not self.training or not share:
            return states
        keep = states.new_empty(len(states), 1, states.shape[2]).bernoulli_(1 - share)
        return states * (keep / (1 - share))
