"""Label attention, label by label: every label pools the token states for itself.

A part is called in two steps, so that memory stays flat in the number of labels: ``prepare`` does
once per batch what no label changes, ``forward`` attends for some labels at a time. No part holds
a parameter per label: label vectors come from the ``label_states`` slot.

Letters: B documents (or windows), T tokens, l labels of a chunk, H width of a token state.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attending.errors import ShapeError
from attending.parts.encoders import Encoder
from attending.parts.masking import masked_softmax
from attending.specs import ProjectedAttention, SoftmaxAttention
from attending.tensors import Attended, LabelStates, TokenStates

LAAT_SPREAD = 0.03
"""Standard deviation of LAAT's starting weights (public code)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What labels attend to: keys (B, T, K), values (B, T, H), mask (B, T) bool.

    ``groups`` (B, G) are the logits of groups of labels, from parts that score those first.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor
    groups: Tensor | None = None


class LabelWise(nn.Module):
    """Base of the parts that attend label by label.

    Attributes:
        width: H', the width of a label's context.
        label_width: The width that label vectors must have.
        reads_tokens: Whether labels must come token by token.
        has_weights: Whether there are attention weights to show.
        takes_bias: Whether ``forward`` takes scores to add to its own before the softmax.
    """

    per_label = True
    reads_cls = False
    reads_tokens = False
    has_weights = True
    takes_bias = False
    width: int
    label_width: int

    def queries(self, labels: LabelStates) -> Tensor:
        """Return the label vectors (l, label_width).

        Raises:
            ShapeError: If they are of another width.
        """
        if labels.states.shape[1] != self.label_width:
            raise ShapeError(
                "the label vectors don't fit the label attention",
                found=f"width {labels.states.shape[1]}",
                allowed=f"width {self.label_width}",
                step="Learned label states take any width; described ones have the encoder's.",
            )
        return labels.states


def attend(
    queries: Tensor, prepared: Prepared, scale: float = 1.0, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Pool values by masked softmax of queries (l, K) times keys, plus a bias (B, l, T) if any.

    Returns context (B, l, H) and weights (B, l, T), which sum to 1 over real tokens. The softmax
    subtracts the largest score and runs in float32, so that large scores don't overflow.
    """
    scores = torch.matmul(queries * scale, prepared.keys.transpose(1, 2))
    scores = scores if bias is None else scores + bias
    weights = masked_softmax(scores, prepared.mask.unsqueeze(1))
    return torch.matmul(weights, prepared.values), weights


class Softmax(LabelWise):
    """Dot products of label vectors and token states, softmax over real tokens.

    Source: CAML (Mullenbach et al. 2018). With described labels it is the
    sibling of position-bilinear attention whose weights depend on what the tokens say. Deviation:
    the public code of CAML lets labels attend to padding.
    """

    takes_bias = True

    def __init__(self, width: int, scale: float = 1.0) -> None:
        super().__init__()
        self.width = self.label_width = width
        self.scale = scale

    def prepare(self, tokens: TokenStates) -> Prepared:
        """Return the token states as keys and values."""
        return Prepared(tokens.states, tokens.states, tokens.mask)

    def forward(
        self,
        prepared: Prepared,
        labels: LabelStates,
        weights: bool = True,
        bias: Tensor | None = None,
    ) -> Attended:
        """Attend for labels (l, label_width): context (B, l, H), weights (B, l, T)."""
        context, found = attend(self.queries(labels), prepared, self.scale, bias)
        return Attended(context, found if weights else None)


class Projected(Softmax):
    """Softmax over u . tanh(W h): label vectors live in a space of their own, of K dimensions.

    Source: LAAT (Vu et al. 2020), equations 3 to 5; W without bias and drawn from N(0, 0.03^2) as
    in its public code. Deviation: padding is masked. On pretrained states of whole documents this
    is the label attention of PLM-ICD.
    """

    def __init__(self, width: int, size: int, scale: float = 1.0) -> None:
        super().__init__(width, scale)
        self.label_width = size
        self.project = nn.Linear(width, size, bias=False)
        nn.init.normal_(self.project.weight, std=LAAT_SPREAD)

    def prepare(self, tokens: TokenStates) -> Prepared:
        """Return keys tanh(W h), (B, T, K), and the token states as values."""
        return Prepared(torch.tanh(self.project(tokens.states)), tokens.states, tokens.mask)


def scale_of(kind: str, width: int) -> float:
    """Return what scores are multiplied by: ``sqrt`` is one over the root of the width."""
    return width**-0.5 if kind == "sqrt" else 1.0


def build_softmax(spec: SoftmaxAttention, *, encoder: Encoder, **_: object) -> Softmax:
    """Build dot-product label attention as wide as the encoder."""
    return Softmax(encoder.width, scale_of(spec.scale, encoder.width))


def build_projected(spec: ProjectedAttention, *, encoder: Encoder, **_: object) -> Projected:
    """Build label attention over projected token states."""
    size = spec.size or encoder.width
    return Projected(encoder.width, size, scale_of(spec.scale, size))
