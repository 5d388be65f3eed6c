"""Linear models on word counts, and the constant one: the baselines of every table.

scikit-learn fits them; what is kept are plain arrays, so nothing is pickled. Where documents have
any number of labels, each label has a binary model of its own, and weights are kept sparse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier

from attending import registry
from attending.errors import ModelError, RecipeError, TrainingError
from attending.models.base import (
    Model,
    Progress,
    Scored,
    TokenScores,
    decide,
    require_method,
    score_words,
)
from attending.models.one_vs_rest import fit_one_vs_rest, log_odds, truth_matrix
from attending.parts.decoders import Decision
from attending.parts.tfidf import read_words, write_words
from attending.recipe import Recipe, Task
from attending.records import (
    Document,
    LabelSet,
    Prediction,
    Row,
)
from attending.specs import FrequencyEstimator, LogisticEstimator, SvmEstimator

WEIGHTS = "model.safetensors"
Floats = NDArray[np.float64]
_CSR = ("data", "indices", "indptr")


def build_svm(spec: SvmEstimator, *, seed: int, **_: object) -> SGDClassifier:
    """Build an unfitted linear SVM (hinge loss, SGD)."""
    return SGDClassifier(
        loss="hinge",
        alpha=spec.alpha,
        max_iter=spec.max_iterations,
        tol=spec.tolerance,
        random_state=seed,
    )


def build_logistic(
    spec: LogisticEstimator, *, seed: int, task: Task = "single", **_: object
) -> LogisticRegression:
    """Build an unfitted logistic regression: multinomial, or binary for one against the rest."""
    return LogisticRegression(
        C=spec.c,
        class_weight="balanced" if spec.class_weights == "inverse" else None,
        max_iter=spec.max_iterations,
        random_state=seed,
        solver="lbfgs" if task == "single" else "liblinear",
    )


def build_frequency(spec: FrequencyEstimator, **_: object) -> None:
    """Build nothing: label shares need no estimator."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights (L, V), possibly V = 0, dense or sparse, and intercepts (L,)."""

    coefficients: Floats | sparse.csr_matrix
    intercepts: Floats

    def columns(self, rows: Sequence[int], columns: Sequence[int]) -> Floats:
        """Return the weights of some labels for some words."""
        picked = self.coefficients[list(rows)][:, list(columns)]
        return _dense(picked)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights as named arrays."""
        named: dict[str, NDArray[Any]] = {"intercepts": self.intercepts}
        if not sparse.issparse(self.coefficients):
            return named | {"coefficients": self.coefficients}
        for name in _CSR:
            named[f"coefficients.{name}"] = getattr(self.coefficients, name)
        return named

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], columns: int) -> "Weights":
        """Read what ``arrays`` gave, of models on so many words.

        Raises:
            KeyError: If an array is missing.
            ValueError: If the arrays don't fit each other.
        """
        intercepts = arrays["intercepts"]
        if "coefficients" in arrays:
            coefficients = arrays["coefficients"]
        else:
            pieces = tuple(arrays[f"coefficients.{name}"] for name in _CSR)
            coefficients = sparse.csr_matrix(pieces, shape=(len(intercepts), columns))
            coefficients.check_format()
        return cls(coefficients, intercepts)


class LinearModel:
    """Scores = coefficients x TF-IDF + intercepts, one row per label."""

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        weights: Weights,
        vectoriser: TfidfVectorizer | None,
        decision: Decision | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.recipe, self.labels, self.facts = recipe, labels, facts
        self.weights, self.vectoriser = weights, vectoriser
        self.decision = decision or registry.build(recipe["decoder"])

    @property
    def methods(self) -> tuple[str, ...]:
        """``weights``, unless the model reads no words."""
        return () if self.vectoriser is None else ("weights",)

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order. ``read`` counts words."""
        return score_words(rows, lambda found: self.logits([d.text for d in found]), progress)

    def logits(self, texts: Sequence[str]) -> Floats:
        """Return raw scores (N, L) of texts."""
        out = np.repeat(self.weights.intercepts[None], len(texts), axis=0)
        if self.vectoriser is not None and texts:
            added = self.vectoriser.transform(texts) @ self.weights.coefficients.T
            out = out + _dense(added)
        return np.asarray(out)

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
        """Return each word's share of a label's score: its weight times its TF-IDF.

        A word that stands several times shares its value evenly; word pairs share theirs between
        their words.
        """
        require_method(method, self.methods, self.recipe.name)
        assert self.vectoriser is not None
        rows = {i: self.labels.position(i) for i in (labels or self.labels.ids)}
        vectors = self.vectoriser.transform([d.text for d in documents])
        return [
            self._words(document.text, vectors[i], rows) for i, document in enumerate(documents)
        ]

    def _words(self, text: str, vector: Any, rows: Mapping[str, int]) -> TokenScores:
        vectoriser = self.vectoriser
        assert vectoriser is not None
        pattern = vectoriser.build_tokenizer().__self__  # the compiled word pattern
        spans = [m.span() for m in pattern.finditer(text)]
        words = [text[a:b].lower() if vectoriser.lowercase else text[a:b] for a, b in spans]
        stop = vectoriser.get_stop_words() or frozenset()
        kept = [i for i, word in enumerate(words) if word not in stop]
        places: dict[int, list[tuple[int, ...]]] = {}
        for size in range(1, vectoriser.ngram_range[1] + 1):
            for start in range(len(kept) - size + 1):
                group = tuple(kept[start : start + size])
                column = vectoriser.vocabulary_.get(" ".join(words[i] for i in group))
                if column is not None:
                    places.setdefault(column, []).append(group)
        values = dict(zip(vector.indices.tolist(), vector.data.tolist(), strict=True))
        table = np.zeros((len(rows), len(spans)))
        weights = self.weights.columns(list(rows.values()), list(places))
        for i, (column, groups) in enumerate(places.items()):
            value = values.get(column, 0.0) * weights[:, i]
            for group in groups:
                for word in group:
                    table[:, word] += value / (len(groups) * len(group))
        return TokenScores(
            tuple(spans),
            {label: tuple(table[i].tolist()) for i, label in enumerate(rows)},
        )

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Raise ``ModelError``: a linear model pools nothing."""
        raise ModelError(f'a "{self.recipe.name}" model has no document vectors')

    def save(self, folder: Path) -> None:
        """Write arrays (safetensors) and the vocabulary (JSON)."""
        arrays = {k: np.ascontiguousarray(v) for k, v in self.weights.arrays().items()}
        if self.vectoriser is not None:
            arrays["idf"] = write_words(folder, self.vectoriser)
        save_file(arrays, folder / WEIGHTS)

    @classmethod
    def load(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision,
        facts: Mapping[str, Any],
    ) -> Model:
        """Read a model of the linear family: this one, or a ``DictionaryModel``.

        Raises:
            ModelError: If a file is missing or the arrays don't fit the labels.
        """
        if recipe["estimator"].kind == "dictionary":
            from attending.models.dictionary import DictionaryModel

            return DictionaryModel.load(folder, recipe, labels, decision, facts)
        return cls.read(folder, recipe, labels, decision, facts)

    @classmethod
    def read(
        cls,
        folder: Path,
        recipe: Recipe,
        labels: LabelSet,
        decision: Decision | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> "LinearModel":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If a file is missing or the arrays don't fit the labels.
        """
        try:
            arrays = load_file(folder / WEIGHTS)
            vectoriser = None
            features = recipe.get("features")
            if features is not None:
                vectoriser = registry.build(features)
                read_words(folder, vectoriser, arrays["idf"])
            columns = 0 if vectoriser is None else len(vectoriser.vocabulary_)
            weights = Weights.of_arrays(arrays, columns)
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            what = f"the model folder is damaged: {error}"
            raise ModelError(what, where=str(folder)) from error
        if weights.coefficients.shape != (len(labels), columns):
            raise ModelError("the weights don't fit labels and vocabulary", where=str(folder))
        return cls(recipe, labels, weights, vectoriser, decision, facts)


