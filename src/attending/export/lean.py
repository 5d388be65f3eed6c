"""A pretrained encoder in a graph without what nobody needs there.

The result is the same up to rounding; what is saved:

- A head that reads [CLS] needs of the last layer one token. Its queries meet the layer's input by
  way of the key map, and the input's weighted mean goes through the value map, so that no token
  needs a key or a value of its own: (q W_k) x in place of q (W_k x).
- Labels' queries don't depend on the text, so what they are multiplied with is constant. Heads
  stand in one row each, zero but for their own part, so that nothing is transposed.
- Attention of all tokens is one operator of the ONNX standard, where the exporter would write ten,
  and the vectors of positions are one table where nothing but a token's place decides them.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from attending.models.network import Network
from attending.parts.attention import IMPLEMENTATION, AttentionCall, attend
from attending.parts.encoders import Encoder
from attending.parts.masking import mask_value

OPSET = 23
"""The version of the ONNX operators since which attention is one of them."""
_NAME = "attending-lean"
_SELF = ("query", "key", "value", "num_attention_heads", "attention_head_size", "scaling")
_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")


@contextmanager
def lean_encoder(network: Network) -> Iterator[None]:
    """Let a network's pretrained encoder compute no more than is read.

    Inside, if only the first token is read, all tokens of the last layer have its state. Encoders
    that are built otherwise than BERT keep what they have but for the mask; light ones stay as
    they are.
    """
    if not isinstance(network.encoder, Encoder):
        yield
        return
    encoder, model = network.encoder, network.encoder.model
    AttentionInterface.register(_NAME, attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(_NAME, _added_mask)
    with ExitStack() as stack:
        model.set_attn_implementation(_NAME)
        stack.callback(model.set_attn_implementation, IMPLEMENTATION)
        tables: Any = getattr(model, "embeddings", None)
        if all(hasattr(tables, name) for name in _TABLES):
            whole = LeanEmbeddings(tables, tables.forward, encoder.first_position)
            stack.enter_context(_instead(tables, whole))
        layers = _bert_layers(model)
        one = bool(getattr(network.label_attention, "reads_cls", False))
        for layer in layers:
            alone = one and layer is layers[-1]
            inner = layer.attention.self
            lean = LeanAttention(inner, alone, encoder.limits.positions)
            stack.enter_context(_instead(inner, lean))
            if alone:
                cut = layer.attention.output.register_forward_pre_hook(_first_of_each)
                spread = layer.register_forward_hook(_as_many_as_before)
                stack.callback(cut.remove)
                stack.callback(spread.remove)
        yield


@contextmanager
def whole_masks() -> Iterator[None]:
    """Give torch's attention masks of all query rows for a while.

    ONNX Runtime wants them so, where torch also takes one row that stands for all.
    """
    usual = functional.scaled_dot_product_attention

    def attend_whole(query: Tensor, key: Tensor, value: Tensor, *args: Any, **more: Any) -> Tensor:
        mask = args[0] if args else more.pop("attn_mask", None)
        if mask is not None:
            mask = mask.expand(*mask.shape[:-2], query.shape[-2], mask.shape[-1])
        return usual(query, key, value, mask, *args[1:], **more)

    functional.scaled_dot_product_attention = attend_whole
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = usual


def _bert_layers(model: Any) -> list[Any]:
    """Return the layers of a BERT-like encoder; none of one that is built otherwise."""
    layers = getattr(getattr(model, "encoder", None), "layer", None)
    found = list(layers) if isinstance(layers, nn.ModuleList) else []
    inner = [getattr(getattr(x, "attention", None), "self", None) for x in found]
    return found if all(hasattr(x, name) for x in inner for name in _SELF) else []


@contextmanager
def _instead(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let a module compute something else for a while."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward


def _first_of_each(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(states[:, :1] for states in inputs)


def _as_many_as_before(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    if isinstance(output, tuple):
        return (_as_many_as_before(module, inputs, output[0]), *output[1:])
    return output.expand(-1, inputs[0].shape[1], -1)


def _added_mask(
    batch_size: int, q_length: int, kv_length: int, attention_mask: Tensor, **_: Any
) -> Tensor:
    """Return what is added to scores (W, 1, T, T) for a mask of tokens (W, T)."""
    return _added(attention_mask.bool()[:, None, None]).expand(-1, -1, kv_length, -1)


def _added(mask: Tensor) -> Tensor:
    """Turn a mask of true and false into one that is added to scores.

    The exporter makes four operators of one that is true or false, to guard against rows without a
    token, which don't occur.
    """
    if mask.dtype != torch.bool:
        return mask
    kind = torch.get_default_dtype()
    return torch.zeros_like(mask, dtype=kind).masked_fill(~mask, mask_value(kind))


@dataclass(frozen=True, slots=True)
class LeanEmbeddings:
    """What stands in for the forward pass of a BERT-like encoder's embeddings.

    module: the embeddings. usual: their own forward pass. first: the first token's position.
    """

    module: Any
    usual: Callable[..., Tensor]
    first: int

    def __call__(self, input_ids: Tensor | None = None, **more: Any) -> Tensor:
        """Embed ids (W, T), of tokens at their usual places and of one text each; (W, T, E)."""
        if input_ids is None or more.get("position_ids") is not None:
            return self.usual(input_ids=input_ids, **more)
        m = self.module
        places = m.position_embeddings.weight[self.first :] + m.token_type_embeddings.weight[0]
        words: Tensor = m.word_embeddings(input_ids)
        return cast(Tensor, m.LayerNorm(words + places[: input_ids.shape[1]]))


@dataclass(frozen=True, slots=True)
class LeanAttention:
    """What stands in for the forward pass of a BERT-like layer's self-attention.

    Letters: W windows, T tokens, H width, h heads, R queries besides the first token's.

    module: the self-attention. alone: only the first token is read. longest: the most tokens of a
    text in a window.
    """

    module: Any
    alone: bool
    longest: int

    def __call__(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        *_: Any,
        call: AttentionCall | None = None,
        **__: Any,
    ) -> tuple[Tensor, None]:
        """Attend over states (W, T, H); returns as many, or the first one's (W, 1, H)."""
        x, m, mask = hidden_states, self.module, _added(attention_mask)
        labelled = call is not None and call.next_sees_labels()
        first = 1 + (call.inserted if call is not None and labelled else 0)
        rows = call.label_rows if call is not None and labelled else None
        trace = None if call is None else call.trace
        bias = call.bias if call is not None and labelled else None
        if self.alone:
            weights = self._weights(m.query(x[:, :first]), rows, x, mask, bias)
            if trace is not None:
                trace.cls.append(weights)
            return self._own(m.value(torch.matmul(weights, x))), None
        query, key, value = m.query(x), m.key(x), m.value(x)
        heads = m.num_attention_heads
        context = torch.onnx.ops.attention(
            query, key, value, mask, q_num_heads=heads, kv_num_heads=heads, scale=m.scaling
        )[0]
        if not labelled and trace is None:
            return context, None
        weights = self._weights(query[:, :first], rows, key, mask, bias)
        if trace is not None:
            trace.cls.append(weights)
        if not labelled:
            return context, None
        row = self._own(torch.matmul(weights, value))
        return torch.cat([row, context[:, 1:]], dim=1), None

    def _weights(
        self,
        asked: Tensor,
        labels: Tensor | None,
        keys: Tensor,
        mask: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        """Return the first token's weights (W, h, T) on tokens with ``keys`` (W, T, H).

        asked (W, R + 1, H): its query, and those of labels among the tokens. labels (R, H): label
        vectors apart from them. bias (W, R, T) is added to the scores of labels. Each of its cells
        but the first is the highest of all queries'.
        """
        scores = self._scores(asked[:, :1] * self._heads, keys)
        others = [asked[:, 1:]] if asked.shape[1] > 1 else []
        others += [] if labels is None else [self.module.query(labels).unsqueeze(0)]
        for queries in others:
            count = queries.shape[1]
            spread = (queries.unsqueeze(2) * self._heads).flatten(1, 2)  # (1 or W, R h, H)
            found = self._scores(spread, keys)
            found = found.reshape(found.shape[0], count, -1, keys.shape[1])
            highest = (found if bias is None else found + bias.unsqueeze(2)).amax(dim=1)
            itself = torch.zeros(self.longest + count)
            itself[0] = mask_value(itself.dtype)
            scores = torch.maximum(scores, highest + itself[: keys.shape[1]])
        return torch.softmax(scores + mask[:, 0, :1], dim=-1)

    def _scores(self, spread: Tensor, keys: Tensor) -> Tensor:
        """Score queries (1 or W, N, H) against keys (W, T, H), or what keys are made of."""
        m = self.module
        if not self.alone:
            return torch.matmul(spread, keys.transpose(1, 2))
        scores = torch.matmul(torch.matmul(spread, m.key.weight), keys.transpose(1, 2))
        if m.key.bias is None:
            return scores
        return scores + torch.matmul(spread, m.key.bias).unsqueeze(-1)

    @property
    def _heads(self) -> Tensor:
        """For each head, what its part of a query is multiplied by, and all others, (h, H)."""
        m = self.module
        own = torch.eye(m.num_attention_heads).repeat_interleave(m.attention_head_size, dim=1)
        return own * float(m.scaling)

    def _own(self, rows: Tensor) -> Tensor:
        """Of a row for each head (W, h, H) take the head's own part; returns (W, 1, H)."""
        return (rows * (self._heads != 0)).sum(dim=1, keepdim=True)
