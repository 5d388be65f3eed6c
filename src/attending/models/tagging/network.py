"""The network of taggers: encoder, head and loss over the words of windows."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attending import registry
from attending.data.tagging.batches import TagBatch
from attending.parts.described import DescribedLabels
from attending.parts.encoders import Encoder
from attending.recipe import Recipe
from attending.records import LabelSet
from attending.tags import TagSet
from attending.tensors import LabelStates, Outputs


class TagNetwork(nn.Module):
    """Encoder, label states, head and loss of one recipe that tags.

    Args:
        recipe: A neural recipe that tags.
        labels: The types to tag.
        tags: Their tags.
        folder: An encoder folder to take the shape from, weights left untrained.
        context: What else builders need: ``counts`` of tags (K, C), ``texts`` and ``seed``.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        tags: TagSet,
        *,
        folder: Path | None = None,
        **context: Any,
    ) -> None:
        super().__init__()
        self.encoder: Encoder = registry.build(recipe["encoder"], folder=folder, **context)
        context |= {"encoder": self.encoder, "labels": labels, "tags": tags}
        surface = recipe.get("surface")
        self.surface = None if surface is None else registry.build(surface, **context)
        states = recipe.get("label_states")
        if states is None:
            self.label_states = None
        else:
            # Counts of tags are none of labels, which label states would take them for.
            fitting = {k: v for k, v in context.items() if k != "counts"}
            self.label_states = registry.build(states, width=self.encoder.width, **fitting)
        self.head = registry.build(recipe["head"], **context)
        self.loss = registry.build(recipe["loss"], **context)

    @property
    def device(self) -> torch.device:
        """Where the network's weights are."""
        found: torch.device = next(self.head.parameters()).device
        return found

    def forward(self, batch: TagBatch) -> Outputs:
        """Score words: logits (N, K, C), and the loss where targets are given."""
        if batch.targets is None:
            return Outputs(self.logits(batch))
        if self.training and self.loss.copies:
            return self._copies(batch, self.loss.copies_of(batch.targets))
        logits = self.logits(batch)
        return Outputs(logits, self.loss(logits, batch.targets, batch.lengths))

    def logits(self, batch: TagBatch) -> Tensor:
        """Return the scores of words, (N, K, C)."""
        labels: LabelStates | None = None
        if self.label_states is not None:
            labels = self.label_states()
        states = self._encoded(batch).flatten(0, 1)[batch.cells]
        logits: Tensor = self.head(states, labels)
        return logits

    def _encoded(self, batch: TagBatch) -> Tensor:
        """Return the states of pieces, (W, T, H)."""
        if self.surface is None:
            read = self.encoder(batch.ids, batch.mask)
        else:
            vectors = self.surface(self.encoder.word_embeddings(batch.ids), batch.shapes)
            read = self.encoder(None, batch.mask, embeddings=vectors)
        states: Tensor = read.states
        return states

    def finish(self) -> None:
        """Settle what follows from training, after it."""
        if isinstance(self.label_states, DescribedLabels):
            self.label_states.finish()

    def _copies(self, batch: TagBatch, targets: list[Tensor]) -> Outputs:
        """Score every copy by itself, one held at a time; the loss is their mean."""
        losses = []
        for own in targets:
            run = partial(self._scored, batch, own)
            again = len(targets) > 1
            logits, loss = checkpoint(run, use_reentrant=False) if again else run()
            losses.append(loss)
        return Outputs(logits, torch.stack(losses).mean())

    def _scored(self, batch: TagBatch, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.logits(batch)
        return logits, self.loss(logits, targets, batch.lengths)
