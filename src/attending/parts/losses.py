"""Losses of single-label recipes: logits (B, L), targets (B,) positions of the true labels.

All are means over the rows of a batch, computed in float32 (double where it is given). A loss
that rests on label counts is built without them for a saved model, which only predicts; it then
refuses to train.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.errors import ShapeError, TrainingError
from attending.records import LabelSet
from attending.specs import (
    CrossEntropy,
    FocalCrossEntropy,
    LogitAdjustedCrossEntropy,
    MarginCrossEntropy,
)

_EFFECTIVE_BETA = 0.999
_TINY = torch.finfo(torch.float32).tiny


def precise(values: Tensor) -> Tensor:
    """Return values in float32 at least: half precision loses what losses subtract."""
    return values if values.dtype == torch.float64 else values.float()


class SingleLabelLoss(nn.Module):
    """A mean over rows, optionally weighted by their label.

    With weights, the mean is over rows, not over weights, so that a batch of rare labels weighs
    more than one of common ones, as in the full sum.

    Args:
        weights: One weight a label, (L,).
        lacks: What the loss can't train without and wasn't given.
    """

    weights: Tensor | None

    def __init__(self, weights: Tensor | None = None, lacks: str | None = None) -> None:
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.lacks = lacks

    def forward(
        self, logits: Tensor, targets: Tensor, label_logits: Tensor | None = None
    ) -> Tensor:
        """Return the mean loss: logits (B, L), targets (B,) int64.

        Raises:
            ShapeError: If targets are not one position a row.
            TrainingError: If the loss was built without the label counts that it needs.
        """
        if targets.ndim != 1 or targets.is_floating_point():
            raise ShapeError(
                "a single-label loss takes one label a document",
                found=f"targets {tuple(targets.shape)}",
                step='Set loss.kind to one for many labels, such as "bce".',
            )
        require_complete(self.lacks)
        rows = self.rows(precise(logits), targets)
        weights = self.weights_now()
        return (rows if weights is None else rows * weights[targets]).mean()

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each row, (B,)."""
        raise NotImplementedError

    def weights_now(self) -> Tensor | None:
        """Return the weights that count at this time of training."""
        return self.weights


class CrossEntropyLoss(SingleLabelLoss):
    """Weighted softmax cross-entropy, and optionally the label vectors' own loss.

    ``label_loss`` weighs the loss that makes each label vector, sent through the same head,
    predict its own class. The paper of LESA-BERT has no such term; its public code has (5 in the
    triage runs).
    """

    def __init__(
        self,
        weights: Tensor | None,
        label_smoothing: float = 0.0,
        label_loss: float = 0.0,
        lacks: str | None = None,
    ) -> None:
        super().__init__(weights, lacks)
        self.label_smoothing = label_smoothing
        self.label_loss = label_loss

    def forward(
        self, logits: Tensor, targets: Tensor, label_logits: Tensor | None = None
    ) -> Tensor:
        """Return the mean loss: logits (B, L), targets (B,), label_logits (L, L) or ``None``."""
        loss = super().forward(logits, targets)
        return loss + self.of_labels(label_logits) if self.label_loss else loss

    def of_labels(self, label_logits: Tensor | None) -> Tensor | float:
        """Return the label vectors' own loss, which needs no row: label_logits (L, L)."""
        if not self.label_loss or label_logits is None:
            return 0.0
        own = torch.arange(len(label_logits), device=label_logits.device)
        return self.label_loss * functional.cross_entropy(precise(label_logits), own)

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of each row, (B,)."""
        return functional.cross_entropy(
            logits, targets, label_smoothing=self.label_smoothing, reduction="none"
        )


class FocalCrossEntropyLoss(SingleLabelLoss):
    """Cross-entropy of a row times (1 - p)^gamma, p the probability of its label.

    Source: Lin et al. 2017, arXiv:1708.02002, equation 4, with the softmax for the sigmoid.
    """

    def __init__(
        self, gamma: float, weights: Tensor | None = None, lacks: str | None = None
    ) -> None:
        super().__init__(weights, lacks)
        self.gamma = gamma

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each row, (B,)."""
        cost = functional.cross_entropy(logits, targets, reduction="none")
        # 1 - p from log p loses nothing near 1; the floor keeps a root's slope finite there.
        rest = -torch.expm1(-cost)
        return rest.clamp(min=_TINY) ** self.gamma * cost


