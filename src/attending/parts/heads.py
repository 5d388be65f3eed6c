"""Heads: from pooled states to one raw score per label.

A head with ``per_label`` reads one context per label, ``forward(context (B, l, H'), labels,
which)``, for the l labels that ``which`` picks out of all; the others read one context a document.
``silence`` makes a head start from logits of 0, where something else is to be heard first;
``start_at`` sets its biases to logits (L,), a single bias to that of their mean probability.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attending.errors import RecipeError, ShapeError
from attending.parts.encoders import Encoder
from attending.records import LabelSet
from attending.specs import (
    IdentityHead,
    LameHead,
    LinearHead,
    MatchHead,
    PerLabelHead,
    SharedHead,
)
from attending.tensors import LabelStates

ALL = slice(None)


def prior_logits(counts: Sequence[int], documents: int, shift: float = 0.0) -> Tensor:
    """Return the logits (L,) that labels have before anything is known of a document.

    These are the log odds of their shares of the training rows, with half a row added on either
    side. Where biases start at 0, a network spends its first hundreds of steps on learning that
    most labels are rare, and of a thousand labels it may learn nothing else.
    Source: Lin et al. 2017, "Focal loss for dense object detection", section 4.1, where one prior
    serves all classes.

    Args:
        counts: Training rows of each label.
        documents: Training rows with a label.
        shift: What must be added to logits that the loss has trained for true probabilities;
            a network starts where that training ends.
    """
    own = torch.tensor(list(counts), dtype=torch.float64)
    return (torch.log((own + 0.5) / (documents - own + 0.5)) - shift).float()


def _mean_logit(logits: Tensor) -> Tensor:
    return torch.logit(torch.sigmoid(logits.double()).mean()).float()


def require_same_width(head: str, context: Tensor, labels: LabelStates) -> None:
    """Refuse contexts (B, l, H') and label vectors (l, H) of different width.

    Raises:
        ShapeError: If they are.
    """
    if labels.states.shape[-1] != context.shape[-1]:
        raise ShapeError(
            f'head "{head}" compares contexts with label vectors of the same width',
            found=f"{context.shape[-1]} and {labels.states.shape[-1]}",
            allowed="equal widths",
            step="Use a label attention that keeps the width, or another head.",
        )


class Linear(nn.Module):
    """Optional dense tanh layer, dropout, one linear map: (N, H) to (N, L)."""

    per_label = False

    def __init__(self, width: int, labels: int, dropout: float, dense: nn.Linear | None) -> None:
        super().__init__()
        self.dense = dense
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, labels)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def silence(self) -> None:
        """Start from logits of 0."""
        nn.init.zeros_(self.out.weight)

    def start_at(self, logits: Tensor) -> None:
        """Start from logits (L,)."""
        self.out.bias.data.copy_(logits)

    def forward(self, context: Tensor) -> Tensor:
        """Score contexts (N, H); returns logits (N, L)."""
        if self.dense is not None:
            context = torch.tanh(self.dense(context))
        logits: Tensor = self.out(self.dropout(context))
        return logits


class PerLabel(nn.Module):
    """w_l . v_l + b_l: every label weighs its own context.

    Source: CAML (Mullenbach et al. 2018) and LAAT (Vu et al. 2020). Weights start as Xavier's, as
    in CAML's public code, or from N(0, spread^2): LAAT has 0.03.
    """

    per_label = True

    def __init__(
        self, width: int, labels: int, dropout: float = 0.0, spread: float | None = None
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.weights = nn.Parameter(torch.empty(labels, width))
        self.biases = nn.Parameter(torch.zeros(labels))
        if spread is None:
            nn.init.xavier_uniform_(self.weights)
        else:
            nn.init.normal_(self.weights, std=spread)

    def silence(self) -> None:
        """Start from logits of 0."""
        nn.init.zeros_(self.weights)

    def start_at(self, logits: Tensor) -> None:
        """Start from logits (L,)."""
        self.biases.data.copy_(logits)

    @property
    def label_vectors(self) -> Tensor:
        """The labels' weights (L, H'), which description-pull draws to the descriptions."""
        return self.weights

    def forward(
        self, context: Tensor, labels: LabelStates | None = None, which: slice | Tensor = ALL
    ) -> Tensor:
        """Score contexts (B, l, H') of some labels; returns logits (B, l)."""
        scores = torch.einsum("blh,lh->bl", self.dropout(context), self.weights[which])
        return scores + self.biases[which]


class Shared(nn.Module):
    """w . v_l + b: one linear map for all labels, so what it learns holds for every label."""

    per_label = True

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, 1)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def silence(self) -> None:
        """Start from logits of 0."""
        nn.init.zeros_(self.out.weight)

    def start_at(self, logits: Tensor) -> None:
        """Start from the logit of the mean probability of logits (L,)."""
        self.out.bias.data.fill_(_mean_logit(logits))

    def forward(
        self, context: Tensor, labels: LabelStates | None = None, which: slice | Tensor = ALL
    ) -> Tensor:
        """Score contexts (B, l, H') of any labels; returns logits (B, l)."""
        logits: Tensor = self.out(self.dropout(context)).squeeze(-1)
        return logits


