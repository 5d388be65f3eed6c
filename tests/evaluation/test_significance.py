"""Paired randomisation against exact enumeration, spread, and Holm's adjustment."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score

from attending.errors import DataError, ShapeError
from attending.evaluation.metrics import evaluate
from attending.evaluation.significance import (
    holm,
    mean_and_spread,
    mean_interval,
    paired_randomisation,
)
from attending.records import Coverage, Document, LabelSet, Prediction


def system(truth, right, seed, runs=None):
    rng = np.random.default_rng(seed)
    shape = truth.shape if runs is None else (runs, *truth.shape)
    return np.where(rng.random(shape) < right, truth, rng.integers(0, 3, shape))


def exact_p(truth, a, b, metric):
    """Enumerate every way to swap documents, and count differences as large as the observed."""
    observed = metric(truth, a) - metric(truth, b)
    differences = []
    for swap in product([False, True], repeat=truth.size):
        swap = np.array(swap)
        differences.append(
            metric(truth, np.where(swap, b, a)) - metric(truth, np.where(swap, a, b))
        )
    return np.mean(np.abs(differences) >= abs(observed) - 1e-12)


def accuracy(truth, given):
    return float((truth == given).mean())


def macro_f1(truth, given):
    return float(f1_score(truth, given, average="macro", zero_division=0))


@pytest.mark.parametrize(("name", "metric"), [("accuracy", accuracy), ("macro_f1", macro_f1)])
def test_p_value_agrees_with_enumeration(name, metric):
    truth = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    a = np.array([0, 0, 0, 1, 1, 0, 2, 2, 2])
    b = np.array([0, 1, 2, 1, 0, 0, 2, 1, 2])
    found = paired_randomisation(truth, a, b, name, rounds=20_000)
    assert found.a == pytest.approx(metric(truth, a))
    assert found.difference == pytest.approx(metric(truth, a) - metric(truth, b))
    assert found.differing == 4
    # The standard error of a share near 0.3 over 20,000 rounds is 0.003.
    assert found.p_value == pytest.approx(exact_p(truth, a, b, metric), abs=0.015)


def test_names_and_functions_agree_over_seeds():
    truth = np.random.default_rng(0).integers(0, 3, 60)
    a, b = system(truth, 0.8, 1, runs=3), system(truth, 0.6, 2, runs=3)
    named = paired_randomisation(truth, a, b, "macro_f1", rounds=60, seed=5)
    called = paired_randomisation(truth, a, b, macro_f1, rounds=60, seed=5)
    assert (named.a, named.b) == pytest.approx((called.a, called.b))
    assert named.p_value == called.p_value
    # The same draws; those of a name that is a mean over labels are moved to the figure.
    wide = [t.interval.high - t.interval.low for t in (named, called)]
    assert wide[0] == pytest.approx(wide[1], rel=0.05)
    plain = [
        paired_randomisation(truth, a, b, m, rounds=60, seed=5) for m in ("accuracy", accuracy)
    ]
    assert plain[0].interval.low == pytest.approx(plain[1].interval.low)
    assert plain[0].interval.high == pytest.approx(plain[1].interval.high)
    assert named.a == pytest.approx(np.mean([macro_f1(truth, run) for run in a]))


def test_equal_systems_never_differ():
    truth = np.arange(30) % 3
    a = system(truth, 0.7, 1)
    found = paired_randomisation(truth, a, a, rounds=200)
    assert found.p_value == 1.0 and found.difference == 0 and found.differing == 0


def test_p_value_is_never_zero_and_order_only_turns_the_sign():
    truth = np.arange(300) % 3
    good, bad = system(truth, 0.95, 1), system(truth, 0.2, 2)
    one, other = (
        paired_randomisation(truth, x, y, rounds=999) for x, y in [(good, bad), (bad, good)]
    )
    assert one.p_value == other.p_value == pytest.approx(1 / 1000)
    assert one.difference == pytest.approx(-other.difference)
    assert one.interval.low > 0 > other.interval.high


def test_p_values_are_spread_evenly_when_nothing_differs():
    low = 0
    for seed in range(200):
        truth = np.random.default_rng(seed).integers(0, 3, 80)
        a, b = system(truth, 0.7, 1000 + seed), system(truth, 0.7, 2000 + seed)
        low += paired_randomisation(truth, a, b, rounds=200, seed=seed).p_value <= 0.1
    # 10 % of 200 expected; 3.2 standard deviations either way.
    assert 6 <= low <= 34


def test_one_run_stands_against_several():
    truth = np.arange(90) % 3
    a, b = system(truth, 0.9, 1, runs=4), system(truth, 0.5, 2)
    found = paired_randomisation(truth, a, b, rounds=99)
    assert found.runs == 4 and found.b == pytest.approx(macro_f1(truth, b))


def test_no_answer_is_wrong_but_no_label():
    truth = np.array([0, 0, 1, 1])
    found = paired_randomisation(truth, np.array([0, -1, 1, 1]), truth, rounds=50)
    assert found.a == pytest.approx((2 / 3 + 1) / 2)
    ids = np.array(["low", "low", "high", "high"])
    named = paired_randomisation(ids, np.array(["low", "", "high", "high"]), ids, rounds=50)
    assert named.a == pytest.approx(found.a) and named.p_value == found.p_value


def test_one_label_can_be_compared():
    truth = np.array(["low", "low", "high", "high"])
    a, b = np.array(["low", "low", "high", "low"]), np.array(["low", "low", "low", "low"])
    found = paired_randomisation(truth, a, b, "recall", label="high", rounds=50)
    assert (found.a, found.b, found.metric) == (0.5, 0.0, "recall of high")


@pytest.mark.parametrize(
    ("metric", "label"), [("speed", None), ("recall", None), ("recall", 7), ("accuracy", 1)]
)
def test_unknown_metrics_are_refused(metric, label):
    truth = np.arange(6) % 3
    with pytest.raises(DataError):
        paired_randomisation(truth, truth, truth, metric, label=label)


@pytest.mark.parametrize(
    ("truth", "a", "b", "error"),
    [
        ([0, 1], [0, 1, 1], [0, 1], ShapeError),
        ([0, 1], [[0, 1]] * 3, [[0, 1]] * 2, ShapeError),
        ([0, 1], ["0", "1"], [0, 1], ShapeError),
        ([0, -1], [0, 1], [0, 1], DataError),
        ([[0, 1]], [0, 1], [0, 1], ShapeError),
    ],
)
def test_inputs_that_do_not_fit_are_refused(truth, a, b, error):
    with pytest.raises(error):
        paired_randomisation(truth, a, b, rounds=10)


def test_rounds_must_be_positive():
    with pytest.raises(DataError, match="rounds"):
        paired_randomisation([0, 1], [0, 1], [1, 0], rounds=0)


def test_spread_by_hand():
    found = mean_and_spread([2, 4, 4, 4, 5, 5, 7, 9])
    assert found.mean == 5 and found.n == 8 and (found.min, found.max) == (2, 9)
    assert found.sd == pytest.approx((32 / 7) ** 0.5)
    assert found.se == pytest.approx((32 / 7 / 8) ** 0.5)
    alone = mean_and_spread([0.5])
    assert alone.sd is None and alone.se is None
    with pytest.raises(DataError):
        mean_and_spread([])
    with pytest.raises(DataError):
        mean_and_spread([0.1, float("nan")])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()
    with pytest.raises(DataError):
        holm([1.2])


def many_labels():
    """Two hundred labels of two documents each: a draw misses a seventh of the labels."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(200), 2)
    good, bad = (
        np.where(rng.random(400) < p, truth, rng.integers(0, 200, 400)) for p in (0.8, 0.4)
    )
    return truth, good, bad


