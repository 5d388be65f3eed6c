"""Scores of words by a network."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from attending import registry
from attending.data.layout import by_length
from attending.data.tagging.batches import collate_units
from attending.data.tagging.units import Unit, units_of
from attending.data.tagging.words import Words
from attending.data.windows import Windowed, Windower
from attending.errors import EncoderError, ModelError
from attending.models.precision import computing_in
from attending.models.tagging.network import TagNetwork
from attending.models.tagging.scores import WordScores
from attending.parts.tagging.chains import Chain
from attending.parts.tagging.crf import ChainLoss
from attending.parts.tagging.shapes import ShapeIndex
from attending.recipe import Recipe
from attending.records import LabelSet
from attending.tags import TagSet

WEIGHTS = "model.safetensors"
_BATCH = 32
_TOKENS = 4096


class NeuralScorer:
    """A network, and the way texts become windows of words.

    Attributes:
        precision: What it answers in, see ``answer_in``.

    Args:
        recipe: How it was made.
        network: The network, fitted.
    """

    def __init__(self, recipe: Recipe, network: TagNetwork) -> None:
        self.network = network
        encoder = network.encoder
        self.windower: Windower = registry.build(
            recipe["windows"], tokenizer=encoder.tokenizer, limit=encoder.limits.effective
        )
        self.windower.index = None if network.surface is None else ShapeIndex()
        self.pad = int(encoder.tokenizer.pad_token_id)
        self.precision = "float32"

    @property
    def chain(self) -> Chain | None:
        """What a CRF has learned of sequences of tags, or ``None``."""
        loss = self.network.loss
        if not isinstance(loss, ChainLoss):
            return None
        found = (loss.moves, loss.starts, loss.ends)
        return Chain(*(t.detach().cpu().double().numpy() for t in found))

    def score(self, texts: Sequence[str], words: Sequence[Words]) -> list[WordScores]:
        """Return the scores of the words of each text.

        In ``precision``, whatever the training's; while it trains, in that.
        Windows of all texts are batched by length, and each word's scores are those of the window
        in whose middle it lies most.
        """
        windowed = self.windower(texts)
        units = [
            u for i, (w, own) in enumerate(zip(windowed, words, strict=True))
            for u in units_of(w, own, i)
        ]  # fmt: skip
        sizes = np.array([len(w) for w in words], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        logits: NDArray[np.float32] | None = None
        scored = np.zeros(int(sizes.sum()), dtype=bool)
        self.network.eval()
        for batch in by_length([len(u.window.ids) for u in units], _BATCH, _TOKENS):
            members = [units[i] for i in batch]
            found = self._logits(members)
            where = np.concatenate([starts[u.document] + u.words for u in members])
            if logits is None:
                logits = np.zeros((len(scored), *found.shape[1:]), dtype=np.float32)
            logits[where] = found
            scored[where] = True
        if logits is None:
            logits = np.zeros((len(scored), 1, 1), dtype=np.float32)
        return [
            _scores(w, logits[start : start + size], scored[start : start + size])
            for w, start, size in zip(windowed, starts.tolist(), sizes.tolist(), strict=True)
        ]

    def _logits(self, units: Sequence[Unit]) -> NDArray[np.float32]:
        # While it trains, the network may be on an accelerator.
        batch = collate_units(units, self.pad).to(self.network.device)
        with torch.inference_mode(), computing_in(self.precision, self.network.device):
            return np.asarray(self.network(batch).logits.float().cpu().numpy())

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and the encoder's configuration and tokenizer."""
        self.network.encoder.train_all()
        self.network.eval()
        if self.network.label_states is not None:
            with torch.inference_mode():
                self.network.label_states()
        state = {k: v.detach().contiguous().clone() for k, v in self.network.state_dict().items()}
        save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
        self.network.encoder.save(folder / "encoder")

    @classmethod
    def load(cls, folder: Path, recipe: Recipe, labels: LabelSet, tags: TagSet) -> "NeuralScorer":
        """Read what ``save`` wrote; opens no socket.

        Raises:
            ModelError: If weights are missing or don't fit the recipe.
        """
        try:
            network = TagNetwork(recipe, labels, tags, folder=folder / "encoder")
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
        return cls(recipe, network)


def _scores(
    windowed: Windowed, logits: NDArray[np.float32], scored: NDArray[np.bool_]
) -> WordScores:
    numbers = np.flatnonzero(scored)
    kept = logits[numbers].astype(np.float64)
    if not windowed.windows:
        return WordScores(numbers, kept, windowed.read, windowed.status, windowed.status)
    if not np.isfinite(kept).all():
        nothing = numbers[:0]
        return WordScores(nothing, kept[:0], windowed.read, "failed", "the scores are not finite")
    return WordScores(numbers, kept, windowed.read)
