"""Losses: what training makes small."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from attending.errors import TrainingError
from attending.specs.base import Share, Spec

LabelWeights = Literal["none", "inverse", "sqrt-inverse", "effective"]


class CrossEntropy(Spec):
    """Softmax cross-entropy."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["cross-entropy"] = "cross-entropy"
    class_weights: LabelWeights = Field(
        "none", description="weights from training rows, by label; their mean over rows is 1"
    )
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="share of the target that is spread over all labels"
    )
    label_loss: float = Field(
        0.0, ge=0, description="weight of the loss that makes each label vector predict itself"
    )

    def needs(self) -> tuple[str, ...]:
        """Only label vectors can predict themselves."""
        return ("label_states",) if self.label_loss else ()


class FocalCrossEntropy(Spec):
    """Cross-entropy that counts rows less the surer the model already is of them."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["focal-ce"] = "focal-ce"
    gamma: float = Field(2.0, ge=0, description="how fast sure rows fade; 0: cross-entropy")
    class_weights: LabelWeights = Field(
        "none", description="weights from training rows, by label; their mean over rows is 1"
    )


class LogitAdjustedCrossEntropy(Spec):
    """Cross-entropy with the labels' shares added to the scores, so that rare labels catch up."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["logit-adjusted"] = "logit-adjusted"
    tau: float = Field(
        1.0, ge=0, description="weight of the logarithm of a label's share; 0: cross-entropy"
    )


class MarginCrossEntropy(Spec):
    """Cross-entropy in which rare labels must win by a larger margin (LDAM)."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["ldam"] = "ldam"
    max_margin: float = Field(0.5, ge=0, description="margin of the rarest label")
    scale: float = Field(
        1.0,
        gt=0,
        description="scores are multiplied by it in the loss; the paper's 30 is for cosines",
    )
    class_weights: LabelWeights = Field(
        "none", description="weights from training rows, by label; their mean over rows is 1"
    )
    deferred: Share = Field(
        0.0, description="share of training after which the weights begin to count"
    )


class _MultiLabelLoss(Spec):
    """What the losses of documents with any number of labels share."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["single", "multi"]] = "multi"
    description_pull: float = Field(
        0.0,
        ge=0,
        description="weight of the distance between a label's classifier and its description",
    )

    def needs(self) -> tuple[str, ...]:
        """A pull needs something to pull to."""
        return ("descriptions",) if self.description_pull else ()

    def shift(self, counts: Sequence[int], documents: int) -> float:
        """Return what must be added to a trained model's logits for true probabilities.

        counts: training documents of each label. documents: training documents with a label.
        0 for a loss whose logits are of probabilities already, or of nothing of the kind.
        """
        return 0.0


class BinaryCrossEntropy(_MultiLabelLoss):
    """Binary cross-entropy of every document and label."""

    kind: Literal["bce"] = "bce"
    positive_weights: LabelWeights = Field(
        "none",
        description="weights of true labels, from training rows; their mean over true labels is 1",
    )


class BalancedBinaryCrossEntropy(_MultiLabelLoss):
    """Binary cross-entropy in which true and other labels of a document weigh the same."""

    kind: Literal["balanced-bce"] = "balanced-bce"
    alpha: Literal["document", "corpus"] = Field(
        "document",
        description="weight of a true label, labels without it by labels with it: of each "
        "document (as published), or one for all from the training rows",
    )
    clamp: float | None = Field(
        None,
        gt=0,
        description="cut logits off at plus and minus this (14 as published); beyond it nothing "
        "is learned",
    )
    corrected: bool = Field(
        True,
        description="the decision undoes the weight, so that one half means one half; not as "
        "published",
    )

    def shift(self, counts: Sequence[int], documents: int) -> float:
        """Return -log(alpha), which undoes the weight of true labels; see ``mean_alpha``.

        Raises:
            TrainingError: If every document has every label.
        """
        alpha = mean_alpha(counts, documents)
        if not alpha:
            raise TrainingError(
                "every row has every label, so there is nothing to balance",
                step="Use loss.kind=bce, or rows that lack some labels.",
            )
        return -math.log(alpha) if self.corrected else 0.0


class FMeasure(_MultiLabelLoss):
    """One minus F1, with probabilities for counts."""

    kind: Literal["f-measure"] = "f-measure"
    average: Literal["macro", "micro"] = Field(
        "macro", description="macro: mean over the labels of a batch; micro: all cells together"
    )
    classes: Literal["positive", "both"] = Field(
        "positive", description="both: mean of F1 of having labels and F1 of not having them"
    )


class FocalBinaryCrossEntropy(_MultiLabelLoss):
    """Binary cross-entropy that counts cells less the surer the model already is of them."""

    kind: Literal["focal-bce"] = "focal-bce"
    gamma: float = Field(2.0, ge=0, description="how fast sure cells fade; 0: bce")
    alpha: Share | None = Field(
        None, description="weight of true labels, the others get 1 - alpha; unset: both get 1"
    )


class AsymmetricBinaryCrossEntropy(_MultiLabelLoss):
    """Binary cross-entropy in which labels that are not true fade faster, easy ones wholly."""

    kind: Literal["asymmetric"] = "asymmetric"
    gamma_positive: float = Field(0.0, ge=0, description="how fast sure true labels fade")
    gamma_negative: float = Field(4.0, ge=0, description="how fast sure other labels fade")
    margin: float = Field(
        0.05, ge=0, lt=1, description="other labels of a lower probability count nothing"
    )


def mean_alpha(counts: Sequence[int], documents: int) -> float:
    """Return the weight that balanced cross-entropy gives a true label, on average.

    counts: training documents of each of L labels. documents: those that have a label. A document
    with n labels weighs each (L - n) / n. Summed over true labels that is the sum of (L - n) over
    documents, so the mean is (L - m) / m, with m the mean number of labels of these documents.
    """
    total = sum(counts)
    return (len(counts) * documents - total) / total
