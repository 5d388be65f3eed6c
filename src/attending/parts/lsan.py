"""Self-attention and label attention side by side, mixed by gates, as in LSAN."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.errors import RecipeError
from attending.parts.encoders import Encoder
from attending.parts.label_attention import LabelWise, Prepared, attend
from attending.parts.masking import masked_softmax
from attending.specs import LsanAttention
from attending.tensors import Attended, LabelStates, TokenStates


class Lsan(LabelWise):
    """Two contexts per label, mixed by gates that sum to 1.

    self: softmax over q_l . tanh(W1 h), a query of its own per label.
    label: label vector times token state, separately for the states' directions (the halves of a
    bidirectional encoder's states), each pooling its own half; concatenated.
    gates: g = sigmoid(w . context), divided by their sum.

    Source: LSAN (Xiao et al. 2019) and its public code. Deviations: one context per
    label, as in the paper, where the public code averages them over all labels; padding is masked;
    with ``normalise = softmax`` the label's products are a distribution, where the paper's grow
    with the text's length.

    Args:
        width: H of token states.
        spec: Sizes and variants.
    """

    def __init__(self, width: int, spec: LsanAttention) -> None:
        super().__init__()
        self.width = width
        self.matched = width // spec.directions
        self.directions, self.softmax = spec.directions, spec.normalise == "softmax"
        self.project = nn.Linear(width, spec.size)
        self.query: nn.Linear | None = None
        if spec.self_queries == "projected":
            self.query = nn.Linear(self.matched, spec.size, bias=False)
        self.label_width = self.matched + (spec.size if self.query is None else 0)
        self.gate_label, self.gate_self = nn.Linear(width, 1), nn.Linear(width, 1)

    def prepare(self, tokens: TokenStates) -> Prepared:
        """Return keys tanh(W1 h + b) of self-attention, (B, T, size), and the token states."""
        return Prepared(torch.tanh(self.project(tokens.states)), tokens.states, tokens.mask)

    def forward(self, prepared: Prepared, labels: LabelStates, weights: bool = True) -> Attended:
        """Attend for labels (l, label_width): context (B, l, H), weights (B, l, T).

        The weights are the gates' mixture of both attentions; products that are no distribution
        enter as shares of their sum of magnitudes.
        """
        vectors = self.queries(labels)
        matched, queries = vectors[:, : self.matched], vectors[:, self.matched :]
        if self.query is not None:
            queries = self.query(matched)
        own, own_weights = attend(queries, prepared)
        scores = self._match(matched, prepared)
        halves = prepared.values.chunk(self.directions, dim=-1)
        label = torch.cat([s @ h for s, h in zip(scores, halves, strict=True)], dim=-1)
        gate = self._gate(label, own)
        context = gate * label + (1 - gate) * own
        if not weights:
            return Attended(context)
        shares = torch.stack([self._shares(s) for s in scores]).mean(dim=0)
        return Attended(context, gate * shares + (1 - gate) * own_weights)

    def _match(self, matched: Tensor, prepared: Prepared) -> list[Tensor]:
        """Return each direction's scores (B, l, T), zero on padding."""
        see = prepared.mask.unsqueeze(1)
        found = []
        for half in prepared.values.chunk(self.directions, dim=-1):
            scores = torch.matmul(matched, half.transpose(1, 2))
            found.append(
                masked_softmax(scores, see) if self.softmax else scores.masked_fill(~see, 0.0)
            )
        return found

    def _gate(self, label: Tensor, own: Tensor) -> Tensor:
        """Return sigmoid(a) / (sigmoid(a) + sigmoid(b)), which as printed is 0 / 0 for both low."""
        first = functional.logsigmoid(self.gate_label(label))
        return torch.sigmoid(first - functional.logsigmoid(self.gate_self(own)))

    def _shares(self, scores: Tensor) -> Tensor:
        if self.softmax:
            return scores
        sizes = scores.abs()
        return sizes / sizes.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(sizes.dtype).tiny)


def build_lsan(spec: LsanAttention, *, encoder: Encoder, **_: object) -> Lsan:
    """Build LSAN's mixture.

    Raises:
        RecipeError: If the states have no two halves.
    """
    if encoder.width % spec.directions:
        raise RecipeError(
            "label_attention.directions = 2 needs token states with two halves",
            found=f"width {encoder.width}",
            step="Use directions = 1.",
        )
    return Lsan(encoder.width, spec)
