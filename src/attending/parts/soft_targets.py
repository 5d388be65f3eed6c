"""Learning from a teacher's probabilities in place of labels, or beside them."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from attending.errors import ShapeError
from attending.parts.losses import precise
from attending.specs import SoftTargets

Task = Literal["single", "multi"]


class Distillation(nn.Module):
    """Mean over rows of cross-entropy to a teacher's probabilities, mixed with the labels' loss.

    With teacher's probabilities p and student's scores z, a row of a single-label task costs
    -sum_l p_l log softmax(z / T)_l, one of a multi-label task the mean over labels of the binary
    cross-entropy of sigmoid(z / T). ``kl`` takes the teacher's own entropy off and multiplies by
    T^2, so that gradients keep their size whatever T is. A row with a label counts (1 - s) times
    this plus s times the recipe's own loss, s the hard share; one without counts this alone.
    Source: Si et al. 2020, equation 11; Hinton et al. 2015, arXiv:1503.02531, section 2, for T^2.

    With a weight v, v times the mean squared difference of the vectors that student and teacher
    make of a document is added (``of_vectors``).
    Source: hints, Romero et al. 2015, arXiv:1412.6550, equation 3; on [CLS], Sun et al. 2019,
    arXiv:1908.09355, section 3.2. Deviations: the last layer alone, and no map between the two,
    since a student that starts from its teacher has its axes.

    Args:
        task: ``single`` (softmax) or ``multi`` (sigmoid).
        temperature: T; the teacher's probabilities were made with the same.
        divergence: Whether the loss is T^2 KL.
        hard_share: s.
        vectors: v.
    """

    def __init__(
        self,
        task: Task,
        temperature: float = 1.0,
        divergence: bool = False,
        hard_share: float = 0.0,
        vectors: float = 0.0,
    ) -> None:
        super().__init__()
        self.task = task
        self.temperature, self.divergence, self.hard_share = temperature, divergence, hard_share
        self.vectors = vectors

    def forward(
        self,
        logits: Tensor,
        soft: Tensor,
        labelled: Tensor,
        hard: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """Return the loss of a batch, ().

        logits (B, L); soft (B, L), the teacher's probabilities; labelled (B,) bool; ``hard``
        gives the recipe's own mean loss of the rows that are picked by positions (n,) int64, and
        is not asked where no row counts.

        Raises:
            ShapeError: If soft targets don't have one value a document and label.
        """
        if soft.shape != logits.shape:
            raise ShapeError(
                "soft targets must have a value for each document and label",
                found=f"{tuple(soft.shape)} for logits {tuple(logits.shape)}",
            )
        share = self.hard_share
        loss = (self.rows(logits, soft) * (1 - share * labelled.to(logits.dtype))).mean()
        picked = torch.nonzero(labelled).flatten()
        if share and len(picked):
            loss = loss + share * (len(picked) / len(logits)) * hard(picked)
        return loss

    def of_vectors(self, own: Tensor, wanted: Tensor) -> Tensor:
        """Return what it costs that own document vectors (B, H) differ from those wanted, ().

        Raises:
            ShapeError: If the two are not alike in shape.
        """
        if own.shape != wanted.shape:
            raise ShapeError(
                "a student's vectors must be as wide as its teacher's",
                found=f"{tuple(own.shape)} and {tuple(wanted.shape)}",
            )
        return self.vectors * functional.mse_loss(precise(own), wanted.to(torch.float32))

    def rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        """Return what each row costs for its distance to the teacher, (B,), in float32."""
        scores = precise(logits) / self.temperature
        wanted = soft.to(scores.dtype)
        if self.task == "single":
            cost = -(wanted * functional.log_softmax(scores, dim=1)).sum(dim=1)
            own = -torch.xlogy(wanted, wanted).sum(dim=1)
        else:
            cells = functional.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
            cost = cells.mean(dim=1)
            rest = 1 - wanted
            own = -(torch.xlogy(wanted, wanted) + torch.xlogy(rest, rest)).mean(dim=1)
        return (cost - own) * self.temperature**2 if self.divergence else cost


def build_soft_targets(spec: SoftTargets, *, task: Task, **_: object) -> Distillation:
    """Build the loss of a student."""
    return Distillation(
        task, spec.temperature, spec.loss == "kl", spec.hard_share, spec.vectors or 0.0
    )
