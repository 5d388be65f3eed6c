"""The development score: what chooses checkpoints and temperatures, and nothing else."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attending.evaluation.calibration import log_loss
from attending.evaluation.counts import LabelCounts, averages, scores_of
from attending.models.base import Scored
from attending.parts.decoders import Decision
from attending.records import Document, LabelSet


def answered(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return logits (N, L) and targets (N,) of the documents that were read."""
    pairs = [
        (s.logits, labels.position(d.label or ""))
        for s, d in zip(scored, documents, strict=True)
        if s.logits is not None
    ]
    if not pairs:
        return np.zeros((0, len(labels))), np.zeros(0, dtype=np.int64)
    return np.stack([p[0] for p in pairs]), np.array([p[1] for p in pairs], dtype=np.int64)


def development_score(
    scored: Sequence[Scored], documents: Sequence[Document], labels: LabelSet, decision: Decision
) -> dict[str, float]:
    """Return macro-F1 (labels seen), accuracy and log loss on development documents.

    A document that wasn't read counts as wrong; where none was read, the log loss is the largest
    that there is, that of a certain mistake.
    """
    if not documents:
        return {}
    logits, _ = answered(scored, documents, labels)
    if not len(logits):
        worst = log_loss(np.array([[0.0, 1.0]]), np.array([0]))
        return {"macro_f1": 0.0, "accuracy": 0.0, "log_loss": worst}
    truth = np.array([labels.position(d.label or "") for d in documents])
    guess = np.full(len(documents), -1)
    read = np.array([s.logits is not None for s in scored])
    guess[read] = logits.argmax(axis=1)
    counts = LabelCounts.of_rows(truth[None], guess[None], len(labels))
    figures = averages(scores_of(counts))
    return {
        "macro_f1": float(figures["macro_f1"][0]),
        "accuracy": float((truth == guess).mean()),
        "log_loss": log_loss(decision.probabilities(logits), truth[read]),
    }
