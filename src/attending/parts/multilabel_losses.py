"""Losses of multi-label recipes: logits (B, L), targets (B, L) of 0 and 1 (or shares between).

All but the F-measure are means over the B x L cells of a batch. They are computed in float32
(double where it is given) from logits, never from the logarithm of a rounded probability.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.errors import ShapeError
from attending.parts.losses import precise, require_complete, weights_tensor
from attending.specs import (
    AsymmetricBinaryCrossEntropy,
    BalancedBinaryCrossEntropy,
    BinaryCrossEntropy,
    FMeasure,
    FocalBinaryCrossEntropy,
)
from attending.specs.losses import mean_alpha

_TINY = torch.finfo(torch.float32).tiny


class MultiLabelLoss(nn.Module):
    """What the losses share: checks, and the pull between classifiers and descriptions.

    Args:
        description_pull: Weight of the pull, lambda.
        lacks: What the loss can't train without and wasn't given.
    """

    def __init__(self, description_pull: float = 0.0, lacks: str | None = None) -> None:
        super().__init__()
        self.description_pull = description_pull
        self.lacks = lacks

    def forward(
        self, logits: Tensor, targets: Tensor, label_logits: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch, (): logits and targets (B, L).

        Raises:
            ShapeError: If targets don't have one value a document and label.
            TrainingError: If the loss was built without the counts that it needs.
        """
        if targets.shape != logits.shape:
            raise ShapeError(
                "a multi-label loss takes a value for each document and label",
                found=f"targets {tuple(targets.shape)} for logits {tuple(logits.shape)}",
                step='Set loss.kind to one for single labels, such as "cross-entropy".',
            )
        require_complete(self.lacks)
        scores = precise(logits)
        return self.loss(scores, targets.to(scores.dtype))

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of a batch of checked values."""
        raise NotImplementedError

    def pull(self, vectors: Tensor, described: Tensor, targets: Tensor) -> Tensor:
        """Return how far classifiers are from their labels' descriptions, times lambda.

        vectors (L, H), one classifier a label; described (L, H), what a description's encoder
        makes of it; targets (B, L). A document's term is its number of labels times the mean of
        (vectors - described)^2 over its labels and H, that is the sum over its labels of the mean
        over H. The result is the mean over the B documents; one without labels adds 0.
        Source: Mullenbach et al. 2018, arXiv:1802.05695, section 2.5, as in the public code.

        Raises:
            ShapeError: If the two kinds of vectors don't fit each other or the targets.
        """
        if vectors.shape != described.shape or len(vectors) != targets.shape[1]:
            raise ShapeError(
                "classifiers and descriptions must both be (labels, width)",
                found=f"{tuple(vectors.shape)} and {tuple(described.shape)}",
                allowed=f"{targets.shape[1]} rows of one width",
            )
        distance = (precise(vectors) - precise(described)).square().mean(dim=1)
        # Not a matrix product, which mixed precision would round.
        wanted = targets.to(distance.dtype).mean(dim=0)
        return self.description_pull * (wanted * distance).sum()


class BinaryCrossEntropyLoss(MultiLabelLoss):
    """Mean binary cross-entropy of B x L cells, optionally with weights of true labels, (L,).

    Weights make true cells of rare labels count more; as their mean over the true cells of the
    training rows is 1, true cells as a whole count what they did.
    """

    weights: Tensor | None

    def __init__(
        self,
        weights: Tensor | None = None,
        description_pull: float = 0.0,
        lacks: str | None = None,
    ) -> None:
        super().__init__(description_pull, lacks)
        self.register_buffer("weights", weights, persistent=False)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over cells."""
        return functional.binary_cross_entropy_with_logits(logits, targets, pos_weight=self.weights)


class BalancedBinaryCrossEntropyLoss(MultiLabelLoss):
    """Mean over B x L cells of -[alpha y log s + (1 - y) log(1 - s)], s the sigmoid of a logit.

    alpha of a document with n of L labels is (L - n) / n, so its true and other labels weigh the
    same; 0 for one without labels. Where a label has probability p the loss is smallest at
    s = a p / (a p + 1 - p): the logits are too high by log(a), and at threshold 1/2 every label
    with p > 1 / (1 + a), about n / L, is assigned. ``BalancedBinaryCrossEntropy.shift`` undoes it:
    1/2 then stands for the threshold a / (1 + a) of s.

    Cutting logits off, as published, keeps cells beyond the cut from ever learning again.
    Source: the public code of label-description attention at CANTEMIST 2020. Deviation: no cut
    unless asked for.

    Args:
        alpha: One weight for all documents, or ``None`` for each document's own.
        clamp: Where logits are cut off.
        description_pull: Weight of the pull.
        lacks: What the loss can't train without and wasn't given.
    """

    def __init__(
        self,
        alpha: float | None = None,
        clamp: float | None = None,
        description_pull: float = 0.0,
        lacks: str | None = None,
    ) -> None:
        super().__init__(description_pull, lacks)
        self.alpha, self.clamp = alpha, clamp

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over cells, not divided by the weights."""
        if self.clamp is not None:
            logits = logits.clamp(-self.clamp, self.clamp)
        positive = targets * functional.softplus(-logits)
        negative = (1 - targets) * functional.softplus(logits)
        return (self._weight(targets) * positive + negative).mean()

    def _weight(self, targets: Tensor) -> Tensor | float:
        """Return the weight of true labels, (B, 1) or one for all."""
        if self.alpha is not None:
            return self.alpha
        own = targets.sum(dim=1, keepdim=True)
        others = targets.shape[1] - own
        return torch.where(own > 0, others / own.clamp(min=_TINY), 0.0)


class FMeasureLoss(MultiLabelLoss):
    """1 - F, F = 2 tp / (2 tp + fp + fn), with probabilities in the place of counts.

    micro: counts over all cells of the batch. macro: counts over its documents for each label,
    F averaged over the labels that a document of the batch has. both: the mean of this F and of
    the one of not having labels, in which true negatives take the place of tp (averaged over the
    labels that a document of the batch lacks).

    A batch without a true label has the loss 1 and teaches nothing; so does, with macro and
    positive, a label that no document of the batch has.
    Source: the paper of LAME, which prints F itself as the loss; its code takes 1 - F, and so do
    we. Deviation: labels whose F is undefined are left out of the mean.
    """

    def __init__(
        self, average: str = "macro", classes: str = "positive", description_pull: float = 0.0
    ) -> None:
        super().__init__(description_pull)
        self.average, self.classes = average, classes

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one minus the F-measure of the batch."""
        of_having = self._f(logits, targets)
        if self.classes == "positive":
            return 1 - of_having
        return 1 - (of_having + self._f(-logits, 1 - targets)) / 2

    def _f(self, logits: Tensor, targets: Tensor) -> Tensor:
        given = torch.sigmoid(logits)
        right, true = given * targets, targets
        axes = (0, 1) if self.average == "micro" else (0,)
        right, true, given = (x.sum(dim=axes) for x in (right, true, given))
        # Twice tp + fp + fn is all given and all true.
        f = 2 * right / (given + true).clamp(min=_TINY)
        defined = true > 0
        return (f * defined).sum() / defined.sum().clamp(min=1)


