"""Paired tests over documents and over seeds, against scipy and numbers worked by hand."""

import numpy as np
import pytest
from scipy.stats import permutation_test
from sklearn.metrics import f1_score

from attending.errors import DataError, ShapeError
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.multilabel.significance import (
    mean_interval_multilabel,
    paired_multilabel,
)
from attending.evaluation.significance import (
    mean_interval,
    over_runs,
    paired_over_seeds,
    paired_randomisation,
)


def mean_difference(x, y, axis):
    return np.mean(x - y, axis=axis)


@pytest.mark.parametrize("seeds", [2, 3, 5, 8])
def test_seeds_agree_with_scipy(seeds):
    rng = np.random.default_rng(seeds)
    a, b = rng.normal(0.8, 0.02, seeds), rng.normal(0.79, 0.02, seeds)
    theirs = permutation_test(
        (a, b), mean_difference, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    ours = paired_over_seeds(a, b)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx(theirs.statistic)


def test_seeds_by_hand():
    # Differences 1, 2, 3: of 8 ways to turn signs only +++ and --- reach a sum of 6.
    found = paired_over_seeds([1, 2, 3], [0, 0, 0])
    assert (found.p_value, found.least, found.ahead, found.behind) == (0.25, 0.25, 3, 0)
    # Differences 3, -1: sums 4, 2, -2, -4; the observed 2 is reached by all of them.
    assert paired_over_seeds([3, 0], [0, 1]).p_value == 1.0
    assert paired_over_seeds([0.5] * 5, [0.5] * 5).p_value == 1.0
    assert paired_over_seeds([1.0] * 5, [0.0] * 5).p_value == 0.0625


def test_many_seeds_are_drawn():
    rng = np.random.default_rng(0)
    a = rng.normal(0.01, 0.02, 16)
    drawn = paired_over_seeds(a, np.zeros(16), rounds=20_000)
    every = permutation_test(
        (a, np.zeros(16)), mean_difference, permutation_type="samples", vectorized=True,
        n_resamples=np.inf,
    )  # fmt: skip
    assert drawn.p_value == pytest.approx(every.pvalue, abs=0.01)


def test_seeds_that_do_not_pair_are_refused():
    with pytest.raises(ShapeError):
        paired_over_seeds([1, 2], [1])
    with pytest.raises(DataError):
        paired_over_seeds([], [])
    with pytest.raises(DataError):
        paired_over_seeds([float("nan")], [1])


@pytest.mark.slow
def test_documents_agree_with_scipy():
    truth = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    a = np.array([0, 0, 1, 1, 1, 0, 2, 2, 2, 2])
    b = np.array([0, 1, 2, 1, 0, 0, 2, 1, 0, 2])

    def macro(given):
        return f1_score(truth, given, average="macro", zero_division=0)

    theirs = permutation_test(
        (a, b), lambda x, y: macro(x) - macro(y), permutation_type="samples", n_resamples=np.inf
    )
    ours = paired_randomisation(truth, a, b, "macro_f1", rounds=20_000)
    assert ours.difference == pytest.approx(theirs.statistic)
    # The standard error of the share over 20,000 rounds is below 0.004.
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.015)


def test_documents_agree_with_scipy_for_several_labels():
    truth = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
    one, two = truth.copy(), truth.copy()
    one[0, 0], two[[0, 1, 2, 3]] = 0, 0

    def micro(x):
        return f1_score(truth, x, average="micro")

    rows = np.arange(7)

    def difference(x, y):
        first = np.where((x == rows)[:, None], one, two)
        return micro(first) - micro(np.where((x == rows)[:, None], two, one))

    theirs = permutation_test(
        (rows, rows + 7), difference, permutation_type="samples", n_resamples=np.inf
    )
    a, b = (MultiLabelOutcome.of(truth, g, g + 0.5) for g in (one, two))
    ours = paired_multilabel(a, b, "micro_f1", rounds=20_000)
    assert ours.difference == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.015)


def noisy(truth, right, seed, runs):
    rng = np.random.default_rng(seed)
    shape = (runs, truth.size)
    return np.where(rng.random(shape) < right, truth, rng.integers(0, 3, shape))


