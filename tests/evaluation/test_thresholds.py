"""Thresholds: best for F1, one a label, and the one that keeps a recall."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from attending.errors import DataError, ShapeError
from attending.evaluation import thresholds as t

SCORES = np.array([[0.9, 0.2], [0.6, 0.8], [0.4, 0.1], [0.3, 0.7]])
TRUTH = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], bool)


def test_micro_by_hand():
    """Scores downward: .9+ .8+ .7- .6+ .4- .3+ ...; four true cells.

    F1 is 2/5, 4/6, 4/7, 6/8, 6/9, 8/10 at .3, where 6 cells hold all four; then it falls.
    """
    found = t.best_threshold(SCORES, TRUTH)
    assert found.value == pytest.approx((0.3 + 0.2) / 2)
    assert found.figure == pytest.approx(0.8)
    assert found.reason is None and float(found) == found.value


def test_macro_by_hand():
    """At .8 label one has F1 1/2 and label two 1, mean .75; at .3 it is 6/7 and 2/3, mean .762."""
    found = t.best_threshold(SCORES, TRUTH, "macro_f1")
    assert found.figure == pytest.approx((6 / 7 + 2 / 3) / 2)
    assert found.value == pytest.approx(0.25)
    first = t.best_threshold(SCORES[:, :1], TRUTH[:, :1], "macro_f1")
    assert first.value == pytest.approx(0.15) and first.figure == pytest.approx(6 / 7)


def test_a_label_that_nobody_has_lowers_macro_f1_once_it_is_given():
    """Label two is never true; with it in, label one's gain from 2/3 to 1 is halved."""
    scores = np.array([[0.9, 0.5], [0.4, 0.1]])
    truth = np.array([[1, 0], [1, 0]], bool)
    found = t.best_threshold(scores, truth, "macro_f1")
    assert found.figure == pytest.approx(2 / 3) and found.value == pytest.approx(0.7)
    assert t.best_threshold(scores, truth).value == pytest.approx(0.25)


def test_of_equally_good_thresholds_the_highest():
    """One of two true cells first: F1 2/3 at .9; then a false one and the other: 4/5 beats it."""
    scores = np.array([[0.9], [0.6], [0.5], [0.2]])
    truth = np.array([[1], [0], [0], [1]], bool)
    found = t.best_threshold(scores, truth)
    assert found.figure == pytest.approx(2 / 3) and found.value == pytest.approx(0.75)


def test_equal_scores_are_taken_together():
    scores = np.array([[0.5], [0.5], [0.5], [0.1]])
    found = t.best_threshold(scores, np.array([[1], [0], [0], [0]], bool))
    assert found.figure == pytest.approx(0.5) and found.value == pytest.approx(0.3)


def test_rounding_moves_no_label_over_a_threshold():
    scores = np.random.default_rng(0).random((40, 6))
    truth = np.random.default_rng(1).random((40, 6)) < scores
    value = t.best_threshold(scores, truth).value
    rounded = scores.astype(np.float32).astype(np.float64)
    assert ((scores >= value) == (rounded >= value)).all()
    # Two neighbours among the numbers leave nothing between them.
    low = np.nextafter(0.5, 0)
    tight = t.best_threshold(np.array([[0.5], [low]]), np.array([[1], [0]], bool))
    assert low < tight.value <= 0.5


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_nothing_to_tune_on_keeps_the_default_and_says_why(metric):
    found = t.best_threshold(SCORES, np.zeros_like(TRUTH), metric, default=0.4)
    assert (found.value, found.figure) == (0.4, None) and "truly has a label" in found.reason
    assert t.best_threshold(np.zeros((0, 2)), np.zeros((0, 2), bool), metric).value == 0.5
    unscored = t.best_threshold(csr_array((2, 2)), csr_array(np.eye(2, dtype=bool)), metric)
    assert "was given a score" in unscored.reason


def f1_of(metric, guess, truth):
    """The figure by scikit-learn; its macro-F1 over labels that occur on either side."""
    if metric == "micro_f1":
        return f1_score(truth, guess, average="micro", zero_division=0)
    seen = np.flatnonzero(truth.any(axis=0) | guess.any(axis=0))
    return f1_score(truth, guess, average="macro", labels=seen, zero_division=0)


tables = st.tuples(
    arrays(np.float64, (7, 4), elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.51, 0.9, 1.0])),
    arrays(np.bool_, (7, 4)),
)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
@given(table=tables)
def test_it_is_the_best_of_all_and_its_figure_is_true(metric, table):
    scores, truth = table
    found = t.best_threshold(scores, truth, metric)
    if not truth.any():
        assert found.reason
        return
    assert found.figure == pytest.approx(f1_of(metric, scores >= found.value, truth))
    every = [f1_of(metric, scores >= value, truth) for value in np.unique(scores)]
    assert found.figure == pytest.approx(max(every))


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_blocks_and_sparse_tables_change_nothing(metric, monkeypatch):
    random = np.random.default_rng(3)
    scores, truth = random.random((50, 11)).round(2) + 0.01, random.random((50, 11)) < 0.2
    truth[:, 4] = False
    whole = t.best_threshold(scores, truth, metric)
    own = t.per_label_thresholds(scores, truth, shared=0.5)
    monkeypatch.setattr(t, "CELLS_AT_ONCE", 120)
    for made in (
        (scores, truth),
        (csr_array(scores), truth),
        (csr_array(scores), csr_array(truth)),
    ):
        assert t.best_threshold(*made, metric) == whole
        assert np.array_equal(t.per_label_thresholds(*made, shared=0.5), own)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_a_score_that_is_not_stored_is_below_every_threshold(metric):
    """What only looks like a low score would otherwise be taken in by a low threshold."""
    scores = csr_array(([0.2, 0.3], ([0, 2], [0, 0])), shape=(3, 1))
    found = t.best_threshold(scores, np.array([[1], [1], [0]], bool), metric)
    assert found.figure == pytest.approx(2 * 1 / (2 + 2)) and found.value == pytest.approx(0.1)