def fit_linear(recipe: Recipe, documents: Sequence[Document], labels: LabelSet, seed: int) -> Model:
    """Fit a recipe without an encoder on labelled training documents, and on nothing else.

    Raises:
        RecipeError: If the estimator can't take the features.
        TrainingError: If no training text has a word, or the estimator can't be fitted.
    """
    features, spec = recipe.get("features"), recipe["estimator"]
    if (spec.kind == "dictionary") != (getattr(features, "kind", None) == "lexical"):
        raise RecipeError(
            f'estimator "{spec.kind}" can\'t take these features',
            where=f'recipe "{recipe.name}"',
            step='Estimator "dictionary" and features "lexical" go together.',
        )
    if spec.kind == "dictionary":
        from attending.models.dictionary import fit_dictionary

        return fit_dictionary(recipe, documents, labels, seed)
    estimator = registry.build(spec, seed=seed, task=recipe.task)
    multi = recipe.task == "multi"
    rows = [d for d in documents if (d.labels is not None if multi else d.labels)]
    if estimator is None or features is None:
        return LinearModel(recipe, labels, _shares(rows, labels, multi), None)
    vectoriser = registry.build(features)
    try:
        matrix = vectoriser.fit_transform([d.text for d in rows])
        if multi:
            truth = truth_matrix(rows, labels)
            weights = Weights(*fit_one_vs_rest(estimator, matrix, truth, getattr(spec, "prune", 0)))
        else:
            targets = [labels.position(d.labels[0]) for d in rows if d.labels]
            weights = _spread(estimator.fit(matrix, targets), len(labels))
    except ValueError as error:
        raise TrainingError(f"{recipe.name} can't be fitted: {error}") from error
    return LinearModel(recipe, labels, weights, vectoriser)


def _shares(rows: Sequence[Document], labels: LabelSet, multi: bool) -> Weights:
    """Return label shares as intercepts: log-odds of each label, or logs that sum to 1."""
    counts = np.asarray(truth_matrix(rows, labels).sum(axis=0)).ravel()
    if multi:
        scores = log_odds(counts, len(rows))
    else:
        scores = np.log((counts + 1e-9) / (counts.sum() + 1e-9 * len(labels)))
    return Weights(np.zeros((len(labels), 0)), scores)


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def _spread(estimator: Any, count: int) -> Weights:
    """Lay an estimator's rows out over all labels; one without training rows is never chosen."""
    coefficients, intercepts = estimator.coef_, estimator.intercept_
    if len(estimator.classes_) == 2:
        # Halved, so that the softmax over two rows gives the binary model's own probability.
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    weights = np.zeros((count, coefficients.shape[1]))
    weights[estimator.classes_] = coefficients
    biases = np.full(count, float(np.min(intercepts)) - 30.0)
    biases[estimator.classes_] = intercepts
    return Weights(weights, biases)
