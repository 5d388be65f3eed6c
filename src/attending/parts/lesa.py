"""LESA: label embeddings inside self-attention (Si et al. 2020), without forked model code.

In every chosen layer the [CLS] row takes, per head and per column after the first, the maximum
of its own score and the scores of all label queries. Labels are queries only: they add no keys
and no values, and no other row changes.
"""

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.attention import AttentionCall
from attending.parts.encoders import Encoder
from attending.specs import LesaAttention
from attending.tensors import Attended, AttentionTrace, LabelStates


class StaticLesa(nn.Module):
    """The paper's form: the same label vectors are queries in every chosen layer.

    Args:
        layers: Layers that see labels; ``None`` means all.
    """

    reads_cls = True
    takes_bias = True

    def __init__(self, layers: frozenset[int] | None) -> None:
        super().__init__()
        self.layers = layers

    def forward(
        self,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
        bias: Tensor | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), with labels (L, H); returns [CLS], (W, H).

        With no label at all the result is the plain encoder's, bit for bit. bias (W, L, T), such
        as what is planted, is added to the labels' scores in every layer.
        """
        rows = None if labels is None or not len(labels.states) else labels.states
        call = AttentionCall(mask=mask, label_rows=rows, layers=self.layers, trace=trace, bias=bias)
        return Attended(encoder(ids, mask, call).states[:, 0])


class InsertedLesa(StaticLesa):
    """The published runs' form: labels are tokens after [CLS] that every layer transforms.

    [CLS] and words see [CLS] and words; a label sees the words and itself; nothing sees a label.
    All labels share the first token's position. So a label's query depends on the document from
    the second layer on, where in the static form it never does.
    Source: public code of Si et al. 2020, the modelling file of the triage runs.
    """

    def forward(
        self,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
        bias: Tensor | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), with labels (L, H); returns [CLS], (W, H)."""
        if labels is None or not len(labels.states):
            return super().forward(encoder, ids, mask, labels, trace, bias)
        count = len(labels.states)
        words = encoder.word_embeddings(ids)
        rows = labels.states.to(words.dtype).expand(ids.shape[0], -1, -1)
        embedded = torch.cat([words[:, :1], rows, words[:, 1:]], dim=1)
        start = encoder.first_position
        positions = torch.arange(start, start + ids.shape[1], device=ids.device)
        positions = torch.cat([positions[:1].expand(1 + count), positions[1:]])
        none = mask.new_zeros(mask.shape[0], count)
        keys = torch.cat([mask[:, :1], none, mask[:, 1:]], dim=1)
        if trace is not None:
            trace.inserted = count
        if bias is not None:  # labels are columns, too, which nothing is planted on
            free = bias.new_zeros(*bias.shape[:2], count)
            bias = torch.cat([bias[..., :1], free, bias[..., 1:]], dim=2)
        call = AttentionCall(mask=keys, inserted=count, layers=self.layers, trace=trace, bias=bias)
        tokens = encoder(
            None,
            inserted_mask(keys, count),
            call,
            embeddings=embedded,
            positions=positions.expand(ids.shape[0], -1),
        )
        return Attended(tokens.states[:, 0])


def inserted_mask(keys: Tensor, count: int) -> Tensor:
    """Return who sees whom, (W, 1, T, T) bool, with ``count`` labels after [CLS].

    keys (W, T) bool is true on [CLS] and real words, false on labels and padding.
    """
    total = keys.shape[1]
    sees = keys[:, None, None, :].expand(-1, 1, total, total).clone()
    labels = torch.arange(1, 1 + count, device=keys.device)
    sees[:, :, labels, 0] = False
    sees[:, :, labels, labels] = True
    return sees


def build_lesa(spec: LesaAttention, *, encoder: Encoder, **_: object) -> StaticLesa:
    """Build label attention inside self-attention.

    Raises:
        RecipeError: If the encoder has no attention, a layer doesn't exist, or the encoder can't
            take inserted labels.
    """
    if not encoder.takes_labels:
        raise RecipeError(
            'label_attention "lesa" works inside self-attention, which the encoder lacks',
            where=f"encoder {encoder.name}",
            step="Use a pretrained encoder, or another label_attention.",
        )
    layers = None
    if spec.layers != "all":
        wrong = [i for i in spec.layers if not -encoder.layers <= i < encoder.layers]
        if wrong:
            raise RecipeError(
                f"label_attention.layers: no layer {wrong[0]}",
                allowed=f"{-encoder.layers} to {encoder.layers - 1}",
            )
        layers = frozenset(i % encoder.layers for i in spec.layers)
    if spec.labels == "static":
        return StaticLesa(layers)
    if encoder.width != encoder.word_embeddings.embedding_dim:
        raise RecipeError(
            "label_attention.labels = inserted needs word embeddings as wide as the states",
            where=encoder.name,
            found=f"{encoder.word_embeddings.embedding_dim} and {encoder.width}",
            step="Use labels = static.",
        )
    return InsertedLesa(layers)
