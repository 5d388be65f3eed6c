"""Plain poolings: what a head reads when no label attends."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.attention import AttentionCall
from attending.parts.encoders import AnyEncoder
from attending.parts.masking import mask_value, masked_mean
from attending.specs import ClsPooling, LastPooling, MaxPooling, MeanPooling
from attending.tensors import Attended, AttentionTrace, LabelStates


def traced_call(mask: Tensor, trace: AttentionTrace | None) -> AttentionCall | None:
    """Return a call that only records the [CLS] row, or ``None`` if nothing is recorded."""
    return None if trace is None else AttentionCall(mask=mask, trace=trace)


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Maximum over real tokens: states (W, T, H), mask (W, T) bool; returns (W, H).

    A row without a real token gives zeros.
    """
    hidden = ~mask.unsqueeze(-1)
    found = states.masked_fill(hidden, mask_value(states.dtype)).amax(dim=1)
    return found.masked_fill(hidden.all(dim=1), 0.0)


def last_states(states: Tensor, mask: Tensor) -> Tensor:
    """Last states of both directions: states (W, T, H), mask (W, T) bool; returns (W, H).

    The first half of H has read the text up to each token and is taken at the last real one, the
    second half has read it from the end and is taken at the first.
    """
    half = states.shape[-1] // 2
    end = (mask.sum(dim=1) - 1).clamp(min=0)
    rows = torch.arange(states.shape[0], device=states.device)
    return torch.cat([states[rows, end, :half], states[:, 0, half:]], dim=-1)


class Cls(nn.Module):
    """The state of the first token: context (W, H)."""

    reads_cls = True

    def forward(
        self,
        encoder: AnyEncoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), and take column 0."""
        return Attended(encoder(ids, mask, traced_call(mask, trace)).states[:, 0])


class Pooling(nn.Module):
    """Encodes windows and makes one vector of their states: context (W, H).

    Args:
        pool: From states (W, T, H) and mask (W, T) to (W, H).
        reads: ``states`` if every token's state counts, ``ends`` if two stand for all.
    """

    reads_cls = False

    def __init__(self, pool: Callable[[Tensor, Tensor], Tensor], reads: str = "states") -> None:
        super().__init__()
        self.pool, self.reads = pool, reads

    def forward(
        self,
        encoder: AnyEncoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), and pool."""
        tokens = encoder(ids, mask, traced_call(mask, trace))
        return Attended(self.pool(tokens.states, tokens.mask))


def build_cls(spec: ClsPooling, *, encoder: AnyEncoder | None = None, **_: object) -> Cls:
    """Build [CLS] pooling.

    Raises:
        RecipeError: If the encoder's texts don't start with a token that stands for them.
    """
    if encoder is not None and encoder.tokenizer.cls_token_id is None:
        raise RecipeError(
            'label_attention "cls" reads the first token, which the encoder has no [CLS] at',
            where=f"encoder {encoder.name}",
            step="Use max or mean, or last after a recurrent encoder.",
        )
    return Cls()


def build_mean(spec: MeanPooling, **_: object) -> Pooling:
    """Build mean pooling."""
    return Pooling(masked_mean)


def build_max(spec: MaxPooling, **_: object) -> Pooling:
    """Build max pooling.

    Source: Kim 2014, section 2. Deviation: padding never wins.
    """
    return Pooling(masked_max)


def build_last(spec: LastPooling, *, encoder: AnyEncoder, **_: object) -> Pooling:
    """Build pooling of last states.

    Source: the Bi-GRU of CAML's public code. Deviation: the last states are those of real tokens,
    where the code takes the states after the padding.

    Raises:
        RecipeError: If the encoder doesn't read in two directions.
    """
    if not getattr(encoder, "bidirectional", False):
        raise RecipeError(
            'label_attention "last" takes the last state of each direction',
            where=f"encoder {encoder.name}",
            found="an encoder that is not recurrent",
            step="Use bilstm or bigru as the encoder, or max or mean here.",
        )
    return Pooling(last_states, "ends")