class Lame(nn.Module):
    """g = tanh(W2 drop(tanh(W1 v_l))), then ``out``: a vector per label, or one for all.

    Source: LAME, section 2.4, which names a feed-forward network; sizes (H to 2H to H) and the
    vector per label are of its public code.

    Args:
        width: H of contexts.
        dropout: Between the layers.
        out: What scores g, ``PerLabel`` or ``Shared``.
    """

    per_label = True

    def __init__(self, width: int, dropout: float, out: PerLabel | Shared) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)
        self.out = out

    def silence(self) -> None:
        """Start from logits of 0."""
        self.out.silence()

    def start_at(self, logits: Tensor) -> None:
        """Start from logits (L,), as ``out`` can."""
        self.out.start_at(logits)

    def forward(
        self, context: Tensor, labels: LabelStates | None = None, which: slice | Tensor = ALL
    ) -> Tensor:
        """Score contexts (B, l, H) of some labels; returns logits (B, l)."""
        inside = self.dropout(torch.tanh(self.inner(context)))
        logits: Tensor = self.out(torch.tanh(self.outer(inside)), labels, which)
        return logits


class Match(nn.Module):
    """v_l . u_l + b: how well a label's context matches the label itself.

    With a map the product is (A v_l) . u_l: every label's classifier follows from its vector. As
    they are, contexts and vectors of one encoder resemble each other whatever the text says, so
    that scores start far from zero.

    Source of the map: MSMN (Yuan et al. 2022), whose label vectors are pooled synonyms. Deviation:
    its bias follows from the label's vector too, here one bias serves all.

    Args:
        dropout: On contexts.
        scale: What products are multiplied by.
        map: A, from contexts to the width of label vectors, or ``None`` to compare as they are.
    """

    per_label = True

    def __init__(
        self, dropout: float = 0.0, scale: float = 1.0, map: nn.Linear | None = None
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.scale = scale
        self.map = map
        self.bias = nn.Parameter(torch.zeros(()))

    def silence(self) -> None:
        """Start from logits of 0, if there is a map."""
        if self.map is not None:
            nn.init.zeros_(self.map.weight)

    def start_at(self, logits: Tensor) -> None:
        """Start from the logit of the mean probability of logits (L,)."""
        self.bias.data.fill_(_mean_logit(logits))

    def forward(self, context: Tensor, labels: LabelStates, which: slice | Tensor = ALL) -> Tensor:
        """Score contexts (B, l, H') against labels (l, H); returns logits (B, l).

        Raises:
            ShapeError: If contexts and labels are of different width.
        """
        context = self.dropout(context)
        if self.map is not None:
            context = self.map(context)
        require_same_width("match", context, labels)
        return torch.einsum("blh,lh->bl", context, labels.states) * self.scale + self.bias


class Identity(nn.Module):
    """The context (B, l, 1) is the score."""

    per_label = True

    def forward(
        self, context: Tensor, labels: LabelStates | None = None, which: slice | Tensor = ALL
    ) -> Tensor:
        """Return the contexts as logits (B, l)."""
        return context.squeeze(-1)


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


def build_per_label(
    spec: PerLabelHead,
    *,
    encoder: Encoder,
    labels: LabelSet,
    width: int | None = None,
    **_: object,
) -> PerLabel:
    """Build weights per label for contexts ``width`` wide."""
    return PerLabel(width or encoder.width, len(labels), spec.dropout, spec.spread)


def build_shared(
    spec: SharedHead, *, encoder: Encoder, width: int | None = None, **_: object
) -> Shared:
    """Build one linear map for contexts ``width`` wide."""
    return Shared(width or encoder.width, spec.dropout)


def build_lame(
    spec: LameHead,
    *,
    encoder: Encoder,
    labels: LabelSet,
    width: int | None = None,
    **_: object,
) -> Lame:
    """Build LAME's head for contexts ``width`` wide."""
    wide = width or encoder.width
    out = Shared(wide) if spec.shared else PerLabel(wide, len(labels))
    return Lame(wide, spec.dropout, out)


def build_match(
    spec: MatchHead, *, encoder: Encoder, width: int | None = None, **_: object
) -> Match:
    """Build the comparison of contexts, ``width`` wide, with label vectors of the encoder's."""
    chart = None
    if spec.map == "linear":
        chart = nn.Linear(width or encoder.width, encoder.width, bias=False)
        nn.init.xavier_uniform_(chart.weight)
    return Match(spec.dropout, encoder.width**-0.5 if spec.scale == "sqrt" else 1.0, chart)


def build_identity(
    spec: IdentityHead, *, encoder: Encoder, width: int | None = None, **_: object
) -> Identity:
    """Build the head that hands scores on.

    Raises:
        RecipeError: If the label attention yields vectors.
    """
    wide = width or encoder.width
    if wide != 1:
        raise RecipeError(
            'head "identity" needs a label attention that scores by itself',
            found=f"contexts of width {wide}",
            allowed='label_attention "position-bilinear"',
        )
    return Identity()
