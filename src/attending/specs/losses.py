"""Losses."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class CrossEntropy(Spec):
    """Softmax cross-entropy."""

    slot: ClassVar[str] = "loss"
    kind: Literal["cross-entropy"] = "cross-entropy"
    class_weights: Literal["none", "inverse", "sqrt-inverse", "effective"] = Field(
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
