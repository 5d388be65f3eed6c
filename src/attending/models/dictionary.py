"""The dictionary: labels are found by their words, and the words are the evidence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from attending import registry
from attending.errors import ModelError
from attending.models.base import (
    Progress,
    Scored,
    TokenScores,
    decide,
    require_method,
    score_words,
)
from attending.models.linear import LinearModel, fit_linear
from attending.models.one_vs_rest import truth_matrix
from attending.parts.decoders import Decision
from attending.parts.lexical import Combiner, LexicalView, fit_combiner
from attending.parts.lexical.combiner import input_count
from attending.parts.lexical.folds import assign_folds
from attending.parts.lexical.surfaces import FLOOR
from attending.parts.lexical.view import METHOD
from attending.parts.lexical.words import read_words
from attending.recipe import Recipe
from attending.records import (
    Document,
    LabelSet,
    Prediction,
    Row,
)
from attending.specs import DictionaryEstimator, LogisticEstimator, TfidfFeatures, ThresholdDecoder

COMBINER, CONTEXT = "combiner.safetensors", "context"
Floats = NDArray[np.float64]
_SURFACES = ("annotated", "label_text", "mined")


def build_dictionary(spec: DictionaryEstimator, **_: object) -> None:
    """Build nothing: ``fit_dictionary`` needs the lexical view as well."""


class DictionaryModel:
    """Scores = log-odds of what a lexical view found, optionally beside what all words say.

    Without a combiner (``combine = "best"``, or too few training pairs to learn one) a label
    scores the log-odds of its best surface, -6 without any; a text that holds all of a label's
    words in one sentence counts as half a chance where nothing else is known.
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
            return _best(features, self.view.names)
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
        return [self._words(d, labels or self.labels.ids) for d in documents]

    def _words(self, document: Document, labels: Sequence[str]) -> TokenScores:
        words = read_words(document.text)
        table = {label: np.zeros(len(words)) for label in labels}
        for span in self.view.spans(document, labels):
            assert span.label is not None
            first = int(np.searchsorted(words.starts, span.start))
            stop = int(np.searchsorted(words.starts, span.end))
            row = table[span.label]
            row[first:stop] = np.maximum(row[first:stop], span.score)
        offsets = tuple(zip(words.starts, words.ends, strict=True))
        return TokenScores(offsets, {label: tuple(row.tolist()) for label, row in table.items()})

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Raise ``ModelError``: a dictionary pools nothing."""
        raise ModelError(f'a "{self.recipe.name}" model has no document vectors')

    def save(self, folder: Path) -> None:
        """Write the view, the combiner and the model of all words, as far as there are any."""
        self.view.save(folder)
        if self.combiner is not None:
            arrays = {k: np.ascontiguousarray(v) for k, v in self.combiner.arrays().items()}
            save_file(arrays, folder / COMBINER)
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
        combiner = None
        if (folder / COMBINER).is_file():
            combiner = _read_combiner(folder, len(view.names), context is not None)
        return cls(recipe, labels, view, combiner, context, decision, facts)


def fit_dictionary(
    recipe: Recipe, documents: Sequence[Document], labels: LabelSet, seed: int
) -> DictionaryModel:
    """Fit a lexical view and what weighs its features on labelled training documents.

    The weights are learned on cross-fitted features (``LexicalView.features_training``), the
    log-odds of the model of all words likewise, by the same folds.

    Raises:
        TrainingError: If no training text has a word.
    """
    spec: DictionaryEstimator = recipe["estimator"]
    rows = [d for d in documents if d.labels is not None]
    view = LexicalView.fit(recipe["features"], rows, labels)
    if spec.combine == "best":
        return DictionaryModel(recipe, labels, view)
    context, held = None, None
    if spec.context != "none":
        context = _fit_context(recipe, rows, labels, seed)
        held = _cross_fitted(recipe, rows, labels, seed)
    features = view.features_training(rows)
    truth = truth_matrix(rows, labels)
    combiner = fit_combiner(features, truth, context=held, c=spec.c)
    return DictionaryModel(recipe, labels, view, combiner, context if combiner else None)


def _fit_context(
    recipe: Recipe, rows: Sequence[Document], labels: LabelSet, seed: int
) -> LinearModel:
    model = fit_linear(_context_recipe(recipe), rows, labels, seed)
    assert isinstance(model, LinearModel)
    return model


def _cross_fitted(recipe: Recipe, rows: Sequence[Document], labels: LabelSet, seed: int) -> Floats:
    """Return log-odds (N, L) of each document from a model of the other folds' words."""
    out = np.zeros((len(rows), len(labels)))
    fold = np.array(assign_folds(rows, recipe["features"].folds))
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


def _best(features: NDArray[np.float32], names: Sequence[str]) -> Floats:
    """Return log-odds (L,) of each label's best surface, from features (L, F)."""
    columns = [names.index(name) for name in _SURFACES if name in names]
    found = features[:, columns].max(axis=1, initial=0.0).astype(np.float64)
    if "overlap_full" in names:
        found = np.maximum(found, -FLOOR * features[:, names.index("overlap_full")])
    return np.asarray(found + FLOOR)


def _read_combiner(folder: Path, features: int, context: bool) -> Combiner:
    try:
        combiner = Combiner.of_arrays(load_file(folder / COMBINER))
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        what = f"the model folder is damaged: {type(error).__name__} in {COMBINER}"
        raise ModelError(what, where=str(folder)) from None
    if len(combiner.linear) != input_count(features, context=context):
        raise ModelError("the combiner doesn't fit the features", where=str(folder))
    return combiner
