"""An exported model at work: ONNX Runtime and a tokenizer, no torch.

Letters: W windows, T tokens, B documents, S columns of a document, L labels, H width.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attending import registry
from attending.data.layout import by_length, document_layout, over_tokens, words_under
from attending.data.windows import Windowed, Windower
from attending.errors import MissingExtra, ModelError
from attending.export.probe import require_same_scores
from attending.export.signature import (
    GRAPH,
    PARITY,
    PLANTED,
    PROBE,
    TOKENIZER,
    WORDS,
    Signature,
)
from attending.export.tokens import FastTokenizer
from attending.models.base import Progress, Scored, TokenScores, predict_in_chunks, require_method
from attending.models.windowed import score_windowed
from attending.parts.decoders import Decision
from attending.parts.planting.word_index import WordIndex
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Prediction, Row

if TYPE_CHECKING:
    from attending.parts.lexical import LexicalScorer

MATCHES = "matches"
"""The method of words that stand for labels."""
THREADS = "ATTENDING_THREADS"
"""Environment variable: how many threads one exported model uses; all processors if unset."""
_BATCH = 32
_COPIED = (GRAPH, TOKENIZER, PARITY, PROBE)
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Packed:
    """Some documents as a graph takes them.

    document (W,): the row of each window's document; positions (B, S): the number of the text's
    token in each column, -1 for others, where documents are joined.
    """

    windowed: Sequence[Windowed]
    inputs: Mapping[str, NDArray[Any]]
    document: NDArray[np.int64]
    positions: NDArray[np.int64] | None = None


class ExportedModel:
    """A model folder's graph with its labels, its decision and the way texts become windows.

    With int8 weights a document is scored by itself: the range in which its activations are
    rounded is that of all that is scored together, so batch mates would move its scores.

    Args:
        folder: The exported folder.
        recipe: How the model was made.
        labels: The labels, in the order of the graph's scores.
        decision: How scores become labels.
        facts: What is known of its training and its export.
        threads: How many threads a call uses; by default what ``ATTENDING_THREADS`` says, else as
            many as there are processors.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision,
        facts: Mapping[str, Any],
        threads: int | None = None,
    ) -> None:
        self.folder, self.recipe, self.labels = folder, recipe, labels
        self.decision, self.facts = decision, facts
        self.signature = Signature.read(facts, folder)
        self.windower: Windower = registry.build(
            recipe["windows"],
            tokenizer=FastTokenizer.read(folder / TOKENIZER),
            limit=self.signature.limit,
        )
        self.words = _read_words(folder, recipe, labels) if self.signature.listens else None
        if self.signature.plants:
            self.windower.index = WordIndex(FastTokenizer.read(folder / PLANTED / TOKENIZER))
        self._threads = threads or _threads()
        self._session, self._options = open_graph(folder / GRAPH, self._threads)
        self._alone: Any = self._session if self._threads == 1 else None
        self._batch = 1 if self.signature.int8 else _BATCH
        require_same_scores(self)

    @property
    def methods(self) -> tuple[str, ...]:
        """Attribution methods that the graph, and words beside it, can give, best first."""
        own = (self.signature.method,) if self.signature.method else ()
        return own if self.words is None else (MATCHES, *own)

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order.

        A batch's products are shared by the threads. An int8 graph, which reads documents one by
        one, scores several with a thread each: a short message is too little work to be shared.
        """
        if self._batch > 1 or len(rows) == 1 or self._threads == 1:
            return score_windowed(rows, self.windower, self.logits, self._batch, progress)
        if self._alone is None:
            self._alone, _ = open_graph(self.folder / GRAPH, 1)
        with ThreadPoolExecutor(self._threads) as pool:
            score = partial(self._scored, self._alone)
            return score_windowed(rows, self.windower, score, self._batch, progress, pool.map)

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

        Raises:
            ModelError: If it has no such method, or none at all.
        """
        chosen = require_method(method, self.methods, self.recipe.name)
        ids = self.labels.ids if labels is None else tuple(labels)
        if self.words is not None and chosen == MATCHES:
            from attending.models.matches import match_scores

            return [match_scores(self.words.view, d, ids) for d in documents]
        wanted = np.array([self.labels.position(i) for i in ids], dtype=np.int64)
        windowed = self.windower([d.text for d in documents])
        results = [TokenScores(w.offsets, {}) for w in windowed]
        readable = [i for i, w in enumerate(windowed) if w.windows]
        for group in by_length([windowed[i].length for i in readable], self._batch):
            members = [readable[i] for i in group]
            packed = self._pack([documents[i] for i in members], [windowed[i] for i in members])
            (weights,) = self._run(["weights"], {**packed.inputs, "labels": wanted})
            for place, i in enumerate(members):
                results[i] = TokenScores(
                    windowed[i].offsets, self._of_document(packed, weights, place, ids)
                )
        return results

    def _of_document(
        self, packed: "Packed", weights: Floats, place: int, ids: Sequence[str]
    ) -> dict[str | None, tuple[float, ...]]:
        """Return one document's scores per label: of (W, T), (W, l, T) or (B, l, S)."""
        if packed.positions is not None:
            here = packed.positions[place] >= 0
            unread = (0.0,) * (len(packed.windowed[place].offsets) - int(here.sum()))
            return {
                label: (*weights[place, k, here].tolist(), *unread) for k, label in enumerate(ids)
            }
        windowed, table = packed.windowed[place], weights[packed.document == place]
        if not self.signature.by_label:
            return {None: over_tokens(windowed, table, adds_up=False)}
        return {
            label: over_tokens(windowed, table[:, k], adds_up=False) for k, label in enumerate(ids)
        }

    def pooled(self, documents: Sequence[Document]) -> Floats:
        """Return the vectors that the head reads, (N, H); windows are averaged.

        Raises:
            ModelError: If a document has nothing to read.
        """
        windowed = self.windower([d.text for d in documents])
        if any(not w.windows for w in windowed):
            raise ModelError("a document without text has no vector", step="Leave it out.")
        rows: list[Floats | None] = [None] * len(documents)
        for group in by_length([w.length for w in windowed], self._batch):
            packed = self._pack([documents[i] for i in group], [windowed[i] for i in group])
            (found,) = self._run(["pooled"], packed.inputs)
            if not self.signature.joins:
                found = merge(found, packed.document, len(group), "mean")
            for i, row in zip(group, found, strict=True):
                rows[i] = row
        return np.stack([row for row in rows if row is not None])

    def logits(
        self, documents: Sequence[Document], windowed: Sequence[Windowed]
    ) -> NDArray[np.float64]:
        """Return raw scores (B, L) of documents, which must have windows."""
        return self._scored(self._session, documents, windowed)

    def _scored(
        self, session: Any, documents: Sequence[Document], windowed: Sequence[Windowed]
    ) -> NDArray[np.float64]:
        packed = self._pack(documents, windowed)
        (found,) = self._run(["logits"], packed.inputs, session)
        if not self.signature.joins:
            found = merge(found, packed.document, len(windowed), self.signature.pool)
        return found.astype(np.float64)

    def _pack(self, documents: Sequence[Document], windowed: Sequence[Windowed]) -> Packed:
        rows = [(i, w.ids) for i, d in enumerate(windowed) for w in d.windows]
        shape = len(rows), max(len(ids) for _, ids in rows)
        ids = np.full(shape, self.signature.pad, np.int64)
        mask = np.zeros(shape, bool)
        for row, (_, window) in enumerate(rows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = True
        inputs: dict[str, NDArray[Any]] = {"ids": ids, "mask": mask}
        positions = None
        if self.signature.joins:
            inputs["layout"], positions = document_layout(windowed, shape[1])
        if self.words is not None:
            inputs |= _matches(self.words, documents)
        if self.signature.plants:
            inputs["words"] = words_under(windowed, shape[1])
        return Packed(windowed, inputs, np.array([i for i, _ in rows]), positions)

    def _run(
        self,
        outputs: Sequence[str],
        inputs: Mapping[str, NDArray[Any]],
        session: Any | None = None,
    ) -> list[Floats]:
        """Compute some outputs, and nothing that they don't need."""
        none = np.zeros(0, np.int64)
        feeds = {name: inputs.get(name, none) for name in self.signature.inputs}
        found = (session or self._session).run(list(outputs), feeds, self._options)
        return list(found)

    def save(self, folder: Path) -> None:
        """Copy the graph, the tokenizers and the parity report to another folder."""
        for name in _COPIED:
            if (self.folder / name).is_file():
                shutil.copyfile(self.folder / name, folder / name)
        for name in (WORDS, PLANTED):
            if (self.folder / name).is_dir():
                shutil.copytree(self.folder / name, folder / name)

    @classmethod
    def load(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision,
        facts: Mapping[str, Any],
        threads: int | None = None,
    ) -> "ExportedModel":
        """Open an exported folder; opens no socket.

        Raises:
            ModelError: If the graph or the tokenizer is missing or damaged.
            MissingExtra: If onnxruntime isn't installed.
        """
        return cls(folder, recipe, labels, decision, facts, threads)


def merge(found: Floats, document: NDArray[np.int64], size: int, how: str) -> Floats:
    """Merge rows of windows (W, N) to rows of documents (B, N), by ``max`` or ``mean``."""
    if len(found) == size:
        return found
    starts = np.searchsorted(document, np.arange(size))
    if how == "max":
        return np.asarray(np.maximum.reduceat(found, starts, axis=0))
    return np.asarray(np.add.reduceat(found, starts, axis=0) / np.bincount(document)[:, None])


def open_graph(path: Path, threads: int | None = None) -> tuple[Any, Any]:
    """Open a graph for the CPU; returns the session and the options of its runs.

    Raises:
        MissingExtra: If onnxruntime isn't installed.
        ModelError: If the graph is missing or damaged, or ``ATTENDING_THREADS`` is no number.
    """
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", "onnx", "an exported model") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # A plan of memory for every length that was ever seen would grow without end in a service.
    options.enable_mem_pattern = False
    try:
        session = onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            # On a CPU the fused kernel takes ten times as long as sum and normalisation by
            # themselves (74 tokens of width 384: 143 microseconds against 15).
            disabled_optimizers=["SkipLayerNormFusion"],
        )
    except Exception as error:  # the library's own classes share no base
        what = f"the graph can't be opened ({type(error).__name__})"
        raise ModelError(what, where=str(path)) from None
    runs = onnxruntime.RunOptions()
    runs.only_execute_path_to_fetches = True
    runs.log_severity_level = 3
    return session, runs


def _threads() -> int:
    given = os.environ.get(THREADS, "").strip()
    if not given:
        known = getattr(os, "sched_getaffinity", None)
        return len(known(0)) if known else os.cpu_count() or 1
    if not given.isdigit() or not int(given):
        raise ModelError(
            f"{THREADS} is no number of threads", found=f'"{given}"', allowed="1 or more"
        )
    return int(given)


def _read_words(folder: Path, recipe: Recipe, labels: LabelSet) -> "LexicalScorer":
    from attending.parts.lexical import (
        LexicalScorer,  # brings scikit-learn, which others don't need
    )

    return LexicalScorer.load(folder / WORDS, recipe["lexical"], labels)


def _matches(words: "LexicalScorer", documents: Sequence[Document]) -> dict[str, NDArray[Any]]:
    """Return what words say of documents, pair by pair; see ``LexicalMatches``."""
    found = words.scores(documents)
    return {
        "match_document": np.repeat(np.arange(len(found)), np.diff(found.indptr)),
        "match_label": found.labels.astype(np.int64),
        "match_score": found.values.astype(np.float32),
    }
