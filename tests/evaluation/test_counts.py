"""Figures from counts: worked by hand, against scikit-learn, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from attending.errors import ShapeError
from attending.evaluation.counts import (
    LabelCounts,
    averages,
    confusion,
    level_distances,
    matthews,
    precision_recall_f1,
    quadratic_kappa,
    scores_of,
)

# Ten documents of three labels; -1 is "no answer".
TRUTH = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
GIVEN = np.array([0, 0, 1, -1, 1, 1, 2, 2, 0, -1])
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=40).map(
    lambda rows: (np.array([t for t, _ in rows]), np.array([p for _, p in rows]))
)


def test_confusion_by_hand():
    expected = [[2, 1, 0, 1], [0, 2, 1, 0], [1, 0, 1, 1]]
    assert confusion(TRUTH, GIVEN, 3).tolist() == expected


def test_label_scores_by_hand():
    scores = precision_recall_f1(confusion(TRUTH, GIVEN, 3))
    assert scores.counts.support.tolist() == [4, 3, 3]
    assert scores.counts.predicted.tolist() == [3, 3, 2]
    assert scores.precision == pytest.approx([2 / 3, 2 / 3, 1 / 2])
    assert scores.recall == pytest.approx([1 / 2, 2 / 3, 1 / 3])
    assert scores.f1 == pytest.approx([4 / 7, 2 / 3, 2 / 5])


def test_averages_by_hand():
    figures = averages(precision_recall_f1(confusion(TRUTH, GIVEN, 3)))
    assert figures["accuracy"] == pytest.approx(0.5)
    assert figures["micro_precision"] == pytest.approx(5 / 8)
    assert figures["micro_recall"] == pytest.approx(5 / 10)
    assert figures["micro_f1"] == pytest.approx(10 / 18)
    assert figures["macro_f1"] == pytest.approx((4 / 7 + 2 / 3 + 2 / 5) / 3)
    assert figures["weighted_f1"] == pytest.approx((4 * 4 / 7 + 3 * 2 / 3 + 3 * 2 / 5) / 10)
    precision, recall = (2 / 3 + 2 / 3 + 1 / 2) / 3, (1 / 2 + 2 / 3 + 1 / 3) / 3
    assert figures["macro_f1_of_averages"] == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


def test_undefined_is_nan_not_zero():
    scores = precision_recall_f1(confusion(np.array([0, 0]), np.array([0, 1]), 3))
    assert scores.recall[0] == 0.5
    assert np.isnan(scores.recall[1]) and np.isnan(scores.precision[2])
    assert scores.f1[1] == 0 and np.isnan(scores.f1[2])


@given(pairs)
def test_averages_equal_scikit_learn(pair):
    truth, given_ = pair
    figures = averages(precision_recall_f1(confusion(truth, given_, 4)))
    seen = sorted({*truth.tolist(), *given_.tolist()} - {-1})
    for average in ("micro", "macro", "weighted"):
        expected = sk.precision_recall_fscore_support(
            truth, given_, labels=seen, average=average, zero_division=0
        )[:3]
        for name, value in zip(("precision", "recall", "f1"), expected, strict=True):
            ours = np.nan_to_num(figures[f"{average}_{name}"])
            assert ours == pytest.approx(value), (average, name)
    assert figures["accuracy"] == pytest.approx(sk.accuracy_score(truth, given_))


@given(pairs)
def test_average_of_f1_never_exceeds_f1_of_averages(pair):
    figures = averages(precision_recall_f1(confusion(*pair, 4)))
    assert figures["macro_f1_declared_zero"] <= figures["macro_f1_of_averages"] + 1e-12
    assert figures["macro_f1_declared_zero"] <= figures["macro_f1"] + 1e-12
    assert figures["macro_f1"] <= figures["macro_f1_support_only"] + 1e-12


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(pairs)
def test_correlation_and_kappa_equal_scikit_learn(pair):
    truth, given_ = pair
    ours = matthews(confusion(truth, given_, 4))
    assert np.nan_to_num(ours) == pytest.approx(sk.matthews_corrcoef(truth, given_), abs=1e-9)
    answered = given_ >= 0
    kappa = quadratic_kappa(confusion(truth[answered], given_[answered], 4)[:, :4])
    if np.isnan(kappa):
        assert len({*truth[answered], *given_[answered]}) <= 1
    else:
        # Levels are those declared: a level that doesn't occur still counts as a step.
        expected = sk.cohen_kappa_score(
            truth[answered], given_[answered], labels=range(4), weights="quadratic"
        )
        assert kappa == pytest.approx(expected, abs=1e-9)


@given(st.lists(pairs, min_size=1, max_size=1), st.integers(1, 5))
def test_counts_of_many_lists_equal_one_by_one(one, repeats):
    truth, given_ = one[0]
    rows = np.random.default_rng(0).integers(0, truth.size, size=(repeats, truth.size))
    together = LabelCounts.of_rows(truth[rows], given_[rows], 4)
    for i, row in enumerate(rows):
        alone = LabelCounts.of(confusion(truth[row], given_[row], 4))
        for name in ("right", "support", "predicted"):
            assert (getattr(together, name)[i] == getattr(alone, name)).all()
    assert scores_of(together).f1.shape == (repeats, 4)


def test_level_distances_by_hand():
    distances = level_distances(confusion(TRUTH, GIVEN, 3))
    assert distances == {-2: 1, -1: 0, 0: 5, 1: 2, 2: 0}


@pytest.mark.parametrize(
    ("truth", "predicted"), [([0, 1], [0]), ([0, 3], [0, 0]), ([-1, 0], [0, 0])]
)
def test_confusion_refuses_what_does_not_fit(truth, predicted):
    with pytest.raises(ShapeError):
        confusion(np.array(truth), np.array(predicted), 3)
