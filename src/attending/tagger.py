"""``Tagger``: fit on annotated documents, find labelled spans in texts, save and load."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from attending.classifier import Texts, as_label_set, as_rows, remarks, resolve_recipe
from attending.data.spans.formats import load_spans
from attending.errors import ModelError
from attending.models.base import Progress
from attending.models.store import load_metrics, load_tagger, save_model
from attending.models.tagger import TaggerModel
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Prediction, Span
from attending.training.progress import Listener
from attending.training.tagging import FittedTagger, fit_tagger
from attending.training.tagging_rows import TaggedRows
from attending.training.tagging_score import strict_figures

Annotated = Iterable[Document] | str | Path
"""Documents with spans, a corpus of them, or the path of one (BRAT, CoNLL, JSON)."""


class Tagger(BaseEstimator):  # type: ignore[misc]
    """A tagger made by a recipe: it finds spans and says of what type each is.

    Args:
        recipe: Name of a shipped recipe that tags, path of a recipe file, or a ``Recipe``.
        labels: The types: a ``LabelSet``, a label file, or ids in order; default: the sorted
            types found.
        encoder: ``None`` for the bundled one, ``"recipe"`` for the one that the recipe names, a
            folder, or a hub id.
        seed: Decides every random choice.
        settings: Overrides of the recipe, ``{"scheme.kind": "layers"}``.
        run: Folder for checkpoints and log; a run that was stopped there goes on.

    After ``fit``: ``model_`` (the fitted model), ``classes_`` (type ids in order), ``metrics_``
    (development figures), ``notes_`` (what a person should know).
    """

    model_: TaggerModel

    def __init__(
        self,
        recipe: str | Path | Recipe = "atl-ner",
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
        documents: Annotated,
        y: None = None,
        *,
        development: Annotated | None = None,
        listener: Listener | None = None,
    ) -> "Tagger":
        """Fit on documents with spans; a document without spans holds none.

        Without ``development``, a share of the documents is carved off to choose the checkpoint
        and the temperature. ``y`` is there for scikit-learn's sake.

        Raises:
            DataError: If a path holds nothing that can be read.
            TrainingError: If the documents can't train a tagger.
        """
        fitted = fit_tagger(
            resolve_recipe(self.recipe, self.encoder, self.settings, "spans"),
            as_documents(documents),
            as_label_set(self.labels),
            development=None if development is None else as_documents(development),
            seed=self.seed,
            run=None if self.run is None else Path(self.run),
            listener=listener,
        )
        self._adopt(fitted)
        return self

    def _adopt(self, fitted: FittedTagger) -> None:
        self.model_ = fitted.model
        self.classes_ = fitted.model.labels.ids
        self.metrics_ = dict(fitted.metrics)
        self.notes_ = fitted.notes + tuple(remarks(fitted.model.facts))

    def _fitted(self) -> TaggerModel:
        if not hasattr(self, "model_"):
            raise ModelError("this tagger is not fitted", step="Call fit, or load a model.")
        return self.model_

    def predictions(self, texts: Texts, *, progress: Progress | None = None) -> list[Prediction]:
        """Return one ``Prediction`` a text, in order, whatever the text is."""
        return self._fitted().predict(as_rows(texts), progress=progress)

    def predict(self, texts: Texts) -> list[tuple[Span, ...] | None]:
        """Return the spans of each text in text order, with offsets into the text as given.

        ``None`` where there is no answer (empty, unreadable).
        """
        return [p.spans if p.status == "ok" else None for p in self.predictions(texts)]

    def score(self, documents: Annotated, y: None = None) -> float:
        """Return strict micro-F1 of spans: the same place and type, or wrong."""
        model, rows = self._fitted(), as_documents(documents)
        tagged = TaggedRows(tuple(rows), (), ())
        return strict_figures(tagged, model.predict(rows), model.labels)["micro_f1"]

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write a self-contained model folder.

        Raises:
            OutputError: If the folder holds something and ``force`` is not set.
        """
        metrics = getattr(self, "metrics_", {})
        return save_model(self._fitted(), folder, metrics=metrics, force=force)

    @classmethod
    def load(cls, folder: str | Path, *, precision: str = "float32") -> "Tagger":
        """Load a model folder; what it tags is the folder's business, not the caller's.

        ``precision`` is as in ``Classifier.load``.

        Raises:
            ModelError: If it holds no tagger.
        """
        model = load_tagger(folder, precision=precision)
        seed = int(model.facts.get("seed", 0))
        made = cls(recipe=model.recipe, labels=model.labels, encoder="recipe", seed=seed)
        made._adopt(FittedTagger(model, load_metrics(folder)))
        return made


def as_documents(documents: Annotated) -> list[Document]:
    """Return annotated documents; a path is read, a corpus gives its documents.

    Raises:
        DataError: If a path holds nothing that can be read.
    """
    if isinstance(documents, str | Path):
        return list(load_spans(documents).documents)
    return list(getattr(documents, "documents", documents))