def test_runs_with_documents_of_their_own():
    # Two runs whose test parts overlap in one document; figures are those of each run alone.
    truth = np.array([["x", "y", "x", "", ""], ["", "", "x", "y", "y"]])
    a = np.array([["x", "y", "y", "x", "x"], ["y", "y", "x", "y", "x"]])
    b = np.array([["y", "y", "x", "y", "y"], ["x", "x", "x", "y", "y"]])
    found = paired_randomisation(truth, a, b, "accuracy", rounds=4000)
    assert found.a_runs == pytest.approx((2 / 3, 2 / 3))
    assert found.b_runs == pytest.approx((2 / 3, 1.0))
    assert (found.documents, found.runs) == (5, 2)

    def accuracy(t, g):
        return float((t == g).mean()) if t.size else float("nan")

    called = paired_randomisation(truth, a, b, accuracy, rounds=4000)
    assert called.a_runs == pytest.approx(found.a_runs)
    assert called.p_value == found.p_value


def test_a_document_of_several_runs_changes_places_in_all():
    # With one document in all runs there are two ways: as it is, and the other way round.
    truth = np.array([["x", "y"]] * 3)
    a, b = np.array([["x", "y"]] * 3), np.array([["x", "x"]] * 3)
    assert paired_randomisation(truth, a, b, "accuracy", rounds=500).p_value == 1.0
    with pytest.raises(ShapeError):
        paired_randomisation(truth, a, b[:2], "accuracy")
    with pytest.raises(DataError):
        paired_randomisation(np.array([["x"], [""]]), a[:2, :1], b[:2, :1], "accuracy")


def test_several_labels_with_documents_of_their_own():
    rng = np.random.default_rng(3)
    truth = (rng.random((30, 4)) < 0.4).astype(int)
    runs = []
    for seed, rows in ((1, slice(0, 20)), (2, slice(10, 30))):
        noise = np.random.default_rng(seed).random((30, 4))
        scores = np.clip(0.5 * truth + 0.6 * noise, 0, 1)[rows]
        ids = [f"d{i}" for i in range(30)][rows]
        runs.append(MultiLabelOutcome.of(truth[rows], scores >= 0.5, scores, ids=ids))
    empty = [MultiLabelOutcome.of(r.truth, r.truth * 0, r.truth * 1.0, ids=r.ids) for r in runs]
    found = paired_multilabel(runs, empty, "micro_f1", rounds=300)
    assert found.documents == 30 and found.runs == 2
    alone = [paired_multilabel(r, r, "micro_f1", rounds=10).a for r in runs]
    assert found.a_runs == pytest.approx(alone)
    assert found.b == 0.0 and found.p_value < 0.01
    interval = mean_interval_multilabel(runs, "micro_f1")
    assert interval.low < found.a < interval.high


def test_one_label_among_several():
    truth = np.array([[1, 1], [1, 0], [0, 1], [1, 0]])
    given = np.array([[1, 0], [0, 0], [0, 1], [1, 0]])
    outcome = MultiLabelOutcome.of(truth, given, given * 1.0)
    found = paired_multilabel(outcome, outcome, "recall", position=0, rounds=10)
    assert found.a == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="precision, recall, f1"):
        paired_multilabel(outcome, outcome, "map", position=0)


def test_seeds_widen_the_interval():
    truth = np.arange(300) % 3
    good, bad = noisy(truth, 0.9, 1, 2), noisy(truth, 0.5, 2, 2)
    unsteady = np.concatenate([good, bad])
    steady = noisy(truth, 0.7, 3, 4)
    found = paired_randomisation(truth, unsteady, steady, "accuracy", rounds=2000)
    width = found.interval.high - found.interval.low
    assert found.with_seeds.high - found.with_seeds.low > 2 * width
    assert len(found.draws) == 2000
    alone = paired_randomisation(truth, good[0], bad[0], "accuracy", rounds=500)
    assert alone.with_seeds is None and len(alone.draws) == 500


def test_drawn_runs_keep_the_mean():
    drawn = np.tile([1.0, 2.0, 6.0], (4000, 1))
    found = over_runs(drawn, 0)
    assert found.mean() == pytest.approx(3.0, abs=0.1)
    # The variance of a mean of 3 drawn from 1, 2, 6 is (14 / 3) / 3.
    assert found.var() == pytest.approx(14 / 9, rel=0.1)
    assert (over_runs(np.ones((5, 1)), 0) == 1).all()


def test_interval_of_a_mean_covers_it():
    truth = np.arange(120) % 3
    runs = noisy(truth, 0.8, 5, 3)
    interval = mean_interval(truth, runs, "macro_f1")
    mean = np.mean([f1_score(truth, run, average="macro") for run in runs])
    assert interval.low < mean < interval.high and interval.draws == 2000
    recall = mean_interval(truth, runs, "recall", label=2)
    assert 0.5 < recall.low < recall.high < 1