def test_shapes_and_numbers_are_checked():
    with pytest.raises(ShapeError, match="documents, labels"):
        t.best_threshold(SCORES, TRUTH[:, :1])
    with pytest.raises(ShapeError, match="not a number"):
        t.per_label_thresholds(SCORES * np.nan, TRUTH, shared=0.5)


# One threshold a label.


def test_own_thresholds_by_hand():
    """Label one is best at .3 (6/7), label two at .8 (1); nobody has label three."""
    scores = np.column_stack([SCORES, [0.9, 0.9, 0.1, 0.1]])
    truth = np.column_stack([TRUTH, np.zeros(4, bool)])
    own = t.per_label_thresholds(scores, truth, shared=0.5, shrinkage=0)
    assert own.tolist() == pytest.approx([0.15, 0.75, 0.5])
    drawn = t.per_label_thresholds(scores, truth, shared=0.5, shrinkage=2)
    expected = [(3 * 0.15 + 2 * 0.5) / 5, (1 * 0.75 + 2 * 0.5) / 3, 0.5]
    assert drawn.tolist() == pytest.approx(expected)


@given(table=tables)
def test_own_thresholds_are_the_best_for_each_label(table):
    scores, truth = table
    own = t.per_label_thresholds(scores, truth, shared=0.3, shrinkage=0)
    for k in range(4):
        alone = t.best_threshold(scores[:, [k]], truth[:, [k]], default=0.3)
        guess = scores[:, k] >= own[k]
        assert own[k] == pytest.approx(alone.value)
        if truth[:, k].any():
            assert f1_score(truth[:, k], guess) == pytest.approx(alone.figure)


def test_more_shrinkage_draws_rare_labels_nearer():
    random = np.random.default_rng(5)
    truth = np.column_stack([np.arange(60) < 30, np.arange(60) < 2])
    scores = random.random((60, 2)) * 0.2 + truth * 0.1
    own = t.per_label_thresholds(scores, truth, shared=0.9, shrinkage=0)
    gaps = [
        np.abs(t.per_label_thresholds(scores, truth, shared=0.9, shrinkage=k) - own) / (0.9 - own)
        for k in (1, 10, 1000)
    ]
    assert np.allclose(gaps, [[k / (30 + k), k / (2 + k)] for k in (1, 10, 1000)])


# A recall to keep.


def test_a_recall_floor_by_hand():
    """Downward: + - + - - + -; two of three need 3 alerts, all of them 6."""
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.1])
    truth = np.array([1, 0, 1, 0, 0, 1, 0], bool)
    two = t.recall_floor_threshold(scores, truth, 2 / 3)
    assert two.threshold == pytest.approx(0.65)
    assert (two.alerts, two.caught, two.positives, two.rows) == (3, 2, 3, 7)
    assert two.recall == pytest.approx(2 / 3) and two.precision == pytest.approx(2 / 3)
    assert two.alerts_per_1000 == pytest.approx(3000 / 7)
    assert two.false_alerts_per_1000 == pytest.approx(1000 / 7)
    assert two.missed_per_1000 == pytest.approx(1000 / 7)
    every = t.recall_floor_threshold(scores, truth, 0.7)
    assert (every.alerts, every.recall) == (6, 1) and every.threshold == pytest.approx(0.25)
    one = t.recall_floor_threshold(scores, truth, 0.01)
    assert (one.alerts, one.caught) == (1, 1)
    assert every.interval.low == pytest.approx(0.4385, abs=1e-4)  # Wilson: 3 / (3 + 1.96^2)


@given(
    arrays(np.float64, 12, elements=st.sampled_from([0.1, 0.2, 0.4, 0.41, 0.9])),
    arrays(np.bool_, 12),
    st.sampled_from([0.05, 0.3, 0.5, 0.9, 0.95, 1.0]),
)
def test_no_point_with_the_recall_has_fewer_alerts(scores, truth, floor):
    found = t.recall_floor_threshold(scores, truth, floor)
    if not truth.any():
        assert found == "no document has the label"
        return
    taken = scores >= found.threshold
    assert taken.sum() == found.alerts and (taken & truth).sum() == found.caught
    assert found.recall >= floor - 1e-9
    for value in np.unique(scores):
        other = scores >= value
        if (other & truth).sum() >= floor * truth.sum() - 1e-9:
            assert other.sum() >= found.alerts


@pytest.mark.parametrize("floor", [0, -0.5, 1.01, float("nan")])
def test_a_floor_that_is_no_share(floor):
    with pytest.raises(DataError, match="recall floor"):
        t.recall_floor_threshold(SCORES[:, 0], TRUTH[:, 0], floor)


def test_a_recall_floor_needs_one_score_a_document():
    with pytest.raises(ShapeError):
        t.recall_floor_threshold(SCORES, TRUTH, 0.9)
    with pytest.raises(ShapeError):
        t.recall_floor_threshold(np.array([np.inf, 0.1]), np.array([True, False]), 0.9)
