"""What a recall costs, and what handing over buys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attending.errors import DataError
from attending.evaluation import operating as o
from attending.evaluation.intervals import wilson_interval

RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.random(400) < 0.15
SCORES = np.clip(RANDOM.normal(0.3 + 0.3 * TRUTH, 0.15), 0, 1)


def test_the_floor_is_met_with_the_fewest_alerts():
    point = o.floor_point(SCORES, TRUTH, 0.9)
    assert point.recall >= 0.9
    assert point.alerts == int((point.threshold <= SCORES).sum())
    for value in np.unique(SCORES):
        if (TRUTH & (value <= SCORES)).sum() >= 0.9 * TRUTH.sum():
            assert (value <= SCORES).sum() >= point.alerts


def test_surely_asks_the_lower_end_of_the_interval():
    plain, sure = (o.floor_point(SCORES, TRUTH, 0.8, surely=s) for s in (False, True))
    assert sure.interval.low >= 0.8 > plain.interval.low
    assert sure.alerts > plain.alerts
    fewer = wilson_interval(sure.caught - 1, sure.positives)
    assert fewer.low < 0.8  # none less would have done


def test_why_surely_is_out_of_reach_and_how_many_would_do():
    few = o.floor_point(SCORES[:60], TRUTH[:60], 0.95, surely=True)
    assert "at least 73 rows with the label are needed" in few
    assert wilson_interval(73, 73).low >= 0.95 > wilson_interval(72, 72).low
    assert "no number of rows" in o.floor_point(SCORES, TRUTH, 1.0, surely=True)


def test_too_few_positives_are_refused_and_few_are_remarked():
    assert o.floor_point(SCORES[:8], np.arange(8) < 4, 0.5).startswith("only 4 of 8 rows")
    assert not isinstance(o.floor_point(SCORES[:8], np.arange(8) < 5, 0.5), str)
    assert "20 rows are needed" in o.remark_on(0.95, 19)
    assert o.remark_on(0.95, 20) is None and o.remark_on(1.0, 3) is None


@pytest.mark.parametrize("floor", [0, 1.2])
@pytest.mark.parametrize("surely", [False, True])
def test_a_floor_that_is_no_share(floor, surely):
    with pytest.raises(DataError, match="recall floor"):
        o.floor_point(SCORES, TRUTH, floor, surely=surely)


def test_forced_alerts_count_first():
    forced = TRUTH & (np.cumsum(TRUTH) <= 30)
    point = o.floor_point(SCORES, TRUTH, 0.9, forced=forced)
    assert point.caught / TRUTH.sum() >= 0.9
    assert point.alerts == int(((point.threshold <= SCORES) | forced).sum())
    enough = o.floor_point(SCORES, TRUTH, 0.2, forced=forced)
    assert (enough.threshold, enough.alerts) == (1.0, 30)


def test_alternatives_rise():
    points = o.alternatives(SCORES, TRUTH, floors=(0.95, 0.8, 0.95))
    assert [floor for floor, _ in points] == [0.8, 0.95]
    assert points[0][1].alerts < points[1][1].alerts
    assert o.alternatives(SCORES[:5], np.zeros(5, bool)) == []


def test_the_alert_curve_ends_in_the_corners():
    curve = o.alert_curve(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 1, 0, 0], bool))
    assert curve.alerts.tolist() == [0, 0.25, 0.75, 1] and curve.recall.tolist() == [0, 0.5, 1, 1]
    assert o.alert_curve(SCORES, np.zeros(400, bool)) is None
    assert len(o.alert_curve(RANDOM.random(9000), np.ones(9000, bool)).alerts) <= 401


# Handing over.

SURE = np.array([0.4, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99])
RIGHT = np.array([0, 0, 1, 0, 1, 1, 1, 1, 1, 1], bool)


def test_a_share_by_hand():
    band = o.band_for_share(SURE, RIGHT, 0.2)
    assert (band.kept, band.value) == (9, pytest.approx(0.45))  # the two at 0.5 stay together
    assert o.band_for_share(SURE, RIGHT, 0.3).kept == 7
    assert o.band_for_share(SURE, RIGHT, 0.0).value == 0
    assert (band.handed_over, band.share, band.right, band.right_in_all) == (1, 0.1, 7, 7)
    assert o.band_for_share(np.empty(0), np.empty(0, bool), 0.1) == "there are no rows"


def test_an_accuracy_keeps_as_many_as_it_can():
    sure, right = np.repeat(SURE, 10), np.repeat(RIGHT, 10)
    band = o.band_for_accuracy(sure, right, 0.8)  # without the three least sure: 6 of 7
    assert (band.kept, band.right) == (70, 60) and band.interval.low < band.accuracy
    assert o.band_for_accuracy(sure, right, 0.7).handed_over == 0
    assert "only 10 rows" in o.band_for_accuracy(SURE, RIGHT, 0.7)
    wrong = o.band_for_accuracy(sure, np.zeros(100, bool), 0.5)
    assert wrong.startswith("no band reaches it") and "0.0% at best" in wrong


@given(
    arrays(np.float64, 40, elements=st.sampled_from([0.1, 0.2, 0.5, 0.51, 0.9])),
    arrays(np.bool_, 40),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
)
def test_no_band_of_the_share_or_accuracy_keeps_more(sure, right, wanted):
    share = o.band_for_share(sure, right, wanted)
    assert share.kept == int((sure >= share.value).sum()) and share.share <= wanted + 1e-9
    found = o.band_for_accuracy(sure, right, wanted)
    for value in np.unique(sure):
        kept = sure >= value
        if (~kept).mean() <= wanted + 1e-9:
            assert kept.sum() >= share.kept
        if kept.sum() >= o.LEAST_KEPT and right[kept].mean() >= wanted:
            assert not isinstance(found, str) and found.kept >= kept.sum()


def test_the_coverage_curve():
    curve = o.coverage_curve(np.repeat(SURE, 10), np.repeat(RIGHT, 10))
    assert curve.kept[0] == pytest.approx(0.2) and curve.kept[-1] == 1
    assert curve.accuracy[0] == 1 and curve.accuracy[-1] == pytest.approx(0.7)
    assert o.coverage_curve(SURE, RIGHT) is None
