"""The dictionary: labels are found by their words, and the words are the evidence."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending import registry
from attending.errors import ModelError, TrainingError
from attending.models.base import (
    Progress,
    Scored,
    TokenScores,
    decide,
    keepable,
    require_method,
    score_words,
)
from attending.models.linear import LinearModel, fit_linear
from attending.models.matches import match_scores
from attending.models.one_vs_rest import truth_matrix
from attending.parts.decoders import Decision
from attending.parts.lexical import Combiner, LexicalView, fit_combiner
from attending.parts.lexical.combiner import input_count
from attending.parts.lexical.folder import read_combiner, write_combiner
from attending.parts.lexical.folds import assign_folds
from attending.parts.lexical.scorer import best_surface
from attending.parts.lexical.sparse import SparseFeatures
from attending.parts.lexical.view import METHOD
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Prediction, Row, is_blank
from attending.specs import DictionaryEstimator, LogisticEstimator, TfidfFeatures, ThresholdDecoder

CONTEXT = "context"
Floats = NDArray[np.float64]


def build_dictionary(spec: DictionaryEstimator, **_: object) -> None:
    """Build nothing: ``fit_dictionary`` needs the lexical view as well."""


class DictionaryModel:
    """Scores = log-odds of what a lexical view found, optionally beside what all words say.

    Without a combiner (``combine = "best"``, or too few training pairs to learn one) a label
    scores the log-odds of its best surface, -6 without any; a text that holds all of a label's
    words in one sentence counts as half a chance where nothing else is known.

    Attributes:
        held: After fitting, training rows with the scores of views that had not seen them; not
            saved.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        view: LexicalView,
        combiner: Combiner | None = None,
        context: LinearModel | None = None,
        decision: Decision | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.recipe, self.labels, self.facts = recipe, labels, facts
        self.view, self.combiner, self.context = view, combiner, context
        self.decision = decision or registry.build(recipe["decoder"])
        self.held: tuple[tuple[Document, ...], list[Scored]] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """``matches``, and ``weights`` where all words are read too."""
        return (METHOD,) if self.context is None else (METHOD, *self.context.methods)

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order. ``read`` counts words."""
        return score_words(rows, lambda readable: map(self._logits, readable), progress)

    def _logits(self, document: Document) -> Floats:
        features = self.view.features([document]).dense()[0]
        if self.combiner is None:
            return best_surface(features, self.view.names)
        context = None
        if self.context is not None:
            context = self.context.logits([document.text])[0]
        return self.combiner.score(features, context)

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
        """Return each word's score for a label: the strength of the surest match that it is in."""
        if require_method(method, self.methods, self.recipe.name) != METHOD:
            assert self.context is not None
            return self.context.token_scores(documents, labels=labels)
        return [match_scores(self.view, d, labels or self.labels.ids) for d in documents]

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Raise ``ModelError``: a dictionary pools nothing."""
        raise ModelError(f'a "{self.recipe.name}" model has no document vectors')

    def save(self, folder: Path) -> None:
        """Write the view, the combiner and the model of all words, as far as there are any."""
        self.view.save(folder)
        if self.combiner is not None:
            write_combiner(folder, self.combiner)
        if self.context is not None:
            (folder / CONTEXT).mkdir()
            self.context.save(folder / CONTEXT)

    @classmethod
    def load(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision,
        facts: Mapping[str, Any],
    ) -> "DictionaryModel":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If a file is missing or damaged, or doesn't fit the labels.
        """
        view = LexicalView.load(folder, recipe["features"], labels)
        context = None
        if (folder / CONTEXT).is_dir():
            context = LinearModel.read(folder / CONTEXT, _context_recipe(recipe), labels)
        size = input_count(len(view.names), context=context is not None)
        combiner = read_combiner(folder, size)
        return cls(recipe, labels, view, combiner, context, decision, facts)


def fit_dictionary(
    recipe: Recipe, documents: Sequence[Document], labels: LabelSet, seed: int
) -> DictionaryModel:
    """Fit a lexical view and what weighs its features on labelled training documents.

    The weights are learned on cross-fitted features (``LexicalView.features_training``), the
    log-odds of the model of all words likewise, by the same folds. Where thresholds are to be
    chosen on them too, the model comes with such scores of its training rows (``held``).

    Raises:
        TrainingError: If no training text has a word.
    """
    spec: DictionaryEstimator = recipe["estimator"]
    rows = [d for d in documents if d.labels is not None]
    view = LexicalView.fit(recipe["features"], rows, labels)
    if spec.combine == "best" and spec.tune == "development":
        return DictionaryModel(recipe, labels, view)
    context, held, combiner = None, None, None
    features = view.features_training(rows)
    if spec.combine == "learned":
        if spec.context != "none":
            context = _fit_context(recipe, rows, labels, seed)
            held = _cross_fitted(recipe, rows, labels, seed)
        truth = truth_matrix(rows, labels)
        combiner = fit_combiner(features, truth, context=held, c=spec.c)
    model = DictionaryModel(recipe, labels, view, combiner, context if combiner else None)
    if spec.tune == "cross-fitted":
        model.held = _held(model, rows, features, held if combiner else None, seed)
    return model


def _held(
    model: DictionaryModel,
    rows: Sequence[Document],
    features: SparseFeatures,
    context: Floats | None,
    seed: int,
) -> tuple[tuple[Document, ...], list[Scored]]:
    """Return training rows, or as many as memory allows, with their cross-fitted scores."""
    kept = keepable(range(len(rows)), len(model.labels), seed)
    readable = [i for i in kept if not is_blank(rows[i].text)]

    def logits() -> Iterator[Floats]:
        for i in readable:
            found = features.dense([i])[0]
            if model.combiner is None:
                yield best_surface(found, model.view.names)
            else:
                yield model.combiner.score(found, None if context is None else context[i])

    chosen = tuple(rows[i] for i in kept)
    return chosen, score_words(chosen, lambda _: logits())


def _fit_context(
    recipe: Recipe, rows: Sequence[Document], labels: LabelSet, seed: int
) -> LinearModel:
    model = fit_linear(_context_recipe(recipe), rows, labels, seed)
    assert isinstance(model, LinearModel)
    return model


def _cross_fitted(recipe: Recipe, rows: Sequence[Document], labels: LabelSet, seed: int) -> Floats:
    """Return log-odds (N, L) of each document from a model of the other folds' words.

    Raises:
        TrainingError: If there are no other folds.
    """
    out = np.zeros((len(rows), len(labels)))
    fold = np.array(assign_folds(rows, recipe["features"].folds))
    if len(np.unique(fold)) == 1:
        raise TrainingError(
            "all rows are of one text or group, so none can be scored by a model of the others",
            where="estimator.context",
            step="Leave the group column out, or set estimator.context=none.",
        )
    for number in np.unique(fold):
        held = np.flatnonzero(fold == number).tolist()
        rest = np.flatnonzero(fold != number).tolist()
        model = _fit_context(recipe, [rows[i] for i in rest], labels, seed)
        out[held] = model.logits([rows[i].text for i in held])
    return out


def _context_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe of the model of all words that a dictionary consults."""
    return Recipe(
        f"{recipe.name} ({CONTEXT})",
        {
            "features": TfidfFeatures(sublinear=True, min_documents=2),
            "estimator": LogisticEstimator(
                c=recipe["estimator"].context_c, class_weights="inverse"
            ),
            "decoder": ThresholdDecoder(),
        },
    )
