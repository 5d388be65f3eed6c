"""Rows with the words that spoke for their labels, for pages and pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attending.explain.evidence import WordScores, attach_spans, explained_words
from attending.models.base import Model, require_method
from attending.records import Document, Prediction, Row, is_blank

_AT_ONCE = 64
_FEW = 2
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Explained:
    """Rows with their predictions, evidence and the scores of their words."""

    rows: Sequence[Row]
    predictions: Sequence[Prediction]
    words: Sequence[WordScores]
    method: str

    def first(self, count: int) -> "Explained":
        """Return the first rows."""
        return replace(
            self,
            rows=self.rows[:count],
            predictions=self.predictions[:count],
            words=self.words[:count],
        )


def explain_rows(
    model: Model,
    rows: Sequence[Row],
    method: str | None = None,
    labels: Any = "predicted",
    progress: Told | None = None,
) -> Explained:
    """Predict rows and find the words that spoke for their labels.

    ``labels`` is as for ``explained_words``; ``progress`` is told of the rows done.

    Raises:
        ModelError: If the model has no such method.
    """
    method = require_method(method, model.methods, model.recipe.name)
    predictions = model.predict(rows)
    words: list[WordScores] = []
    for start in range(0, len(rows), _AT_ONCE):
        end = start + _AT_ONCE
        words += explained_words(
            model, rows[start:end], predictions[start:end], method=method, labels=labels
        )
        if progress is not None:
            progress(min(end, len(rows)), len(rows))
    return Explained(rows, attach_spans(rows, predictions, words), words, method)


def pick_examples(model: Model, rows: Sequence[Row], progress: Told | None = None) -> list[int]:
    """Return positions of one document a label; where no labels are known, of a predicted one.

    Of documents with several labels a few that show as many as they can. ``progress`` is told of
    the documents predicted.
    """
    from attending.explain.pictures import examples_of_labels, examples_per_label

    predictions = model.predict(rows, progress=progress)
    if model.recipe.task == "multi":
        some = examples_of_labels(rows, predictions)
        # Where nothing was given rightly, what was given has to do.
        return some or [i for i, p in enumerate(predictions) if p.status == "ok"][:_FEW]
    chosen = examples_per_label(rows, predictions)
    if not chosen:
        taken = [
            replace(row, labels=p.labels) if isinstance(row, Document) else row
            for row, p in zip(rows, predictions, strict=True)
        ]
        chosen = examples_per_label(taken, predictions)
    return chosen


def draw_words(path: Path, shown: Explained, model: Model, *, force: bool = False) -> None:
    """Draw explained rows, a panel each; see ``attention_png``."""
    from attending.explain.pictures import attention_png  # brings matplotlib, which a page needn't

    attention_png(shown.rows, shown.predictions, shown.words, model.labels, path, force=force)


def draw_map(path: Path, model: Model, rows: Sequence[Row], *, force: bool = False) -> None:
    """Draw a map of all documents that have a text; see ``tsne_png``."""
    from attending.explain.pictures import tsne_png

    documents = [d for d in rows if isinstance(d, Document) and not is_blank(d.text)]
    labels = [d.label if d.label in model.labels.ids else None for d in documents]
    tsne_png(model.pooled(documents), labels, model.labels, path, force=force)
