"""Taggers: scores of words, a decision, and spans with true offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from attending import registry
from attending.data.tagging.schemes import SpanScheme
from attending.data.tagging.words import Words, words_of
from attending.errors import ModelError
from attending.models.base import Progress
from attending.models.tagging.scores import Scorer, WordScores
from attending.parts.tagging.decision import SpanDecision
from attending.parts.tagging.neighbours import Neighbours
from attending.recipe import Recipe
from attending.records import Coverage, Document, LabelSet, Prediction, Row, Span, Unreadable
from attending.tags import TagSet

NEIGHBOURS = "neighbours.safetensors"
_LEAST = np.log(1e-6)
"""Log probabilities below this are alike to neighbours: what a CRF can't do has none at all."""
_CHUNK = 100_000
"""Characters of documents that are scored at a time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Words of some rows, their scores and their best tags.

    scored: of each row its words, and the scores of those that were read, N in all; tags (N, K);
    likely (N, K, C): log probabilities.
    """

    scored: Sequence[tuple[Words, WordScores]]
    tags: NDArray[np.int64]
    likely: NDArray[np.float64]


class TaggerModel:
    """Finds labelled spans.

    Args:
        recipe: How it was made.
        labels: The types that it knows.
        scorer: Scores words.
        decision: How scores become spans.
        neighbours: Training words that vote, or ``None``.
        facts: What is known of its training.
    """

    methods: tuple[str, ...] = ()

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        scorer: Scorer,
        decision: SpanDecision | None = None,
        neighbours: Neighbours | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.recipe, self.labels, self.facts = recipe, labels, facts
        self.scorer, self.neighbours = scorer, neighbours
        self.decision: SpanDecision = decision or registry.build(recipe["decoder"])
        self.scheme: SpanScheme = registry.build(recipe["scheme"], labels=labels)

    @property
    def tags(self) -> TagSet:
        """The tags of words."""
        return self.scheme.tags

    def scores(self, rows: Sequence[Row]) -> list[WordScores]:
        """Return the raw scores of each row's words, in order."""
        return [s for _, s in self._scored(rows)]

    def _scored(self, rows: Sequence[Row]) -> list[tuple[Words, WordScores]]:
        documents = [r for r in rows if isinstance(r, Document)]
        words = [words_of(d) for d in documents]
        found = iter(zip(words, self.scorer.score([d.text for d in documents], words), strict=True))
        nothing = np.zeros((0, *self.tags.shape))
        return [
            next(found)
            if isinstance(row, Document)
            else ((), WordScores(
                np.arange(0), nothing, Coverage(0, 0, 0), "failed", row.reason))
            for row in rows
        ]  # fmt: skip

    def predict(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Prediction]:
        """Return a prediction for each row, in order, with its spans in text order."""
        predictions: list[Prediction] = []
        for start, end in _chunks(rows):
            chunk = rows[start:end]
            predictions += self.decided(chunk, self.judged(chunk))
            if progress is not None:
                progress(end, len(rows))
        return predictions

    def judged(self, rows: Sequence[Row]) -> Judged:
        """Score the words of rows, and find their best tags."""
        scored = self._scored(rows)
        read = [s.logits for _, s in scored if len(s.numbers)]
        logits = np.concatenate(read) if read else np.zeros((0, *self.tags.shape))
        if not read:
            return Judged(scored, np.zeros((0, self.tags.shape[0]), dtype=np.int64), logits)
        return Judged(scored, *self.tagged(logits, [len(s.numbers) for _, s in scored]))

    def decided(self, rows: Sequence[Row], judged: Judged) -> list[Prediction]:
        """Return the prediction for each row that its words' tags make, as ``predict`` does."""
        spans: list[list[Span]] = [[] for _ in rows]
        scored, tags, likely = judged.scored, judged.tags, judged.likely
        lengths = [len(s.numbers) for _, s in scored]
        if any(lengths):
            runs, scores = self.decision.runs(tags, likely, lengths, self.tags)
            bounds = np.concatenate(
                [
                    np.array(words, dtype=np.int64)[s.numbers]
                    for words, s in scored
                    if len(s.numbers)
                ]
            )
            starts, ends = bounds[runs.first, 0].tolist(), bounds[runs.last, 1].tolist()
            columns = runs.text.tolist(), starts, ends, runs.label.tolist(), scores.tolist()
            for text, first, last, label, score in zip(*columns, strict=True):
                if score >= self.decision.min_score:
                    spans[text].append(Span(first, last, self.labels.ids[label], score=score))
        return [
            Prediction(
                id=row.id,
                status=s.status,  # type: ignore[arg-type]
                read=s.read,
                reason=s.reason,
                spans=tuple(found),
            )
            for row, found, (_, s) in zip(rows, spans, scored, strict=True)
        ]

    def tagged(
        self, logits: NDArray[np.float64], lengths: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return tags (N, K) and log probabilities (N, K, C) of the words of some texts."""
        chain = self.scorer.chain
        if self.neighbours is None:
            return self.decision.tags(logits, lengths, self.tags, chain)
        likely = self.decision.likely(logits, lengths, self.tags, chain)
        places = logits if chain is None else _settled(likely)
        likely = self.neighbours.mixed(places, likely)
        return self.decision.decoded(likely, lengths, self.tags), likely

    def places(self, logits: NDArray[np.float64], lengths: Sequence[int]) -> NDArray[np.float64]:
        """Return where the words of some texts lie among others that may vote, (N, K, C).

        Raw scores, as published; with a CRF log probabilities, since its scores leave out what
        the words around say.
        """
        chain = self.scorer.chain
        if chain is None:
            return logits
        return _settled(self.decision.likely(logits, lengths, self.tags, chain))

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and what is needed to use them."""
        self.scorer.save(folder)
        if self.neighbours is not None:
            kept = {"logits": self.neighbours.logits, "tags": self.neighbours.tags}
            save_file({k: np.ascontiguousarray(v) for k, v in kept.items()}, folder / NEIGHBOURS)

    @classmethod
    def load(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: SpanDecision,
        facts: Mapping[str, Any],
    ) -> "TaggerModel":
        """Read what ``save`` wrote; opens no socket.

        Raises:
            ModelError: If something is missing, damaged, or doesn't fit the recipe.
        """
        scheme: SpanScheme = registry.build(recipe["scheme"], labels=labels)
        scorer = _load_scorer(folder, recipe, labels, scheme.tags)
        spec = recipe.get("neighbours")
        neighbours = None
        if spec is not None:
            kept = _load_neighbours(folder / NEIGHBOURS, scheme.tags)
            neighbours = registry.build(spec, logits=kept["logits"], tags=kept["tags"])
        return cls(recipe, labels, scorer, decision, neighbours, facts)


def _settled(likely: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log probabilities to three decimals: what a CRF is sure of is one place, not many."""
    return np.maximum(likely, _LEAST).round(3)


def _load_scorer(folder: Path, recipe: Recipe, labels: LabelSet, tags: TagSet) -> Scorer:
    if recipe.family == "neural":
        from attending.models.tagging.neural import NeuralScorer

        return NeuralScorer.load(folder, recipe, labels, tags)
    from attending.models.tagging.chain import ChainScorer

    return ChainScorer.load(folder, recipe, tags)


def _load_neighbours(path: Path, tags: TagSet) -> dict[str, NDArray[Any]]:
    try:
        kept: dict[str, NDArray[Any]] = load_file(path)
        fits = kept["logits"].shape == (*kept["tags"].shape[:1], *tags.shape)
        fits = fits and kept["tags"].shape[1:] == tags.shape[:1] and len(kept["tags"]) > 0
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(f"the model folder is damaged: {error}", where=str(path)) from error
    if not fits:
        raise ModelError("the training words don't fit the recipe", where=str(path))
    return kept


def _chunks(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Cut rows into runs of about ``_CHUNK`` characters, at least one row each."""
    cuts, start, held = [], 0, 0
    for i, row in enumerate(rows):
        size = 0 if isinstance(row, Unreadable) else len(row.text)
        if held and held + size > _CHUNK:
            cuts.append((start, i))
            start, held = i, 0
        held += size
    return [*cuts, (start, len(rows))] if len(rows) else []
