"""Small multi-label data sets, and outcomes made of matrices."""

import numpy as np
import pytest

from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.records import Coverage, Document, LabelSet, Prediction


@pytest.fixture
def random_case():
    """Return a function: seed to truth, assigned (N, L) of 0 and 1, and scores (N, L)."""

    def make(seed=0, documents=60, labels=12, ties=False):
        rng = np.random.default_rng(seed)
        truth = (rng.random((documents, labels)) < rng.uniform(0.02, 0.5, labels)).astype(int)
        scores = np.clip(0.35 * truth + rng.random((documents, labels)) * 0.65, 0, 1)
        if ties:
            scores = np.round(scores, 1)
        return truth, (scores >= 0.5).astype(int), scores

    return make


@pytest.fixture
def outcome_of():
    """Return a function that makes an outcome of matrices."""
    return MultiLabelOutcome.of


@pytest.fixture
def answered_rows():
    """Return a function from matrices to documents, predictions and their label set."""

    def make(truth, assigned, scores=None, keep=None, text="text"):
        labels = LabelSet.from_ids([f"c{k}" for k in range(truth.shape[1])])
        documents, predictions = [], []
        for row in range(len(truth)):
            given = [i for i, a in zip(labels.ids, assigned[row], strict=True) if a]
            kept = {}
            if scores is not None:
                ranked = sorted(range(len(labels)), key=lambda k: -scores[row][k])
                kept = {labels.ids[k]: float(scores[row][k]) for k in ranked[: keep or len(labels)]}
                kept |= {i: float(scores[row][labels.position(i)]) for i in given}
            true = tuple(i for i, t in zip(labels.ids, truth[row], strict=True) if t)
            documents.append(Document(f"d{row}", text, true))
            predictions.append(
                Prediction(f"d{row}", "ok", tuple(given), kept, read=Coverage(20, 25, 1))
            )
        return documents, predictions, labels

    return make
