"""Self-attention of the library's encoders, with one row of it open to labels.

An attention function is registered with transformers under ``attending``. It runs the fused
scaled-dot-product attention for all rows; only if a call asks for it, the [CLS] row is computed
once more, with label queries beside its own. Without labels the fused result is returned as it
is, so nothing off equals the plain encoder bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask

from attending.parts.masking import mask_value, masked_softmax
from attending.tensors import AttentionTrace

IMPLEMENTATION = "attending"
UNFUSED_TOKENS = 512
"""Up to this many tokens, training on a CPU uses plain products; longer, their scores, which are
kept for the backward pass, would need too much memory."""
GROUP_BYTES = 8 * 2**20
"""Scores of about this size are made, used and left at a time, so that they stay in the cache.

With 12 heads of width 32 in bfloat16 on one core, forward and backward together take 0.2 to 0.5
of the fused kernel's time at 64 to 512 tokens, and 0.2 of that of plain products over the whole
batch at 256.
"""


@dataclass(slots=True)
class AttentionCall:
    """What one forward pass asks of every attention layer.

    mask: (W, T) bool, true on real tokens.
    label_rows: (L, H) label vectors, the same for every layer, or ``None``.
    inserted: number of label tokens that stand right after [CLS] in the sequence; their own
        rows of the layer take the place of ``label_rows``.
    layers: which layers see labels; ``None`` means all.
    bias: (W, L, T) what is added to the labels' scores in every layer and head, or ``None``.
    trace: where to record the [CLS] row, or ``None``.
    layer: how many layers have run, counted during the pass.
    """

    mask: Tensor
    label_rows: Tensor | None = None
    inserted: int = 0
    layers: frozenset[int] | None = None
    trace: AttentionTrace | None = None
    layer: int = 0
    bias: Tensor | None = None

    def next_sees_labels(self) -> bool:
        """Say whether the layer that runs now sees labels, and count it."""
        sees = self.layers is None or self.layer in self.layers
        self.layer += 1
        return sees and (self.label_rows is not None or self.inserted > 0)

    def part(self, rows: Tensor, width: int) -> "AttentionCall":
        """Return the same of some windows, rows (w,) int64, up to a width; it has its own trace."""
        bias = None if self.bias is None else self.bias[rows, :, :width]
        trace = None if self.trace is None else AttentionTrace()
        return replace(self, mask=self.mask[rows, :width], bias=bias, trace=trace, layer=0)

    def record(self, parts: Sequence[AttentionTrace | None], order: Tensor) -> None:
        """Put what parts recorded into one; ``order`` (W,) brings their windows into order."""
        if self.trace is None:
            return
        traces = [trace for trace in parts if trace is not None]
        width = self.mask.shape[1]
        self.trace.cls += _merged([t.cls for t in traces], width, order)
        self.trace.labels += _merged([t.labels for t in traces], width, order)


def _merged(parts: Sequence[list[Tensor]], width: int, order: Tensor) -> list[Tensor]:
    """Join each layer's weights (w, ..., t) of parts: (W, ..., T), 0 beyond a part's columns."""
    return [
        torch.cat([nn.functional.pad(x, (0, width - x.shape[-1])) for x in layer])[order]
        for layer in zip(*parts, strict=True)
    ]


def label_queries(module: Any, label_rows: Tensor, heads: int) -> Tensor:
    """Project label vectors (L, H) with a layer's own query map; returns (heads, L, d)."""
    project = module.query if hasattr(module, "query") else module.q_lin
    queries: Tensor = project(label_rows)
    return queries.view(len(label_rows), heads, -1).transpose(0, 1)


