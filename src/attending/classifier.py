"""``Classifier``: fit, predict, explain and save, with scikit-learn's manners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from attending.data.labels import load_labels
from attending.errors import DataError, LabelError, ModelError
from attending.explain.evidence import explain
from attending.models.base import Model, Progress
from attending.models.store import load_metrics, load_model, save_model
from attending.recipe import Recipe, Task
from attending.records import Document, LabelSet, Prediction, Row, Unreadable
from attending.training.fit import Fitted, fit
from attending.training.progress import Listener
from attending.training.rows import task_of
from attending.training.score import logits_of

Texts = Iterable[str | Row | None]


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier made by a recipe.

    Args:
        recipe: Name of a shipped recipe, path of a recipe file, or a ``Recipe``.
        labels: A ``LabelSet``, a label file, or ids in order; default: the sorted ids found.
        encoder: ``None`` for the bundled one, ``"recipe"`` for the one that the recipe names, a
            folder, or a hub id.
        seed: Decides every random choice.
        settings: Overrides of the recipe, ``{"training.epochs": 3}``.
        run: Folder for checkpoints and log; a run that was stopped there goes on.

    After ``fit``: ``model_`` (the fitted model), ``classes_`` (label ids in order),
    ``metrics_`` (development figures), ``notes_`` (what a person should know).
    """

    model_: Model

    def __init__(
        self,
        recipe: str | Path | Recipe = "lesa-bert",
        labels: LabelSet | str | Path | Sequence[str] | None = None,
        encoder: str | None = None,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        run: str | Path | None = None,
    ) -> None:
        self.recipe = recipe
        self.labels = labels
        self.encoder = encoder
        self.seed = seed
        self.settings = settings
        self.run = run

    def fit(
        self,
        texts: Texts,
        y: Sequence[str] | Sequence[Sequence[str]] | None = None,
        *,
        development: Iterable[Document] | None = None,
        listener: Listener | None = None,
    ) -> "Classifier":
        """Fit on texts with label ids ``y``, or on labelled documents (a corpus).

        An item of ``y`` is one label id, or a list of any number of them. Where a list is empty or
        holds several, the recipe takes its multi-label form.
        Without ``development``, a stratified share of the rows is carved off to choose the
        checkpoint and the temperature. Rows that are no text are left out and counted in
        ``notes_``.

        Raises:
            DataError: If texts and labels differ in number.
            TrainingError: If the rows can't train a model.
        """
        rows = as_rows(texts)
        if y is not None:
            rows = _labelled(rows, y)
        documents = [r for r in rows if isinstance(r, Document)]
        fitted = fit(
            resolve_recipe(self.recipe, self.encoder, self.settings, task_of(documents)),
            documents,
            as_label_set(self.labels),
            development=None if development is None else list(development),
            seed=self.seed,
            run=None if self.run is None else Path(self.run),
            listener=listener,
        )
        left_out = len(rows) - len(documents)
        self._adopt(fitted, (f"rows that are no text, left out: {left_out}",) if left_out else ())
        return self

    def _adopt(self, fitted: Fitted, notes: tuple[str, ...] = ()) -> None:
        self.model_ = fitted.model
        self.classes_ = np.array(fitted.model.labels.ids)
        self.metrics_ = dict(fitted.metrics)
        self.notes_ = notes + fitted.notes + tuple(remarks(fitted.model.facts))

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise ModelError("this classifier is not fitted", step="Call fit, or load a model.")
        return self.model_

    def predictions(self, texts: Texts, *, progress: Progress | None = None) -> list[Prediction]:
        """Return one ``Prediction`` a text, in order, whatever the text is."""
        return self._fitted().predict(as_rows(texts), progress=progress)

    def predict(self, texts: Texts) -> NDArray[np.object_]:
        """Return one label id a text, or of a multi-label model one tuple of ids.

        ``None`` where there is no answer (empty, unreadable).
        """
        predictions = self.predictions(texts)
        found = np.empty(len(predictions), dtype=object)
        if self._fitted().recipe.task == "multi":
            for i, p in enumerate(predictions):
                found[i] = p.labels if p.status == "ok" else None
        else:
            found[:] = [p.labels[0] if p.labels else None for p in predictions]
        return found

    def score(
        self,
        X: Texts,
        y: Sequence[str] | Sequence[Sequence[str]],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> float:
        """Return the accuracy; a text without an answer counts as wrong.

        A text is right if all its labels are given and no other is; an item of ``y`` is one label
        id or a list of them, as for ``fit``.

        Raises:
            DataError: If texts and labels differ in number.
        """
        found = self.predict(X)
        if len(found) != len(y):
            raise DataError(f"{len(found)} texts but {len(y)} labels")
        alike = [a is not None and _ids(a) == _ids(b) for a, b in zip(found, y, strict=True)]
        right = np.array(alike, dtype=np.float64)
        return float(np.average(right, weights=sample_weight))

    def predict_proba(self, texts: Texts) -> NDArray[np.float64]:
        """Return calibrated probabilities (N, L), columns in the order of ``classes_``.

        Raises:
            DataError: If a text has no answer; ``predictions`` says which and why.
        """
        found = self.predictions(texts)
        silent = [i for i, p in enumerate(found) if p.status != "ok"]
        if silent:
            raise DataError(
                f"{len(silent)} texts have no probabilities, the first at position {silent[0]}",
                found=found[silent[0]].status,
                step="Use predictions(), which says why for each.",
            )
        model = self._fitted()
        ids = model.labels.ids
        if len(found) and len(found[0].scores) < len(ids):  # of very many labels, some are kept
            logits, _ = logits_of(model.scores(as_rows(texts)), model.labels)
            return model.decision.probabilities(logits)
        return np.array([[p.scores[i] for i in ids] for p in found]).reshape(-1, len(ids))

    def explain(
        self,
        texts: Texts,
        *,
        method: str | None = None,
        labels: str | Sequence[str] = "predicted",
    ) -> list[Prediction]:
        """Return predictions with evidence: the words that spoke for a label, as spans."""
        rows, model = as_rows(texts), self._fitted()
        return explain(model, rows, model.predict(rows), method=method, labels=labels)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write a self-contained model folder.

        Raises:
            OutputError: If the folder holds something and ``force`` is not set.
        """
        metrics = getattr(self, "metrics_", {})
        return save_model(self._fitted(), folder, metrics=metrics, force=force)

    @classmethod
    def load(cls, folder: str | Path, *, precision: str = "float32") -> "Classifier":
        """Load a model folder; the number of labels is the folder's business, not the caller's.

        ``precision`` (``float32``, ``bfloat16``, ``auto``) is what a network answers in: bfloat16
        is faster where the processor multiplies it natively, and moves scores by a little.
        """
        model = load_model(folder, precision=precision)
        seed = int(model.facts.get("seed", 0))
        made = cls(recipe=model.recipe, labels=model.labels, encoder="recipe", seed=seed)
        made._adopt(Fitted(model, load_metrics(folder)))
        return made


def remarks(facts: Mapping[str, Any]) -> Iterable[str]:
    """Say what a person should know of a training, from its facts."""
    if facts.get("rows_without_text"):
        yield f"rows without text, not trained on: {facts['rows_without_text']}"
    if facts.get("skipped_steps"):
        yield f"steps that were not finite and left out: {facts['skipped_steps']}"
    yield from facts.get("encoder_notes", ())
    yield from facts.get("label_state_notes", ())


def _ids(labels: str | Iterable[str]) -> set[str]:
    return {labels} if isinstance(labels, str) else set(labels)


def resolve_recipe(
    recipe: str | Path | Recipe,
    encoder: str | None,
    settings: Mapping[str, Any] | None = None,
    task: Task = "single",
) -> Recipe:
    """Load a recipe, settle its encoder and its task, then apply overrides."""
    return Recipe.load(recipe).with_encoder(encoder).for_task(task).override(settings or {})


def as_rows(texts: Texts) -> list[Row]:
    """Turn texts, documents or a corpus into rows; what is no text becomes ``Unreadable``.

    Raises:
        DataError: If a single string is given instead of several texts.
    """
    if isinstance(texts, str):
        raise DataError("one string is not a list of texts", step="Put it in a list.")
    rows: list[Row] = []
    for i, text in enumerate(getattr(texts, "rows", texts), 1):
        if isinstance(text, Document | Unreadable):
            rows.append(text)
        elif isinstance(text, str):
            rows.append(Document(f"row-{i}", text))
        else:
            rows.append(Unreadable(f"row-{i}", f"not text but {type(text).__name__}"))
    return rows


def _labelled(rows: Sequence[Row], y: Sequence[str] | Sequence[Sequence[str]]) -> list[Row]:
    if len(rows) != len(y):
        raise DataError(f"{len(rows)} texts but {len(y)} labels")
    lists = [isinstance(item, list | tuple | set | frozenset) for item in y]
    many = [tuple(item) if a else (item,) for a, item in zip(lists, y, strict=True)]
    strange = [i for i, ids in enumerate(many) if not all(isinstance(x, str) for x in ids)]
    if strange:
        raise LabelError(
            f"the label at position {strange[0]} is not a string",
            found=next(type(x).__name__ for x in many[strange[0]] if not isinstance(x, str)),
            step="Use label ids, as in the label set.",
        )
    return [
        replace(r, labels=tuple(dict.fromkeys(map(str, ids)))) if isinstance(r, Document) else r
        for r, ids in zip(rows, many, strict=True)
    ]


def as_label_set(labels: LabelSet | str | Path | Sequence[str] | None) -> LabelSet | None:
    """Turn a label file or ids into a label set; ``None`` stays ``None``."""
    if labels is None or isinstance(labels, LabelSet):
        return labels
    if isinstance(labels, str | Path):
        return load_labels(labels)
    return LabelSet.from_ids(list(labels))
