"""Plain poolings: what a head reads when no label attends."""

from torch import Tensor, nn

from attending.parts.attention import AttentionCall
from attending.parts.encoders import Encoder
from attending.parts.masking import masked_mean
from attending.specs import ClsPooling, MeanPooling
from attending.tensors import Attended, AttentionTrace, LabelStates


def traced_call(mask: Tensor, trace: AttentionTrace | None) -> AttentionCall | None:
    """Return a call that only records the [CLS] row, or ``None`` if nothing is recorded."""
    return None if trace is None else AttentionCall(mask=mask, trace=trace)


class Cls(nn.Module):
    """The state of the first token: context (W, H)."""

    reads_cls = True

    def forward(
        self,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), and take column 0."""
        return Attended(encoder(ids, mask, traced_call(mask, trace)).states[:, 0])


class Mean(nn.Module):
    """The mean over real tokens: context (W, H)."""

    reads_cls = False

    def forward(
        self,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        labels: LabelStates | None = None,
        trace: AttentionTrace | None = None,
    ) -> Attended:
        """Encode windows, ids and mask (W, T), and average."""
        tokens = encoder(ids, mask, traced_call(mask, trace))
        return Attended(masked_mean(tokens.states, tokens.mask))


def build_cls(spec: ClsPooling, **_: object) -> Cls:
    """Build [CLS] pooling."""
    return Cls()


def build_mean(spec: MeanPooling, **_: object) -> Mean:
    """Build mean pooling."""
    return Mean()
