"""The development score: what chooses checkpoints and temperatures, and nothing else.

A multi-label score is micro-F1 and macro-F1 at the one threshold that is best for micro-F1, so
that a checkpoint is not judged by a threshold that is chosen later anyway.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attending.evaluation.calibration import log_loss
from attending.evaluation.counts import LabelCounts, averages, scores_of
from attending.evaluation.multilabel.metrics import quick_figures
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.thresholds import best_threshold
from attending.models.base import Scored
from attending.parts.decoders import Decision
from attending.records import Document, LabelSet


def answered(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return logits (N, L) and targets (N,) of the documents that were read."""
    logits, read = logits_of(scored, labels)
    known = [labels.position(d.label or "") for d, r in zip(documents, read, strict=True) if r]
    return logits, np.array(known, dtype=np.int64)


def answered_multilabel(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return logits (N, L) and truth (N, L) bool of the documents that were read."""
    logits, read = logits_of(scored, labels)
    kept = [d for d, r in zip(documents, read, strict=True) if r]
    return logits, truth_of(kept, labels)


def logits_of(
    scored: Sequence[Scored], labels: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the logits (N', L) of rows that were read, and which of the N rows those are."""
    read = np.array([s.logits is not None for s in scored], dtype=bool)
    rows = [s.logits for s in scored if s.logits is not None]
    return np.stack(rows) if rows else np.zeros((0, len(labels))), read


def truth_of(documents: Sequence[Document], labels: LabelSet) -> NDArray[np.bool_]:
    """Return which document has which label, (N, L) bool."""
    truth = np.zeros((len(documents), len(labels)), dtype=bool)
    for row, d in enumerate(documents):
        truth[row, [labels.position(i) for i in d.labels or ()]] = True
    return truth


def development_score(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet, decision: Decision
) -> dict[str, float]:
    """Return macro-F1 (labels seen), accuracy and log loss on development documents.

    A document that wasn't read counts as wrong; where none was read, the log loss is the largest
    that there is, that of a certain mistake. Multi-label: see ``multilabel_score``.
    """
    if not documents:
        return {}
    if decision.kind != "argmax":
        return multilabel_score(scored, documents, labels, decision)
    logits, _ = answered(scored, documents, labels)
    if not len(logits):
        worst = log_loss(np.array([[0.0, 1.0]]), np.array([0]))
        return {"macro_f1": 0.0, "accuracy": 0.0, "log_loss": worst}
    truth = np.array([labels.position(d.label or "") for d in documents])
    guess = np.full(len(documents), -1)
    read = np.array([s.logits is not None for s in scored])
    probabilities = decision.probabilities(logits)
    guess[read] = decision.best(probabilities, labels)
    counts = LabelCounts.of_rows(truth[None], guess[None], len(labels))
    figures = averages(scores_of(counts))
    return {
        "macro_f1": float(figures["macro_f1"][0]),
        "accuracy": float((truth == guess).mean()),
        "log_loss": log_loss(probabilities, truth[read]),
    }


def multilabel_score(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet, decision: Decision
) -> dict[str, float]:
    """Return micro-F1 and macro-F1 at the best threshold, MAP and log loss over all cells.

    A document that wasn't read ranks nothing and gets no label; MAP is over documents with gold
    labels.
    """
    logits, read = logits_of(scored, labels)
    truth = truth_of(documents, labels)
    probabilities = np.zeros(truth.shape)
    if len(logits):
        probabilities[read] = decision.probabilities(logits)
    threshold = best_threshold(probabilities, truth).value
    outcome = MultiLabelOutcome.of(truth, probabilities >= threshold, probabilities)
    figures = quick_figures(outcome)
    return {
        **{name: float(figures[name] or 0.0) for name in ("micro_f1", "macro_f1", "map")},
        "log_loss": _binary_log_loss(probabilities, truth),
    }


def _binary_log_loss(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    tiny = np.finfo(np.float64).eps
    of_truth = np.where(truth, probabilities, 1 - probabilities)
    return float(-np.log(np.clip(of_truth, tiny, 1)).mean())
