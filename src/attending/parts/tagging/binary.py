"""Binary token labels (BTL): a copy of the batch for every type in it, all other types hidden.

Source: Rehman, Zhang, Yang 2024, arXiv:2409.03238. The paper leaves open whether words of other
types are outside in a copy or not counted, and whether copies are one step or several; all are
settings. Where copies are summed and share their pass through the encoder, they are one loss with
soft targets, which costs no more than all token labels do; that is ``step = "sum"``.

With ``other = "O"`` a word of type f is positive in one copy and outside in all others, so that
its probability tends to w_f / (w_f + (|E| - 1) w_O): the more types a batch holds, the further
all scores lean to the outside. The paper's vote of neighbours undoes that; argmax does not.
"""

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.losses import require_complete
from attending.parts.tagging.losses import Counts, log_loss, picked, tag_weights, weighted_mean
from attending.specs import BinaryTokenLabels
from attending.tags import OUTSIDE, TagSet

IGNORED = -100


class BinaryTokenLabelsLoss(nn.Module):
    """Mean over the types of a batch of the loss of their copies; each copy is a weighted mean.

    Deviation: the paper has a sum over copies or a step for each; the mean keeps the size of a
    step from growing with the number of types.

    Args:
        tags: The tags; one layer.
        other: Words of other types in a copy: ``O`` or ``ignore``.
        step: ``sum``, ``per_copy`` or ``sequential``.
        weights: (1, C), or ``None`` for 1.
        gamma: How fast sure words fade; 0: off.
        lacks: What training needs that is not there.
    """

    weights: Tensor | None
    type_of: Tensor

    def __init__(
        self,
        tags: TagSet,
        other: str = "O",
        step: str = "sum",
        weights: Tensor | None = None,
        gamma: float = 0.0,
        lacks: str | None = None,
    ) -> None:
        super().__init__()
        self.types = len(tags.labels)
        self.ignore, self.step, self.gamma, self.lacks = other == "ignore", step, gamma, lacks
        self.register_buffer("weights", weights, persistent=False)
        self.register_buffer("type_of", torch.from_numpy(tags.type_of[0]), persistent=False)

    @property
    def copies(self) -> bool:
        """Whether every copy goes through the encoder by itself."""
        return self.step == "per_copy"

    def forward(self, logits: Tensor, targets: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the loss of logits (N, 1, C) against tags (N, 1)."""
        require_complete(self.lacks)
        if self.step != "sum":  # targets are of a copy already
            return weighted_mean(logits, targets, self.weights, self.gamma)
        return self._all_copies(logits, targets)

    def copies_of(self, targets: Tensor) -> list[Tensor]:
        """Return the tags (N, 1) of every copy; where no type occurs, one copy as it is."""
        types = self._types(targets)
        hidden = IGNORED if self.ignore else OUTSIDE
        made = []
        for label in torch.unique(types[types >= 0]).tolist():
            other = (types >= 0) & (types != label)
            made.append(torch.where(other, hidden, targets))
        return made or [targets]

    def _types(self, targets: Tensor) -> Tensor:
        return torch.where(targets >= 0, self.type_of[targets.clamp(min=0)], -1)

    def _all_copies(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean of all copies' losses from one pass.

        In copy e the weights sum to D_e. A word of type f weighs w_f/D_f on its own tag and
        w_O (sum over e of 1/D_e - 1/D_f) on the outside; a word outside w_O sum over e of 1/D_e.
        """
        types = self._types(targets).squeeze(1)
        entity = types >= 0
        if not bool(entity.any()):
            return weighted_mean(logits, targets, self.weights, self.gamma)
        losses = log_loss(logits, self.gamma)
        share = torch.ones_like(losses[:, :, 0]) if self.weights is None else picked(
            self.weights, targets.unsqueeze(-1)
        )  # fmt: skip
        own = share.squeeze(1)
        outside = own.new_ones(()) if self.weights is None else self.weights[0, OUTSIDE]
        of_type = own.new_zeros(self.types).index_add(0, types[entity], own[entity])
        words = own.new_zeros(self.types).index_add(0, types[entity], torch.ones_like(own[entity]))
        hidden = 0.0 if self.ignore else entity.sum() - words
        total = of_type + outside * ((~entity).sum() + hidden)
        inverse = torch.where(words > 0, 1 / total, torch.zeros_like(total))
        of_word = inverse[types.clamp(min=0)]
        on_own = torch.where(entity, own * of_word, torch.zeros_like(own))
        in_others = torch.zeros_like(own) if self.ignore else inverse.sum() - of_word
        on_outside = outside * torch.where(entity, in_others, inverse.sum())
        own_loss = losses.squeeze(1).gather(1, targets).squeeze(1)
        summed = (on_own * own_loss + on_outside * losses[:, 0, OUTSIDE]).sum()
        return summed / (words > 0).sum()


def build_btl(
    spec: BinaryTokenLabels, *, tags: TagSet, counts: Counts | None = None, **_: object
) -> BinaryTokenLabelsLoss:
    """Build the loss; ``counts`` are the tags' counts in the training rows.

    Raises:
        RecipeError: If every type has a layer of its own, which is binary as it is.
    """
    if tags.layered:
        raise RecipeError(
            'loss "btl" hides other types, and in layers there are none',
            step='Set scheme.kind = "flat", or loss.kind = "token-cross-entropy".',
        )
    weights, lacks = tag_weights(spec.class_weights, counts)
    return BinaryTokenLabelsLoss(tags, spec.other, spec.step, weights, spec.gamma, lacks)
