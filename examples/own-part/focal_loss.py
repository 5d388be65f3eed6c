"""A loss of your own: focal loss, as a part that every recipe can use.

Source: Lin et al. 2017, arXiv:1708.02002, equation 4, without its alpha.
"""

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from attending.registry import Part
from attending.specs import Spec


class Focal(Spec):
    """Cross-entropy that counts a row less, the surer the model is of it."""

    slot: ClassVar[str] = "loss"
    kind: Literal["focal"] = "focal"
    gamma: float = Field(2.0, ge=0, description="0 is plain cross-entropy")


class FocalLoss(nn.Module):
    """What ``Focal`` describes."""

    def __init__(self, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma

    def forward(
        self, logits: Tensor, targets: Tensor, label_logits: Tensor | None = None
    ) -> Tensor:
        """Return the mean loss: logits (B, L), targets (B,) positions of the true labels."""
        log_probs = logits.float().log_softmax(dim=-1)
        own = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
        return -((1 - own.exp()) ** self.gamma * own).mean()


def build(spec: Focal, **_: object) -> FocalLoss:
    """Build the loss; labels and their counts come by keyword and are not needed here."""
    return FocalLoss(spec.gamma)


PART = Part(Focal, build)
