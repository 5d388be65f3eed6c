"""Attention of one query over the words of a text: hierarchical attention networks' word level."""

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.encoders import AnyEncoder
from attending.parts.masking import masked_softmax
from attending.parts.pooling import last_states
from attending.specs import WordAttentionPooling
from attending.tensors import Attended, AttentionTrace, LabelStates


class WordAttention(nn.Module):
    """Encodes windows and sums token states by how well they fit a query: context (W, H).

    With a learned query u_w, a state h counts by u_w . tanh(W h + b); with the last states of
    both directions as the query, by their dot product with h. One masked softmax follows.
    Source: Yang et al. 2016, section 2.2, equations 5-7; the last states are those of the public
    code of Si et al. 2020. Deviation from that code: padding gets no weight, and the last states
    are those of real tokens.

    Args:
        width: H of token states.
        size: Width of W h, or ``None`` for the query of last states.
    """

    reads_cls = False
    reads = "cls"
    """As with [CLS], one row of attention decides, and it can be recorded."""

    def __init__(self, width: int, size: int | None) -> None:
        super().__init__()
        self.map = None if size is None else nn.Linear(width, size)
        self.query = None if size is None else nn.Linear(size, 1, bias=False)

    def forward(
        self,
        encoder: AnyEncoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), and sum by attention.

        A trace gets the weights as one head, (W, 1, T); layers of the encoder are not recorded.
        """
        tokens = encoder(ids, mask)
        weights = masked_softmax(self.scores(tokens.states, tokens.mask), tokens.mask)
        if trace is not None:
            trace.cls.append(weights.unsqueeze(1))
        return Attended(torch.einsum("wt,wth->wh", weights, tokens.states))

    def scores(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return how well each token fits the query, (W, T): states (W, T, H), mask (W, T)."""
        if self.map is None or self.query is None:
            return torch.einsum("wth,wh->wt", states, last_states(states, mask))
        fit: Tensor = self.query(torch.tanh(self.map(states)))
        return fit.squeeze(-1)


def build_word_attention(
    spec: WordAttentionPooling, *, encoder: AnyEncoder, **_: object
) -> WordAttention:
    """Build the attention.

    Raises:
        RecipeError: If the query is to be the last states and the encoder has none.
    """
    if spec.query == "last" and not getattr(encoder, "bidirectional", False):
        raise RecipeError(
            'label_attention.query = "last" takes the last state of each direction',
            where=f"encoder {encoder.name}",
            found="an encoder that is not recurrent",
            step='Use bilstm or bigru as the encoder, or query = "learned".',
        )
    if spec.query == "last":
        return WordAttention(encoder.width, None)
    return WordAttention(encoder.width, spec.size or encoder.width)
