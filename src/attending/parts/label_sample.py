"""A step of training on some of the labels, which speak for all of them.

Letters: B documents, L labels, l labels of a step, Z pairs with a match, K views.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attending.tensors import LexicalMatches


@dataclass(frozen=True, slots=True, eq=False)
class LabelSample:
    """The labels of one step: the batch's own, and others drawn at random.

    Each label left out is stood in for by one of those drawn, which no document of the batch has
    either. Which one is a matter of chance, and all stand in for equally many (one more or less).
    So a loss that is a mean over documents x labels, and its gradient, are in expectation what
    they are with all labels, whatever the loss does with true labels; an F-measure or a softmax
    comes near it. Source: importance sampling of the labels a document lacks, as in Bengio and
    Senecal 2003 ("Quick training of probabilistic neural nets by importance sampling"), with
    equal chances and no frequencies to know.

    Attributes:
        which: The labels of the step, rising positions, (l,).
        others: Those among them that no document of the batch has, in the order drawn.
        column: For each label the place in ``which`` of what stands for it, (L,); its own for one
            of the step.
    """

    which: Tensor
    others: Tensor
    column: Tensor

    def whole(self, logits: Tensor) -> Tensor:
        """Return logits of all labels (B, L) made of those of the step, (B, l)."""
        return logits[:, self.column]

    def matches(self, words: LexicalMatches) -> LexicalMatches:
        """Return what words say of the labels of the step, as if there were no others."""
        place = torch.full_like(self.column, -1)
        place[self.which] = torch.arange(len(self.which), device=place.device)
        kept = place[words.label] >= 0
        return LexicalMatches(
            document=words.document[kept],
            label=place[words.label[kept]],
            score=words.score[kept],
            view=words.view,
            silent=words.silent[:, self.which],
            counts=words.counts[:, self.which],
        )


def label_sample(targets: Tensor | None, labels: int, size: int) -> LabelSample | None:
    """Draw the labels of a step: those of ``targets`` and ``size`` others.

    targets: (B, L), true where above 0, or (B,) positions; ``None`` if no document has labels.
    Returns ``None`` where that leaves no label out.
    """
    own = torch.zeros(labels, dtype=torch.bool)
    if targets is not None:
        own |= (targets > 0).any(dim=0).cpu() if targets.ndim == 2 else _named(targets, labels)
    lacking = torch.nonzero(~own).flatten()
    if not size or len(lacking) <= size:
        return None
    lacking = lacking[torch.randperm(len(lacking))]
    others = lacking[:size]
    own[others] = True
    which = torch.nonzero(own).flatten()
    column = torch.empty(labels, dtype=torch.int64)
    column[which] = torch.arange(len(which))
    column[lacking] = column[others].repeat(-(-len(lacking) // size))[: len(lacking)]
    device = None if targets is None else targets.device
    return LabelSample(which.to(device), others.to(device), column.to(device))


def _named(targets: Tensor, labels: int) -> Tensor:
    return torch.bincount(targets.cpu(), minlength=labels) > 0
