"""Labels that start from what they mean: cosines of label vectors, in attention and as scores.

An encoder of sentences puts a text near a description of it before anybody has trained it for
that. So each label attends to the tokens that are like its description, and its score starts at
how like the description the found context is; training moves both.

Letters: B documents (or windows), T tokens, l labels of a chunk, L all labels, H width.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.parts.encoders import Encoder
from attending.parts.heads import ALL, require_same_width
from attending.parts.label_attention import Prepared, Softmax
from attending.records import LabelSet
from attending.specs import CosineAttention, CosineHead
from attending.tensors import LabelStates, TokenStates


def unit(vectors: Tensor) -> Tensor:
    """Return vectors (..., H) at length 1, in float32; those of length 0 stay 0."""
    return functional.normalize(vectors.float(), dim=-1)


class Cosine(Softmax):
    """Softmax over the cosines of a label's vector and the token states, over a temperature.

    Source: LEAM (Wang et al. 2018), section 3, whose compatibility of labels and words is this
    cosine. Deviations: tokens are the encoder's states, so no convolution gathers their
    neighbours; every label has a softmax and a context of its own, where LEAM takes the highest
    cosine of all labels and makes one context; the temperature is ours. Padding is masked.
    """

    def __init__(self, width: int, temperature: float) -> None:
        super().__init__(width, 1 / temperature)

    def prepare(self, tokens: TokenStates) -> Prepared:
        """Return token states at length 1 as keys, and as they are as values."""
        return Prepared(unit(tokens.states), tokens.states.float(), tokens.mask)

    def queries(self, labels: LabelStates) -> Tensor:
        """Return the label vectors (l, H) at length 1."""
        return unit(super().queries(labels))


class CosineMatch(nn.Module):
    """a (cos(v_l, u_l) - m_l) + w_l . v_l + b_l: what a label means, and what its examples add.

    m_l is the mean cosine of training rows before training (``measuring``): some descriptions are
    like every text. a starts at one over the temperature and is learned, w_l starts at 0; so a
    label without an example is scored by its meaning alone.
    Source: the cosine over a learned temperature is the score of CLIP (Radford et al. 2021,
    section 2.3); means, vectors and biases are ours.

    Args:
        width: H of contexts and of label vectors.
        labels: L.
        temperature: Of the cosines, where training starts.
        dropout: On the contexts that w meets.
        vectors: Whether there are w.
    """

    per_label = True
    means: Tensor

    def __init__(
        self, width: int, labels: int, temperature: float, dropout: float, vectors: bool
    ) -> None:
        super().__init__()
        self.width, self.temperature = width, temperature
        self.scale = nn.Parameter(torch.ones(()))
        """a, as a multiple of one over the temperature."""
        self.vectors = nn.Parameter(torch.zeros(labels, width)) if vectors else None
        self.biases = nn.Parameter(torch.zeros(labels))
        self.register_buffer("means", torch.zeros(labels))
        self.dropout = nn.Dropout(dropout)
        self._seen: tuple[Tensor, Tensor] | None = None

    def silence(self) -> None:
        """Start from logits of 0."""
        nn.init.zeros_(self.scale)

    def start_at(self, logits: Tensor) -> None:
        """Start from logits (L,) for a text that is as like a label as training rows are."""
        self.biases.data.copy_(logits)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Take the means of the cosines that are seen inside; labels that see none keep theirs."""
        self._seen = torch.zeros_like(self.means), torch.zeros_like(self.means)
        try:
            yield
            total, count = self._seen
            found = total / count.clamp(min=1)
            self.means.copy_(torch.where(count > 0, found, self.means))
        finally:
            self._seen = None

    def forward(self, context: Tensor, labels: LabelStates, which: slice | Tensor = ALL) -> Tensor:
        """Score contexts (B, l, H) against labels (l, H); returns logits (B, l).

        Raises:
            ShapeError: If contexts and labels are of different width.
        """
        require_same_width("cosine", context, labels)
        cosines = (unit(context) * unit(labels.states)).sum(dim=-1)
        if self._seen is not None:
            total, count = self._seen
            total[which] += cosines.detach().sum(dim=0)
            count[which] += len(cosines)
        logits = (cosines - self.means[which]) * (self.scale / self.temperature)
        if self.vectors is not None:
            own = self.vectors[which]
            logits = logits + torch.einsum("blh,lh->bl", self.dropout(context.float()), own)
        return logits + self.biases[which]


def build_cosine(spec: CosineAttention, *, encoder: Encoder, **_: object) -> Cosine:
    """Build cosine label attention as wide as the encoder."""
    return Cosine(encoder.width, spec.temperature)


def build_cosine_match(
    spec: CosineHead, *, encoder: Encoder, labels: LabelSet, width: int | None = None, **_: object
) -> CosineMatch:
    """Build the comparison of contexts, ``width`` wide, with label vectors of the encoder's."""
    return CosineMatch(
        width or encoder.width, len(labels), spec.temperature, spec.dropout, spec.vectors
    )
