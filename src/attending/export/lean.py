"""A pretrained encoder's attention and last layer without what nobody needs in a graph.

- A head that reads [CLS] needs the last layer's keys and values of every token, but its attention
  and its feed-forward network of one. In a three-layer encoder this saves a quarter of all
  products, and the result is the same.
- A mask that is added to scores is one operator a layer. The exporter makes four of one that is
  true or false, to guard against rows without a token, which don't occur.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask

from attending.models.network import Network
from attending.parts.attention import IMPLEMENTATION, AttentionCall, attend
from attending.parts.encoders import Encoder
from attending.parts.masking import mask_value

_NAME = "attending-lean"


@contextmanager
def lean_encoder(network: Network) -> Iterator[None]:
    """Let a network's pretrained encoder compute no more than is read.

    Inside, if only the first token is read, all tokens of the last layer have its state. Encoders
    whose layers are built otherwise than BERT's keep their last layer; light ones stay as they are.
    """
    if not isinstance(network.encoder, Encoder):
        yield
        return
    model, layer = network.encoder.model, _last_layer(network)
    AttentionInterface.register(_NAME, _attention(None if layer is None else layer.attention.self))
    ALL_MASK_ATTENTION_FUNCTIONS.register(_NAME, sdpa_mask)
    with ExitStack() as stack:
        model.set_attn_implementation(_NAME)
        stack.callback(model.set_attn_implementation, IMPLEMENTATION)
        if layer is not None:
            before = layer.attention.output.register_forward_pre_hook(_first_of_each)
            after = layer.register_forward_hook(_as_many_as_before)
            stack.callback(before.remove)
            stack.callback(after.remove)
        yield


def _last_layer(network: Network) -> Any | None:
    """Return the last layer of a BERT-like encoder of which only the first token is read."""
    if not getattr(network.label_attention, "reads_cls", False):
        return None
    layers = getattr(getattr(network.encoder.model, "encoder", None), "layer", None)
    last = layers[-1] if isinstance(layers, nn.ModuleList) and len(layers) else None
    attention = getattr(last, "attention", None)
    return last if hasattr(attention, "self") and hasattr(attention, "output") else None


def _attention(last: nn.Module | None) -> Any:
    def attend_lean(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        call: AttentionCall | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, None]:
        """Attend as ever; in the last layer from [CLS], and labels after it, alone."""
        tokens = query.shape[2]
        if module is last:
            rows = 1 + (0 if call is None else call.inserted)
            query = query[:, :, :rows]
            attention_mask = None if attention_mask is None else attention_mask[:, :, :rows]
        if attention_mask is not None and attention_mask.dtype == torch.bool:
            shown = torch.zeros_like(attention_mask, dtype=query.dtype)
            attention_mask = shown.masked_fill(~attention_mask, mask_value(query.dtype))
        found, _ = attend(module, query, key, value, attention_mask, call=call, **kwargs)
        return (found[:, :1].expand(-1, tokens, -1, -1) if module is last else found), None

    return attend_lean


def _first_of_each(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(states[:, :1] for states in inputs)


def _as_many_as_before(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    if isinstance(output, tuple):
        return (_as_many_as_before(module, inputs, output[0]), *output[1:])
    return output.expand(-1, inputs[0].shape[1], -1)