class LogitAdjustedLoss(SingleLabelLoss):
    """Cross-entropy of logits + tau log(share of the label among training rows).

    The logits themselves, which prediction reads, then are those of a world in which all labels
    are equally frequent (tau 1): right for the mean of recalls, too high for rare labels as
    probabilities.
    Source: Menon et al. 2021, arXiv:2007.07314, equation 10. Deviation: a label without rows
    counts as having one, for its share would have no logarithm.

    Args:
        offsets: tau log share, (L,).
        lacks: What the loss can't train without and wasn't given.
    """

    offsets: Tensor | None

    def __init__(self, offsets: Tensor | None, lacks: str | None = None) -> None:
        super().__init__(None, lacks)
        self.register_buffer("offsets", offsets, persistent=False)

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each row, (B,)."""
        assert self.offsets is not None
        return functional.cross_entropy(logits + self.offsets, targets, reduction="none")


class MarginLoss(SingleLabelLoss):
    """Cross-entropy after the true label's score is cut by its margin, times a scale.

    Weights may begin to count late in training (deferred re-weighting): whoever trains says how
    far it is through ``progress``.
    Source: Cao et al. 2019, arXiv:1906.07413, section 3 and algorithm 1. Deviation: the
    scores are a head's, not cosines, so the scale is 1 and not 30; weights have mean 1 over rows.

    Args:
        margins: One margin a label, (L,).
        scale: Multiplies the scores.
        weights: One weight a label, (L,).
        deferred: Share of training after which weights count.
        lacks: What the loss can't train without and wasn't given.
    """

    margins: Tensor | None

    def __init__(
        self,
        margins: Tensor | None,
        scale: float = 1.0,
        weights: Tensor | None = None,
        deferred: float = 0.0,
        lacks: str | None = None,
    ) -> None:
        super().__init__(weights, lacks)
        self.register_buffer("margins", margins, persistent=False)
        self.scale, self.deferred = scale, deferred
        self.share: float | None = None

    def progress(self, share: float) -> None:
        """Take in how much of training is done, 0 to 1."""
        self.share = share

    def weights_now(self) -> Tensor | None:
        """Return the weights once their time has come.

        Raises:
            TrainingError: If they are deferred and nobody says how far training is.
        """
        if self.weights is None or not self.deferred:
            return self.weights
        if self.share is None:
            raise TrainingError("deferred weights need to be told how far training is")
        return self.weights if self.share >= self.deferred else None

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each row, (B,)."""
        assert self.margins is not None
        own = functional.one_hot(targets, logits.shape[1]) * self.margins
        return functional.cross_entropy(self.scale * (logits - own), targets, reduction="none")


def class_weights(kind: str, counts: Sequence[int]) -> list[float] | None:
    """Return one weight per label from counts in the training rows, or ``None``.

    ``inverse``: 1/n; ``sqrt-inverse``: 1/sqrt(n); ``effective``: (1-b)/(1-b^n) with b = 0.999
    (Cui et al. 2019, equation 12). Scaled so that their mean over training rows is 1. A label
    without rows gets weight 0: it never occurs.
    """
    if kind == "none":
        return None
    raw = []
    for n in counts:
        if not n:
            raw.append(0.0)
        elif kind == "inverse":
            raw.append(1.0 / n)
        elif kind == "sqrt-inverse":
            raw.append(n**-0.5)
        else:
            raw.append((1 - _EFFECTIVE_BETA) / (1 - _EFFECTIVE_BETA**n))
    mean = sum(w * n for w, n in zip(raw, counts, strict=True)) / sum(counts)
    return [w / mean for w in raw]


def weights_tensor(kind: str, counts: Sequence[int] | None) -> tuple[Tensor | None, str | None]:
    """Return weights (L,) or ``None``, and what is lacking where they can't be made."""
    if kind == "none":
        return None, None
    if counts is None:
        return None, "class weights need the label counts of the training rows"
    made = class_weights(kind, counts)
    return torch.tensor(made), None


def require_complete(lacks: str | None) -> None:
    """Refuse to train what was built for prediction only.

    Raises:
        TrainingError: If something is lacking.
    """
    if lacks is not None:
        raise TrainingError(lacks)


def build_cross_entropy(
    spec: CrossEntropy, *, labels: LabelSet, counts: Sequence[int] | None = None, **_: object
) -> CrossEntropyLoss:
    """Build the loss; ``counts`` are the labels' counts in the training rows."""
    weights, lacks = weights_tensor(spec.class_weights, counts)
    return CrossEntropyLoss(weights, spec.label_smoothing, spec.label_loss, lacks)


def build_focal_ce(
    spec: FocalCrossEntropy, *, counts: Sequence[int] | None = None, **_: object
) -> FocalCrossEntropyLoss:
    """Build the loss; ``counts`` are the labels' counts in the training rows."""
    weights, lacks = weights_tensor(spec.class_weights, counts)
    return FocalCrossEntropyLoss(spec.gamma, weights, lacks)


def build_logit_adjusted(
    spec: LogitAdjustedCrossEntropy, *, counts: Sequence[int] | None = None, **_: object
) -> LogitAdjustedLoss:
    """Build the loss; ``counts`` are the labels' counts in the training rows."""
    if counts is None:
        return LogitAdjustedLoss(None, "logit adjustment needs the label counts of training rows")
    floored = torch.tensor([float(max(n, 1)) for n in counts])
    return LogitAdjustedLoss(spec.tau * (floored / floored.sum()).log())


def build_ldam(
    spec: MarginCrossEntropy, *, counts: Sequence[int] | None = None, **_: object
) -> MarginLoss:
    """Build the loss; the margin of a label with n rows is proportional to n^(-1/4).

    The rarest label that has rows gets ``max_margin``; one without rows never is the true one.
    """
    if counts is None:
        return MarginLoss(None, lacks="label margins need the label counts of the training rows")
    weights, _lacks = weights_tensor(spec.class_weights, counts)
    raw = torch.tensor([float(n) ** -0.25 if n else 0.0 for n in counts])
    margins = raw * (spec.max_margin / raw.max())
    return MarginLoss(margins, spec.scale, weights, spec.deferred)
