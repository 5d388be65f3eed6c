"""Temperature, reliability, calibration error, Brier score and log loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as sk

from attending.errors import ShapeError
from attending.evaluation import calibration as c


def rows(n=400, sharpen=1.0, seed=0):
    """Logits that are right about themselves, then multiplied by ``sharpen``."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, 3))
    targets = np.array([rng.choice(3, p=p) for p in c.softmax(logits)])
    return logits * sharpen, targets


def test_softmax_by_hand_and_far_out():
    assert c.softmax(np.log([[1.0, 2.0, 5.0]])) == pytest.approx(np.array([[0.125, 0.25, 0.625]]))
    assert c.softmax(np.array([[1e4, 0.0]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("sharpen", [0.25, 1.0, 4.0])
def test_temperature_recovers_the_factor(sharpen):
    logits, targets = rows(4000, sharpen)
    fitted = c.fit_temperature(logits, targets)
    assert fitted.reason is None
    assert float(fitted) == pytest.approx(sharpen, rel=0.1)
    assert fitted.after <= fitted.before + 1e-12


def test_temperature_is_the_best_of_a_grid():
    logits, targets = rows(300, 3.0)
    fitted = c.fit_temperature(logits, targets)
    grid = [c.log_loss(c.softmax(logits / t), targets) for t in np.geomspace(0.1, 10, 200)]
    assert fitted.after <= min(grid) + 1e-9
    assert fitted.before == pytest.approx(c.log_loss(c.softmax(logits), targets))


@pytest.mark.parametrize(
    ("logits", "targets", "why"),
    [
        (rows(19)[0], rows(19)[1], "19 rows"),
        (rows(50)[0], np.zeros(50, int), "same label"),
        (np.ones((40, 3)), np.arange(40) % 3, "all equal"),
        (np.eye(3)[np.arange(40) % 3], np.arange(40) % 3, "answered right"),
        (np.empty((0, 3)), np.empty(0, int), "0 rows"),
    ],
)
def test_temperature_stays_one_with_a_reason(logits, targets, why):
    fitted = c.fit_temperature(logits, targets)
    assert fitted.value == 1.0 and why in fitted.reason


def test_temperature_refuses_what_does_not_fit():
    with pytest.raises(ShapeError):
        c.fit_temperature(np.full((30, 3), np.nan), np.zeros(30, int))
    with pytest.raises(ShapeError):
        c.fit_temperature(np.zeros((30, 3)), np.full(30, 3))
    with pytest.raises(ShapeError):
        c.fit_temperature(np.zeros((30, 3)), np.zeros(29, int))


def test_bins_and_error_by_hand():
    confidence = np.array([0.55, 0.6, 0.9, 1.0])
    correct = np.array([True, False, True, True])
    bins = c.reliability_bins(confidence, correct, bins=2)
    assert [b.count for b in bins] == [0, 4]
    assert bins[0].accuracy is None
    assert bins[1].accuracy == pytest.approx(0.75)
    assert bins[1].confidence == pytest.approx(0.7625)
    probs = np.column_stack([confidence, 1 - confidence])
    targets = np.array([0, 1, 0, 0])
    # Five bins: (.4, .6] holds .55 right and .6 wrong; (.8, 1] holds .9 and 1, both right.
    expected = 0.5 * abs(0.575 - 0.5) + 0.5 * abs(0.95 - 1)
    assert c.expected_calibration_error(probs, targets, bins=5) == pytest.approx(expected)


def test_classwise_error_by_hand():
    probs = np.array([[0.9, 0.1], [0.9, 0.1]])
    # Label 0: said .9, true half of the time; label 1: said .1, true half of the time.
    error = c.expected_calibration_error(probs, np.array([0, 1]), over="classwise")
    assert error == pytest.approx(0.4)


@given(
    arrays(np.float64, (30,), elements=st.sampled_from([0.0, 0.2, 0.34, 0.6, 0.61, 1.0])),
    st.sampled_from(["equal-width", "equal-mass"]),
    st.randoms(),
)
def test_bins_hold_every_document_once_in_any_order(confidence, scheme, random):
    correct = confidence > 0.3
    bins = c.reliability_bins(confidence, correct, scheme=scheme)
    assert sum(b.count for b in bins) == 30
    for b in bins:
        if b.count:
            assert b.low - 1e-9 <= b.confidence <= b.high + 1e-9
    order = list(range(30))
    random.shuffle(order)
    shuffled = c.reliability_bins(confidence[order], correct[order], scheme=scheme)
    assert [b.count for b in shuffled] == [b.count for b in bins]


def test_equal_mass_bins_are_about_equal():
    bins = c.reliability_bins(
        np.random.default_rng(0).random(300), np.ones(300, bool), scheme="equal-mass"
    )
    assert len(bins) == 15 and all(18 <= b.count <= 22 for b in bins)


def test_confidence_must_be_a_probability():
    with pytest.raises(ShapeError):
        c.reliability_bins(np.array([1.2]), np.array([True]))


def test_brier_and_log_loss():
    probs, targets = c.softmax(rows(200)[0]), rows(200)[1]
    assert c.brier_score(np.array([[0.5, 0.5], [1, 0]]), np.array([0, 1])) == pytest.approx(1.25)
    assert c.log_loss(probs, targets) == pytest.approx(sk.log_loss(targets, probs))
    assert np.isfinite(c.log_loss(np.array([[1.0, 0.0]]), np.array([1])))
    expected = np.mean(
        [((p - np.eye(3)[t]) ** 2).sum() for p, t in zip(probs, targets, strict=True)]
    )
    assert c.brier_score(probs, targets) == pytest.approx(expected)