class FocalBinaryCrossEntropyLoss(MultiLabelLoss):
    """Mean over B x L cells of cross-entropy times (1 - p)^gamma, p the probability of the truth.

    With alpha, true labels weigh alpha and the others 1 - alpha.
    Source: Lin et al. 2017, arXiv:1708.02002, equations 4 and 5. Deviation: a mean over cells, not
    a sum divided by the true ones.
    """

    def __init__(
        self, gamma: float = 2.0, alpha: float | None = None, description_pull: float = 0.0
    ) -> None:
        super().__init__(description_pull)
        self.gamma, self.alpha = gamma, alpha

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over cells."""
        positive = targets * _faded(logits, self.gamma)
        negative = (1 - targets) * _faded(-logits, self.gamma)
        if self.alpha is not None:
            positive, negative = self.alpha * positive, (1 - self.alpha) * negative
        return (positive + negative).mean()


class AsymmetricBinaryCrossEntropyLoss(MultiLabelLoss):
    """Focal cross-entropy with a gamma each for true and other labels, easy others cut off.

    The probability p of a label that isn't true is taken as max(p - margin, 0).
    Source: Ridnik et al. 2021, arXiv:2009.14119, section 2. Deviations: a mean over cells,
    where the public code sums; the gradient goes through the fading factors, as in the equations,
    where that code can stop it.
    """

    def __init__(
        self,
        gamma_positive: float = 0.0,
        gamma_negative: float = 4.0,
        margin: float = 0.05,
        description_pull: float = 0.0,
    ) -> None:
        super().__init__(description_pull)
        self.gamma_positive, self.gamma_negative = gamma_positive, gamma_negative
        self.margin = margin

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over cells."""
        positive = targets * _faded(logits, self.gamma_positive)
        if self.margin:
            left = (torch.sigmoid(logits) - self.margin).clamp(min=0)
            # The floor keeps the slope of a root finite where nothing is left.
            others = -(left.clamp(min=_TINY) ** self.gamma_negative) * torch.log1p(-left)
        else:
            others = _faded(-logits, self.gamma_negative)
        return (positive + (1 - targets) * others).mean()


def _faded(logits: Tensor, gamma: float) -> Tensor:
    """Return (1 - p)^gamma times -log p for p the sigmoid of logits."""
    return torch.exp(-gamma * functional.softplus(logits)) * functional.softplus(-logits)


def build_bce(
    spec: BinaryCrossEntropy, *, counts: Sequence[int] | None = None, **_: object
) -> BinaryCrossEntropyLoss:
    """Build the loss; ``counts`` are the labels' counts in the training rows."""
    weights, lacks = weights_tensor(spec.positive_weights, counts)
    return BinaryCrossEntropyLoss(weights, spec.description_pull, lacks)


def build_balanced_bce(
    spec: BalancedBinaryCrossEntropy,
    *,
    counts: Sequence[int] | None = None,
    documents: int | None = None,
    **_: object,
) -> BalancedBinaryCrossEntropyLoss:
    """Build the loss; ``documents`` is how many training rows have a label."""
    alpha, lacks = None, None
    if spec.alpha == "corpus":
        if counts is None or documents is None:
            lacks = "one weight for all documents needs the label counts of the training rows"
        else:
            alpha = mean_alpha(counts, documents)
    return BalancedBinaryCrossEntropyLoss(alpha, spec.clamp, spec.description_pull, lacks)


def build_f_measure(spec: FMeasure, **_: object) -> FMeasureLoss:
    """Build the loss."""
    return FMeasureLoss(spec.average, spec.classes, spec.description_pull)


def build_focal_bce(spec: FocalBinaryCrossEntropy, **_: object) -> FocalBinaryCrossEntropyLoss:
    """Build the loss."""
    return FocalBinaryCrossEntropyLoss(spec.gamma, spec.alpha, spec.description_pull)


def build_asymmetric(
    spec: AsymmetricBinaryCrossEntropy, **_: object
) -> AsymmetricBinaryCrossEntropyLoss:
    """Build the loss."""
    return AsymmetricBinaryCrossEntropyLoss(
        spec.gamma_positive, spec.gamma_negative, spec.margin, spec.description_pull
    )
