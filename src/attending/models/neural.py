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

from attending import registry
from attending.data.batches import collate
from attending.data.layout import by_length
from attending.data.windows import Windowed, Windower
from attending.errors import EncoderError, ModelError
from attending.models.attribution import attribute, methods_of
from attending.models.base import (
    Progress,
    Scored,
    TokenScores,
    predict_in_chunks,
    require_method,
    unreadable,
)
from attending.models.layouts import pool_windows
from attending.models.matches import match_scores
from attending.models.network import Network
from attending.models.precision import computing_in
from attending.parts.decoders import Decision
from attending.parts.lexical import LexicalScorer, LexicalScores
from attending.parts.lexical.view import METHOD as MATCHES
from attending.parts.lexical_mixture import matches_of
from attending.parts.planting.word_index import WordIndex
from attending.parts.shortlist import Shortlist
from attending.recipe import Recipe
from attending.records import Coverage, Document, LabelSet, Prediction, Row, Unreadable
from attending.tensors import LexicalMatches

WEIGHTS = "model.safetensors"
PLANTED = "words"
SHORTLIST = "shortlist"
_BATCH = 32
_CHUNK = 2048


class NeuralModel:
    """A network with its labels, its decision and the way texts become windows.

    Attributes:
        precision: What it answers in, see ``answer_in``.
        held: After training, what words say of the training rows, each by a view that had not seen
            it, for networks that listen; not saved.

    Args:
        recipe: How it was made.
        labels: The labels, in the order of the network's scores.
        network: The network, fitted.
        decision: How scores become labels.
        facts: What is known of its training.
        words: What knows the labels' words, for networks that listen to them in a text, or whose
            labels are described by them.
        index: The words under the tokens, for attention that is planted.
        shortlist: What says which labels of a document are scored, if not all are.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        network: Network,
        decision: Decision | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
        words: LexicalScorer | None = None,
        index: WordIndex | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        self.recipe, self.labels, self.network, self.facts = recipe, labels, network, facts
        self.words, self.shortlist = words, shortlist
        self.held: LexicalScores | None = None
        self.decision = decision or registry.build(recipe["decoder"])
        encoder = network.encoder
        self.windower: Windower = registry.build(
            recipe["windows"], tokenizer=encoder.tokenizer, limit=encoder.limits.effective
        )
        self.windower.index = index
        self.index = index
        self.pad = int(encoder.tokenizer.pad_token_id)
        self.precision = "float32"

    @property
    def methods(self) -> tuple[str, ...]:
        """Attribution methods that the network can give, best first."""
        own = methods_of(self.network)
        # Words that stand for a label are what a reader would mark; attention is more diffuse.
        return own if self._heard is None else (MATCHES, *own)

    @property
    def _heard(self) -> LexicalScorer | None:
        """What the network listens to; its words may also be there for the labels' texts alone."""
        return None if self.network.lexical is None else self.words

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order.

        In ``precision``, whatever the training's; while it trains, in that.
        """
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
        documents = [row for row in rows if isinstance(row, Document)]
        windowed = iter(self.windower([d.text for d in documents]))
        to_read: list[tuple[int, Windowed]] = []
        readable: list[Document] = []
        for i, row in enumerate(rows, start):
            if isinstance(row, Unreadable):
                results[i] = unreadable(row)
                continue
            document = next(windowed)
            if document.windows:
                to_read.append((i, document))
                readable.append(row)
            else:
                results[i] = Scored(document.status, document.read, None, document.status)
        words = None if self._heard is None else self._heard.scores(readable)
        listed = None if self.shortlist is None else self.shortlist.pick(readable)
        done = start + len(rows) - len(to_read)
        for batch in by_length([d.length for _, d in to_read], _BATCH):
            members = [to_read[i] for i in batch]
            found = None if words is None else matches_of(words, batch)
            which = None if listed is None else listed[batch]
            for (i, document), logits in zip(
                members, self._logits([d for _, d in members], found, which), strict=True
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

    def _logits(
        self,
        documents: Sequence[Windowed],
        words: LexicalMatches | None = None,
        listed: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        self.network.eval()
        batch = collate(
            documents, self.pad, join=self.network.joins, lexical=words, shortlist=listed
        )
        # While it trains, the network may be on an accelerator.
        batch = batch.to(self.network.device)
        with torch.inference_mode(), computing_in(self.precision, self.network.device):
            logits = self.network(batch).logits
        return np.asarray(logits.float().cpu().double().numpy())

    def predict(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Prediction]:
        """Return a prediction for each row, in order."""
        return predict_in_chunks(self, rows, progress)

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
        if self._heard is not None and chosen == MATCHES:
            return [match_scores(self._heard.view, d, ids) for d in documents]
        positions = {i: self.labels.position(i) for i in ids}
        windowed = self.windower([d.text for d in documents])
        return attribute(self.network, windowed, self.pad, chosen, positions)

    def pooled(
        self, documents: Sequence[Document], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors that the head reads, (N, H); windows are averaged.

        Raises:
            ModelError: If a document has nothing to read.
        """
        windowed = self.windower([d.text for d in documents])
        if any(not w.windows for w in windowed):
            raise ModelError("a document without text has no vector", step="Leave it out.")
        out = np.zeros((len(windowed), self.network.encoder.width), dtype=np.float32)
        self.network.eval()
        done = 0
        for batch in by_length([w.length for w in windowed], _BATCH):
            packed = collate([windowed[i] for i in batch], self.pad, join=self.network.joins)
            packed = packed.to(self.network.device)
            with torch.inference_mode():
                vectors = self.network(packed).pooled
            merged = pool_windows(vectors, packed.document, packed.size, "mean")
            out[batch] = merged.float().cpu().numpy()
            done += len(batch)
            if progress is not None:
                progress(done, len(windowed))
        return out

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and the encoder's configuration and tokenizer.

        What the encoder reads of the labels is among them, so that a loaded model need not.
        """
        self.network.encoder.train_all()
        self.network.eval()
        if self.network.label_states is not None:
            with torch.inference_mode():
                self.network.label_states()
        state = {k: v.detach().contiguous().clone() for k, v in self.network.state_dict().items()}
        save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
        self.network.encoder.save(folder / "encoder")
        if self.words is not None:
            self.words.save(folder)
        if self.index is not None:
            self.index.save(folder / PLANTED)
        if self.shortlist is not None:
            self.shortlist.save(folder / SHORTLIST)

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
            ModelError: If weights are missing or don't fit the recipe, or the lexical view is
                damaged.
        """
        words, known = None, labels
        if knows_words(recipe):
            words = LexicalScorer.load(folder, recipe["lexical"], labels)
            known = words.with_synonyms(labels, recipe["lexical"].synonyms)
        try:
            index = WordIndex.load(folder / PLANTED) if plants(recipe) else None
            words_known = None if index is None else len(index)
            network = Network(recipe, known, folder=folder / "encoder", words=words_known)
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
        first = recipe.get("shortlist")
        listed = None if first is None else Shortlist.load(folder / SHORTLIST, first, labels)
        return cls(recipe, labels, network, decision, facts, words, index, listed)


def knows_words(recipe: Recipe) -> bool:
    """Say whether a recipe needs a lexical view, to listen to or to describe labels by."""
    spec = recipe.get("lexical")
    return spec is not None and (spec.weight > 0 or spec.synonyms > 0)


def plants(recipe: Recipe) -> bool:
    """Say whether a recipe plants its attention."""
    spec = recipe.get("planting")
    return spec is not None and bool(spec.plants)
