"""Paired tests and intervals of multi-label systems: against slow references."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import f1_score

from attending.errors import DataError, ShapeError
from attending.evaluation.multilabel.decisions import Decided
from attending.evaluation.multilabel.frequency import buckets
from attending.evaluation.multilabel.metrics import evaluate_multilabel, quick_figures
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.multilabel.ranked import rank_documents
from attending.evaluation.multilabel.significance import (
    mean_interval_multilabel,
    paired_multilabel,
)


def system(truth, seed, noise):
    rng = np.random.default_rng(seed)
    scores = np.clip(0.5 * truth + noise * rng.random(truth.shape), 0, 1)
    return MultiLabelOutcome.of(truth, scores >= 0.5, scores)


@pytest.fixture
def truth():
    return (np.random.default_rng(0).random((60, 6)) < 0.3).astype(int)


@pytest.mark.parametrize(
    "metric", ["micro_f1", "macro_f1", "map", "p_at_3", "example_f1", "map_cantemist"]
)
def test_figures_are_those_of_the_evaluation(truth, metric):
    a, b = system(truth, 1, 0.6), system(truth, 2, 0.9)
    found = paired_multilabel(a, b, metric, rounds=200)
    for mine, outcome in ((found.a, a), (found.b, b)):
        assert mine == pytest.approx(quick_figures(outcome, (3,))[metric])
    assert found.difference == pytest.approx(found.a - found.b)
    assert found.interval.low < found.difference < found.interval.high
    assert found.documents == 60 and 0 < found.differing <= 60


@pytest.mark.parametrize("metric", ["r_at_1", "r_at_2", "micro_f1", "micro_precision", "macro_f1"])
def test_figures_of_a_group_of_labels_are_those_of_its_bucket(truth, metric):
    training = np.array([0, 9, 0, 60, 2, 0])
    a, b = system(truth, 1, 0.6), system(truth, 2, 0.9)
    unseen = [training == 0]
    found = paired_multilabel(a, b, metric, groups=unseen, rounds=200)
    for mine, outcome in ((found.a, a), (found.b, b)):
        ranked = rank_documents(outcome, (1, 2))
        bucket = buckets(Decided.of(outcome).label_counts(), ranked, training)[-1]
        assert bucket.name == "unseen" and bucket.true > 0
        assert mine == pytest.approx(bucket.figures[metric])
    assert found.interval.low < found.difference < found.interval.high
    interval = mean_interval_multilabel([a], metric, groups=unseen, draws=200)
    assert interval.low < found.a < interval.high
    whole = paired_multilabel(a, b, metric, groups=[np.ones(6, bool)], rounds=200)
    assert whole.a != pytest.approx(found.a)


def test_recall_of_a_group_is_that_of_all_ways_to_swap():
    truth = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1]])
    rng = np.random.default_rng(5)
    group = np.array([True, False, True])
    scores = [truth + rng.random(truth.shape) * 1.5, truth + rng.random(truth.shape) * 4]
    a, b = (MultiLabelOutcome.of(truth, s > 1, s) for s in scores)
    first = [s.argmax(axis=1) for s in scores]
    hits = [group[k] & (truth[np.arange(6), k] > 0) for k in first]
    pairs = truth[:, group].sum()
    seen = (hits[0].sum() - hits[1].sum()) / pairs
    swaps = itertools.product([1, -1], repeat=6)
    differences = hits[0].astype(int) - hits[1].astype(int)
    every = [abs(np.dot(s, differences)) / pairs >= abs(seen) - 1e-12 for s in swaps]
    found = paired_multilabel(a, b, "r_at_1", groups=[group], rounds=4000)
    assert found.difference == pytest.approx(seen) and seen != 0
    assert found.p_value == pytest.approx(np.mean(every), abs=0.03)


def test_every_run_can_have_a_group_of_its_own(truth):
    a, b = ([system(truth, s, noise) for s in (1, 2)] for noise in (0.6, 0.9))
    groups = [np.arange(6) < 2, np.arange(6) > 3]
    found = paired_multilabel(a, b, "r_at_1", groups=groups, rounds=50)
    alone = [
        paired_multilabel(x, y, "r_at_1", groups=[g], rounds=50)
        for x, y, g in zip(a, b, groups, strict=True)
    ]
    assert found.a == pytest.approx(np.mean([t.a for t in alone]))
    assert found.b == pytest.approx(np.mean([t.b for t in alone]))


def test_groups_that_do_not_fit_are_refused(truth):
    a = system(truth, 1, 0.8)
    with pytest.raises(DataError, match=r'"map" is not known for a group.*r_at_k for any k'):
        paired_multilabel(a, a, "map", groups=[np.ones(6, bool)])
    with pytest.raises(DataError, match='"r_at_0" is not known for a group'):
        paired_multilabel(a, a, "r_at_0", groups=[np.ones(6, bool)])
    with pytest.raises(ShapeError, match=r"found \(5,\); allowed: one for all runs"):
        paired_multilabel(a, a, groups=[np.ones(5, bool)])
    with pytest.raises(ShapeError, match=r"\(6,\); allowed: one for all runs, or 2"):
        paired_multilabel([a, a], [a, a], groups=[np.ones(6, bool)] * 3)
    with pytest.raises(DataError):
        paired_multilabel(a, a, "r_at_1", groups=[np.zeros(6, bool)])


def test_p_value_is_that_of_all_ways_to_swap():
    truth = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1]])
    one, two = truth.copy(), truth.copy()
    one[0, 0], two[[0, 1, 2, 3]] = 0, 0
    a, b = (MultiLabelOutcome.of(truth, g, g + 0.5) for g in (one, two))

    def f1(first, second):
        return f1_score(truth, first, average="micro") - f1_score(truth, second, average="micro")

    seen = f1(one, two)
    every = []
    for swap in itertools.product([False, True], repeat=6):
        turn = np.array(swap)[:, None]
        every.append(abs(f1(np.where(turn, two, one), np.where(turn, one, two))) >= seen - 1e-12)
    found = paired_multilabel(a, b, "micro_f1", rounds=4000)
    assert found.p_value == pytest.approx(np.mean(every), abs=0.03)
    assert found.differing == 4


def test_a_system_does_not_differ_from_itself(truth):
    a = system(truth, 1, 0.8)
    found = paired_multilabel(a, a, rounds=50)
    assert (found.difference, found.p_value, found.differing) == (0.0, 1.0, 0)


def test_a_clear_difference_is_found_over_seeds(truth):
    good = [system(truth, seed, 0.55) for seed in (1, 2)]
    found = paired_multilabel(good, system(truth, 3, 1.0), "micro_f1", rounds=300)
    assert found.p_value < 0.02 and found.runs == 2
    assert found.a == pytest.approx(np.mean([quick_figures(g)["micro_f1"] for g in good]))


def test_what_can_not_be_compared_is_refused(truth):
    a = system(truth, 1, 0.8)
    with pytest.raises(DataError, match=r"micro_f1, .*ndcg_at_k for any k"):
        paired_multilabel(a, a, "accuracy")
    with pytest.raises(ShapeError, match="same documents"):
        paired_multilabel(a, system(1 - truth, 1, 0.8))
    with pytest.raises(ShapeError, match="2 and 3"):
        paired_multilabel([a] * 2, [a] * 3)


def test_intervals_are_those_of_drawn_documents(random_case, answered_rows):
    truth, assigned, scores = random_case(7)
    rows = answered_rows(truth, assigned, scores)
    found = evaluate_multilabel(*rows, resamples=200, seed=3)
    drawn = np.random.default_rng(3).integers(0, 60, size=(200, 60))
    for average, key in (("micro", "micro_f1"), ("macro", "macro_f1_declared_zero")):
        values = [f1_score(truth[d], assigned[d], average=average, zero_division=0) for d in drawn]
        if average == "macro":
            values += found.metrics[key] - np.mean(values)
        low, high = np.quantile(values, [0.025, 0.975])
        interval = found.intervals[key]
        assert (interval.low, interval.high) == pytest.approx((low, high))
    for key, interval in found.intervals.items():
        assert interval.low <= found.metrics[key] <= interval.high, key
    again = evaluate_multilabel(*rows, resamples=0)
    assert again.intervals.keys() == found.intervals.keys()
    assert set(again.intervals.values()) == {None}
