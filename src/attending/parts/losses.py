"""Losses of single-label recipes."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.errors import TrainingError
from attending.records import LabelSet
from attending.specs import CrossEntropy

_EFFECTIVE_BETA = 0.999


class CrossEntropyLoss(nn.Module):
    """Weighted softmax cross-entropy, and optionally the label vectors' own loss.

    ``label_loss`` weighs the loss that makes each label vector, sent through the same head,
    predict its own class. The paper of LESA-BERT has no such term; its public code has (5 in the
    triage runs).
    """

    weights: Tensor | None

    def __init__(
        self, weights: Tensor | None, label_smoothing: float = 0.0, label_loss: float = 0.0
    ) -> None:
        super().__init__()
        self.register_buffer("weights", weights, persistent=False)
        self.label_smoothing = label_smoothing
        self.label_loss = label_loss

    def forward(
        self, logits: Tensor, targets: Tensor, label_logits: Tensor | None = None
    ) -> Tensor:
        """Return the mean loss: logits (B, L), targets (B,), label_logits (L, L) or ``None``.

        With weights, the mean is over rows, not over weights, so that a batch of rare labels
        weighs more than one of common ones, as in the full sum.
        """
        rows = functional.cross_entropy(
            logits.float(), targets, label_smoothing=self.label_smoothing, reduction="none"
        )
        if self.weights is not None:
            rows = rows * self.weights[targets]
        loss = rows.mean()
        if self.label_loss and label_logits is not None:
            own = torch.arange(len(label_logits), device=logits.device)
            loss = loss + self.label_loss * functional.cross_entropy(label_logits.float(), own)
        return loss


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


def build_cross_entropy(
    spec: CrossEntropy, *, labels: LabelSet, counts: Sequence[int] | None = None, **_: object
) -> CrossEntropyLoss:
    """Build the loss; ``counts`` are the labels' counts in the training rows.

    Raises:
        TrainingError: If weights are asked for and counts are not given.
    """
    if spec.class_weights != "none" and counts is None:
        raise TrainingError("class weights need the label counts of the training rows")
    weights = None if counts is None else class_weights(spec.class_weights, counts)
    return CrossEntropyLoss(
        None if weights is None else torch.tensor(weights), spec.label_smoothing, spec.label_loss
    )
