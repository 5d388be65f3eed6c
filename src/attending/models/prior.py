"""What is known of labels before anything is known of a document."""

from collections.abc import Sequence

from torch import Tensor

from attending.parts.heads import prior_logits
from attending.recipe import Recipe


def prior_of(recipe: Recipe, counts: Sequence[int], documents: int) -> Tensor:
    """Return the logits (L,) from which a recipe's loss would train a network without inputs.

    counts: training rows of each label; documents: training rows with labels. Where a row has one
    label, no loss shifts its logits.
    """
    shift = recipe["loss"].shift(counts, documents) if recipe.task == "multi" else 0.0
    return prior_logits(counts, documents, shift)
