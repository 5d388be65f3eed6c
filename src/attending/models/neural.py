"""Neural models: one network, one forward pass, for every recipe with an encoder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from attending import registry
from attending.data.batches import by_length, collate
from attending.data.windows import Windowed, Windower
from attending.errors import EncoderError, ModelError
from attending.models.attribution import METHODS, attribute
from attending.models.base import (
    Progress,
    Scored,
    TokenScores,
    decide,
    require_method,
    unreadable,
)
from attending.parts.decoders import Decision
from attending.parts.encoders import Encoder
from attending.recipe import Recipe
from attending.records import Coverage, Document, LabelSet, Prediction, Row, Unreadable
from attending.tensors import AttentionTrace, Batch, LabelStates, Outputs

WEIGHTS = "model.safetensors"
_BATCH = 32
_CHUNK = 2048


class Network(nn.Module):
    """Encoder, label states, label attention, head and loss of one recipe.

    Args:
        recipe: A neural recipe.
        labels: The labels to score.
        folder: An encoder folder to take the shape from, weights left untrained.
        counts: The labels' counts in the training rows, for class weights.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        *,
        folder: Path | None = None,
        counts: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.encoder: Encoder = registry.build(recipe["encoder"], folder=folder)
        context: dict[str, Any] = {"encoder": self.encoder, "labels": labels, "counts": counts}
        states = recipe.get("label_states")
        self.label_states = None if states is None else registry.build(states, **context)
        self.label_attention = registry.build(recipe["label_attention"], **context)
        self.head = registry.build(recipe["head"], **context)
        self.loss = registry.build(recipe["loss"], **context)
        self.pool: str = recipe["windows"].pool

    def forward(self, batch: Batch, trace: AttentionTrace | None = None) -> Outputs:
        """Score a batch: logits (B, L), and the loss where targets are given."""
        labels: LabelStates | None = None if self.label_states is None else self.label_states()
        attended = self.label_attention(self.encoder, batch.ids, batch.mask, labels, trace)
        logits = pool_windows(self.head(attended.context), batch.document, batch.size, self.pool)
        loss = None
        if batch.targets is not None:
            own = None if labels is None else self.head(labels.states)
            loss = self.loss(logits, batch.targets, own)
        return Outputs(logits, loss, attended.context)


def pool_windows(logits: Tensor, document: Tensor, size: int, how: str) -> Tensor:
    """Merge the logits of a document's windows, (W, L) to (B, L), by maximum or mean.

    Source: maximum over windows, as in the public code of label-description attention.
    """
    if len(logits) == size:
        return logits
    index = document.unsqueeze(1).expand_as(logits)
    out = torch.zeros(size, logits.shape[1], dtype=logits.dtype, device=logits.device)
    reduce = "amax" if how == "max" else "mean"
    return out.scatter_reduce(0, index, logits, reduce, include_self=False)


