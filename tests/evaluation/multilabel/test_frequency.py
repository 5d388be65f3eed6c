"""Buckets by training frequency and the variety of answers, by hand."""

import numpy as np
import pytest

from attending.evaluation.multilabel.decisions import Decided
from attending.evaluation.multilabel.diversity import diversity
from attending.evaluation.multilabel.frequency import buckets, constant_answer
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.multilabel.ranked import rank_documents
from attending.records import LabelSet

LABELS = LabelSet.from_ids(list("abcdef"))


def outcome():
    truth = np.array([[1, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    assigned = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]])
    scores = np.array([[0.9, 0.3, 0, 0, 0.4, 0], [0.9, 0.8, 0.1, 0, 0, 0], [0.7, 0.6, 0, 0, 0, 0]])
    return MultiLabelOutcome.of(truth, assigned, scores)


def test_every_label_is_in_one_bucket():
    made = outcome()
    training = np.array([51, 50, 6, 5, 1, 0])
    found = buckets(Decided.of(made).label_counts(), rank_documents(made, (2,)), training)
    assert [b.name for b in found] == ["head", "torso", "tail", "unseen"]
    assert [b.labels for b in found] == [1, 2, 2, 1]
    assert [(b.low, b.high) for b in found] == [(51, None), (6, 50), (1, 5), (0, 0)]
    head, torso, tail, unseen = found
    assert (head.true, head.given, head.right) == (2, 3, 2)
    assert head.figures["micro_precision"] == pytest.approx(2 / 3)
    assert head.figures["r_at_2"] == 1.0
    assert (torso.labels_true, torso.labels_given, torso.true) == (2, 1, 3)
    # F1 of b is 1/2, c is never given.
    assert torso.figures["macro_f1"] == pytest.approx((1 / 2 + 0) / 2)
    assert torso.figures["r_at_2"] == pytest.approx(1 / 3)
    assert tail.figures["micro_recall"] == 0.0 and tail.figures["micro_precision"] is None
    assert tail.figures["r_at_2"] == 1.0, "e is second in the first document"
    assert unseen.true == 0 and unseen.figures["micro_f1"] is None
    assert sum(b.true for b in found) == 6 and sum(b.given for b in found) == 5


def test_variety_of_truth_and_answers():
    found = diversity(outcome(), LABELS)
    assert found.truth.unique_labels == 4 and found.given.unique_labels == 2
    assert found.truth.labels_per_document == 2.0 and found.truth.most == 3
    assert found.truth.sets == 3 and found.truth.sharing == 0
    assert found.given.sets == 2 and found.given.sharing == 2
    assert found.given.common_set == ("a", "b") and found.given.common_documents == 2
    assert found.given.common_share == pytest.approx(2 / 3)


def test_the_same_empty_set_for_all_is_a_set_too():
    empty = np.zeros((4, 6))
    truth = np.eye(4, 6)
    made = MultiLabelOutcome.of(truth, empty, truth, reasons=[None, None, None, "failed"])
    given = diversity(made, LABELS).given
    assert (given.without, given.sets, given.sharing) == (3, 1, 3)
    assert given.common_set == () and given.common_share == 1.0
    silent = MultiLabelOutcome.of(truth, empty, truth, reasons=["failed"] * 4)
    assert diversity(silent, LABELS).given is None


def test_the_best_constant_answer():
    found = constant_answer(np.array([3, 10, 9, 1]), 10, LabelSet.from_ids(list("wxyz")))
    # One label: 20 / 33, two: 38 / 43, three: 44 / 53, all: 46 / 63.
    assert (found.n, found.labels) == (2, ("x", "y"))
    assert found.micro_f1 == pytest.approx(38 / 43)
    assert constant_answer(np.zeros(4, int), 10, LABELS) is None
