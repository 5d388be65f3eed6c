"""The development score."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from attending.models.base import Scored
from attending.parts.decoders import Decision
from attending.records import Coverage, Document, LabelSet
from attending.training.score import answered, development_score

LABELS = LabelSet.from_ids(["a", "b", "c"])
READ = Coverage(1, 1, 1)


def scored(logits):
    return [
        Scored("empty_text", Coverage(0, 0, 0)) if x is None else Scored("ok", READ, np.array(x))
        for x in logits
    ]


def documents(labels):
    return [Document(str(i), "", (x,)) for i, x in enumerate(labels)]


def test_equals_scikit_learn():
    random = np.random.default_rng(0)
    logits, truth = random.normal(size=(40, 3)), list("abcab" * 8)
    found = development_score(scored(logits), documents(truth), LABELS, Decision(temperature=2.0))
    guess = [LABELS.ids[i] for i in logits.argmax(axis=1)]
    probabilities = Decision(temperature=2.0).probabilities(logits)
    assert found == pytest.approx(
        {
            "macro_f1": f1_score(truth, guess, average="macro"),
            "accuracy": accuracy_score(truth, guess),
            "log_loss": log_loss(truth, probabilities),
        }
    )


def test_a_row_that_was_not_read_counts_as_wrong():
    logits = [[3, 0, 0], None, [0, 3, 0], [0, 3, 0]]
    found = development_score(scored(logits), documents("aabb"), LABELS, Decision())
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1) / 2)
    logits_, targets = answered(scored(logits), documents("aabb"), LABELS)
    assert logits_.shape == (3, 3) and targets.tolist() == [0, 1, 1]


def test_nothing_read_is_the_worst_and_finite():
    found = development_score(scored([None, None]), documents("ab"), LABELS, Decision())
    assert (found["macro_f1"], found["accuracy"]) == (0, 0)
    assert found["log_loss"] == pytest.approx(34.5388, abs=1e-4)


def test_no_rows_no_figures():
    assert development_score([], [], LABELS, Decision()) == {}
    logits, targets = answered([], [], LABELS)
    assert logits.shape == (0, 3) and targets.shape == (0,)
