"""Recurrent layers as one operator of ONNX each, for texts of any length.

The exporter would unroll a layer over the tokens of its example.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attending.errors import ModelError

# PyTorch stacks gates as input, forget, cell, output and as reset, update, new; ONNX as input,
# output, forget, cell and as update, reset, hidden.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
_OPSET = 20


class Cell(nn.Module):
    """One layer in one direction as ONNX has it; takes and gives what ``nn.LSTM`` does.

    Args:
        layer: An ``nn.LSTM`` or ``nn.GRU`` of one layer and one direction, batch first.
    """

    weights: Tensor
    recurrent: Tensor
    biases: Tensor

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.kind, self.hidden = layer.mode, layer.hidden_size
        order = _GATES[self.kind]
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        given = [layer.get_parameter(name).detach() for name in names]
        first, second, *biases = (_reordered(p, order) for p in given)
        self.register_buffer("weights", first[None])
        self.register_buffer("recurrent", second[None])
        self.register_buffer("biases", torch.cat(biases)[None])

    def forward(self, states: Tensor) -> tuple[Tensor, None]:
        """Return states (W, T, hidden) of states (W, T, C), and nothing of the last ones."""
        attributes: dict[str, Any] = {"hidden_size": self.hidden}
        if self.kind == "GRU":
            attributes["linear_before_reset"] = 1  # as cuDNN and PyTorch do
        first = states.transpose(0, 1)
        found = torch.onnx.ops.symbolic(
            self.kind,
            (first, self.weights, self.recurrent, self.biases),
            attributes,
            dtype=states.dtype,
            shape=(first.shape[0], 1, first.shape[1], self.hidden),
            version=_OPSET,
        )
        return found.squeeze(1).transpose(0, 1), None


def _reordered(parameter: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return a parameter (gates x N, ...) with its gates in another order."""
    gates = parameter.chunk(len(order))
    return torch.cat([gates[i] for i in order]).contiguous()


@contextmanager
def recurrent_operators(network: nn.Module) -> Iterator[None]:
    """Put ``Cell`` in the place of every recurrent layer of a network, and take it out again.

    Raises:
        ModelError: If a layer is of a form that none of our parts has.
    """
    found = [(m, name, c) for m in network.modules() for name, c in m.named_children()
             if isinstance(c, nn.RNNBase)]  # fmt: skip
    for _, name, layer in found:
        plain = layer.num_layers == 1 and not layer.bidirectional and layer.batch_first
        if layer.mode not in _GATES or not plain or not layer.bias or layer.proj_size:
            raise ModelError(
                f'its recurrent layer "{name}" has no operator of ONNX here',
                found=f"{layer.mode}, {layer.num_layers} layers",
                allowed="LSTM or GRU of one layer and one direction, batch first, with biases",
            )
    try:
        for parent, name, layer in found:
            setattr(parent, name, Cell(layer))
        yield
    finally:
        for parent, name, layer in found:
            setattr(parent, name, layer)