def test_intervals_of_means_over_labels_hold_the_figure():
    """Rare labels fall out of draws; draws that aren't moved leave the figure itself outside."""
    truth, good, bad = many_labels()
    found = paired_randomisation(truth, good, bad, "macro_f1", rounds=300)
    assert found.interval.low < found.difference < found.interval.high
    middle = (found.interval.low + found.interval.high) / 2
    assert abs(middle - found.difference) < 0.02
    interval = mean_interval(truth, np.stack([good, good]), "macro_f1", draws=300)
    assert interval.low < found.a < interval.high
    assert abs((interval.low + interval.high) / 2 - found.a) < 0.02
    sure = mean_interval(truth, truth, "macro_f1", draws=300)
    assert 0 <= sure.low <= sure.high <= 1


def test_the_report_s_interval_of_macro_f1_holds_it():
    truth, good, _ = many_labels()
    labels = LabelSet.from_ids([f"c{i}" for i in range(200)])
    documents = [Document(str(i), "x", (f"c{k}",)) for i, k in enumerate(truth)]
    predictions = [
        Prediction(id=str(i), status="ok", labels=(f"c{k}",), scores={}, read=Coverage(1, 1, 1))
        for i, k in enumerate(good)
    ]
    found = evaluate(documents, predictions, labels, resamples=300)
    interval, figure = found.intervals["macro_f1"], found.metrics["macro_f1"]
    assert interval.low < figure < interval.high
    assert abs((interval.low + interval.high) / 2 - figure) < 0.02
