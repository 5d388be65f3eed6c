"""Attending: triage, code and tag clinical text by letting the text attend to the labels.

The names below are the public API. Each is loaded from its module when it is first asked for, so
``import attending`` is quick and brings in neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attending.classifier import Classifier
    from attending.data.check import check
    from attending.data.corpora import Corpus, load_corpus
    from attending.data.labels import load_labels
    from attending.data.splits import folds, split
    from attending.errors import AttendingError
    from attending.evaluation.metrics import evaluate
    from attending.recipe import Recipe
    from attending.records import Document, Evidence, Label, LabelSet, Prediction, Span
    from attending.tagger import Tagger
    from attending.training.distil import distil

__version__ = "0.1.0"

__all__ = [
    "AttendingError",
    "Classifier",
    "Corpus",
    "Document",
    "Evidence",
    "Label",
    "LabelSet",
    "Prediction",
    "Recipe",
    "Span",
    "Tagger",
    "check",
    "distil",
    "evaluate",
    "folds",
    "load_corpus",
    "load_labels",
    "split",
]

_HOMES = {
    "AttendingError": "attending.errors",
    "Classifier": "attending.classifier",
    "Corpus": "attending.data.corpora",
    "Document": "attending.records",
    "Evidence": "attending.records",
    "Label": "attending.records",
    "LabelSet": "attending.records",
    "Prediction": "attending.records",
    "Recipe": "attending.recipe",
    "Span": "attending.records",
    "Tagger": "attending.tagger",
    "check": "attending.data.check",
    "distil": "attending.training.distil",
    "evaluate": "attending.evaluation.metrics",
    "folds": "attending.data.splits",
    "load_corpus": "attending.data.corpora",
    "load_labels": "attending.data.labels",
    "split": "attending.data.splits",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use.

    Raises:
        AttributeError: If the name is not part of the public API.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