def cls_scores(
    queries: Tensor, key: Tensor, mask: Tensor, scaling: float, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Score [CLS] and labels against all keys and merge them into one row.

    queries (W, heads, 1+L, d), the first is [CLS]'s; key (W, heads, T, d); mask (W, T) bool; bias
    (W, L, T) is added to the scores of labels. Returns the merged row (W, heads, T) and all scores
    (W, heads, 1+L, T). Both are scaled once and masked before the maximum; column 0, [CLS] itself,
    keeps its own score.
    Source: Si et al. 2020, equations 7-10. Deviation: equation 8 divides the label scores by
    sqrt(d) and equation 10 divides again; here all scores are divided once, the only reading
    under which the maximum compares like with like.
    """
    scores = torch.matmul(queries, key.transpose(-1, -2)) * scaling
    if bias is not None:
        planted = scores[:, :, 1:] + bias.unsqueeze(1).to(scores.dtype)
        scores = torch.cat([scores[:, :, :1], planted], dim=2)
    scores = scores.masked_fill(~mask[:, None, None], mask_value(scores.dtype))
    merged = torch.cat([scores[:, :, 0, :1], scores[..., 1:].amax(dim=2)], dim=-1)
    return merged, scores


def unfused(
    query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float
) -> Tensor:
    """Scaled dot-product attention in plain matrix products, a few windows at a time.

    query, key, value (W, heads, T, d); attention_mask (W, 1, T, T) bool or ``None``, with at
    least one true column in each row. Returns context (W, T, heads, d).
    """
    windows, heads, tokens, _ = query.shape
    cells = heads * tokens * key.shape[2] * query.element_size()
    group = max(1, min(windows, GROUP_BYTES // max(1, cells)))
    queries, keys, values = (torch.split(x, group) for x in (query, key, value))
    masks: Sequence[Tensor | None] = [None] * len(queries)
    if attention_mask is not None:
        masks = torch.split(attention_mask, group)
    contexts = [
        _products(q, k, v, mask, scaling)
        for q, k, v, mask in zip(queries, keys, values, masks, strict=True)
    ]
    return torch.cat(contexts).transpose(1, 2).contiguous()


def _products(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
) -> Tensor:
    scores = torch.matmul(query * scaling, key.transpose(-1, -2))
    if mask is not None:
        # Half of the least number: a sum with it never overflows, its exponential is exactly zero.
        far = mask_value(scores.dtype) / 2
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, far)
    return torch.matmul(torch.softmax(scores, dim=-1).to(value.dtype), value)


def _training_step(module: nn.Module, query: Tensor, dropout: float) -> bool:
    """Say whether plain products pay: the fused kernel's backward pass is slow on a CPU."""
    return (
        module.training
        and dropout == 0.0
        and query.device.type == "cpu"
        and query.shape[2] <= UNFUSED_TOKENS
        and torch.is_grad_enabled()
    )


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    call: AttentionCall | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention of one layer, as transformers calls it.

    query, key, value (W, heads, T, d). Returns context (W, T, heads, d).
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    if _training_step(module, query, dropout):
        context = unfused(query, key, value, attention_mask, scale)
    else:
        context, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scale, **kwargs
        )
    if call is None:
        return context, None
    sees_labels = call.next_sees_labels()
    if not sees_labels and call.trace is None:
        return context, None
    queries = query[:, :, : 1 + (call.inserted if sees_labels else 0)]
    if sees_labels and call.label_rows is not None:
        rows = label_queries(module, call.label_rows, query.shape[1])
        queries = torch.cat(
            [queries, rows.to(query.dtype).expand(query.shape[0], -1, -1, -1)], dim=2
        )
    merged, scores = cls_scores(queries, key, call.mask, scale, call.bias if sees_labels else None)
    weights = masked_softmax(merged, call.mask[:, None])
    if call.trace is not None:
        call.trace.cls.append(weights)
        call.trace.labels.append(masked_softmax(scores[:, :, 1:], call.mask[:, None, None]))
        if not sees_labels and not torch.is_grad_enabled():
            return context, None  # recording alone changes nothing, bit for bit
    dropped = nn.functional.dropout(weights, p=dropout, training=module.training)
    row = torch.matmul(dropped.unsqueeze(2), value).transpose(1, 2)
    return torch.cat([row.to(context.dtype), context[:, 1:]], dim=1), None


AttentionInterface.register(IMPLEMENTATION, attend)
ALL_MASK_ATTENTION_FUNCTIONS.register(IMPLEMENTATION, sdpa_mask)