class NeuralModel:
    """A network with its labels, its decision and the way texts become windows.

    Args:
        recipe: How it was made.
        labels: The labels, in the order of the network's scores.
        network: The network, fitted.
        decision: How scores become labels.
        facts: What is known of its training.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        network: Network,
        decision: Decision | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.recipe, self.labels, self.network, self.facts = recipe, labels, network, facts
        self.decision = decision or registry.build(recipe["decoder"])
        encoder = network.encoder
        self.windower: Windower = registry.build(
            recipe["windows"], tokenizer=encoder.tokenizer, limit=encoder.limits.effective
        )
        self.pad = int(encoder.tokenizer.pad_token_id)

    @property
    def methods(self) -> tuple[str, ...]:
        """Attribution methods that the network can give, best first."""
        attention = self.network.label_attention
        labelled = self.network.label_states is not None
        return tuple(
            name
            for name, method in METHODS.items()
            if (attention.reads_cls or not method.needs_cls)
            and (labelled or not method.needs_labels)
            and (not attention.reads_cls or not method.needs_mean)
        )

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order; float32, whatever the training precision."""
        results: list[Scored] = [Scored("failed", Coverage(0, 0, 0))] * len(rows)
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            self._score_chunk(chunk, results, start, len(rows), progress)
        return results

    def _score_chunk(
        self,
        rows: Sequence[Row],
        results: list[Scored],
        start: int,
        total: int,
        progress: Progress | None,
    ) -> None:
        texts = [row.text for row in rows if isinstance(row, Document)]
        windowed = iter(self.windower(texts))
        to_read: list[tuple[int, Windowed]] = []
        for i, row in enumerate(rows, start):
            if isinstance(row, Unreadable):
                results[i] = unreadable(row)
                continue
            document = next(windowed)
            if document.windows:
                to_read.append((i, document))
            else:
                results[i] = Scored(document.status, document.read, None, document.status)
        done = start + len(rows) - len(to_read)
        for batch in by_length([d.length for _, d in to_read], _BATCH):
            members = [to_read[i] for i in batch]
            for (i, document), logits in zip(
                members, self._logits([d for _, d in members]), strict=True
            ):
                finite = bool(np.isfinite(logits).all())
                results[i] = (
                    Scored("ok", document.read, logits)
                    if finite
                    else Scored("failed", document.read, None, "the scores are not finite")
                )
            done += len(batch)
            if progress is not None:
                progress(done, total)

    def _logits(self, documents: Sequence[Windowed]) -> NDArray[np.float64]:
        self.network.eval()
        # While it trains, the network may be on an accelerator.
        batch = collate(documents, self.pad).to(self.network.head.out.weight.device)
        with torch.inference_mode():
            logits = self.network(batch).logits
        return np.asarray(logits.float().cpu().double().numpy())

    def predict(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Prediction]:
        """Return a prediction for each row, in order."""
        return decide(rows, self.scores(rows, progress=progress), self.labels, self.decision)

    def token_scores(
        self,
        documents: Sequence[Document],
        *,
        method: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> list[TokenScores]:
        """Return scores of each document's tokens by a method of ``methods``.

        ``labels`` limits per-label methods to some labels. A document with nothing to read gets
        no tokens.
        """
        chosen = require_method(method, self.methods, self.recipe.name)
        ids = self.labels.ids if labels is None else tuple(labels)
        positions = {i: self.labels.position(i) for i in ids}
        windowed = self.windower([d.text for d in documents])
        return attribute(self.network, windowed, self.pad, chosen, positions)

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Return the vectors that the head reads, (N, H); windows are averaged.

        Raises:
            ModelError: If a document has nothing to read.
        """
        windowed = self.windower([d.text for d in documents])
        if any(not w.windows for w in windowed):
            raise ModelError("a document without text has no vector", step="Leave it out.")
        out = np.zeros((len(windowed), self.network.encoder.width), dtype=np.float32)
        self.network.eval()
        for batch in by_length([w.length for w in windowed], _BATCH):
            packed = collate([windowed[i] for i in batch], self.pad)
            with torch.inference_mode():
                vectors = self.network(packed).pooled
            merged = pool_windows(vectors, packed.document, packed.size, "mean")
            out[batch] = merged.float().numpy()
        return out

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and the encoder's configuration and tokenizer."""
        self.network.encoder.train_all()
        state = {k: v.detach().contiguous().clone() for k, v in self.network.state_dict().items()}
        save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
        self.network.encoder.save(folder / "encoder")

    @classmethod
    def load(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision,
        facts: Mapping[str, Any],
    ) -> "NeuralModel":
        """Read what ``save`` wrote; opens no socket.

        Raises:
            ModelError: If weights are missing or don't fit the recipe.
        """
        try:
            network = Network(recipe, labels, folder=folder / "encoder")
            network.load_state_dict(load_file(folder / WEIGHTS))
        except (EncoderError, SafetensorError, OSError) as error:
            what = f"the model folder is damaged: {error}"
            raise ModelError(what, where=str(folder)) from error
        except RuntimeError as error:
            reason = " ".join(str(error).split()[:30])
            raise ModelError(
                f"the weights don't fit the recipe: {reason}", where=str(folder)
            ) from error
        network.eval()
        return cls(recipe, labels, network, decision, facts)
