"""Which label a document gets where a recall is to be kept."""

import numpy as np
import pytest

from attending.errors import ModelError
from attending.parts.choices import at_least, choose, in_turn, lead, reach
from attending.parts.decoders import Decision
from attending.records import Label, LabelSet

LEVELS = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), "urgency", ordered=True)
TOPICS = LabelSet.from_ids(["pay", "refill", "pain"])
ROWS = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4], [0.2, 0.3, 0.5], [0.34, 0.33, 0.33]])


def test_at_least_a_level_sums_what_lies_above():
    assert reach(ROWS, LEVELS, "middle") == pytest.approx([0.4, 0.9, 0.8, 0.66])
    assert reach(ROWS, TOPICS, "refill") == pytest.approx(ROWS[:, 1])
    truth = np.array([0, 1, 2])
    assert at_least(truth, LEVELS, "middle").tolist() == [False, True, True]
    assert at_least(truth, TOPICS, "refill").tolist() == [False, True, False]


def test_the_highest_level_comes_first_else_the_order_given():
    wanted = {"middle": 0.5, "high": 0.5}
    assert in_turn(LEVELS, wanted) == ["high", "middle"]
    assert in_turn(TOPICS, {"pain": 0.5, "pay": 0.5}) == ["pain", "pay"]


def test_a_label_goes_to_what_reaches_its_threshold_and_to_nothing_else():
    chosen, raised = choose(ROWS, ROWS, LEVELS, {"high": 0.35})
    assert chosen.tolist() == [0, 2, 2, 0] and raised.tolist() == [False, True, True, False]
    strict, raised = choose(ROWS, ROWS, LEVELS, {"high": 0.6})
    assert strict.tolist() == [0, 1, 1, 0] and not raised.any()


def test_at_least_middle_leaves_open_which_of_the_levels_above():
    chosen, raised = choose(ROWS, ROWS, LEVELS, {"middle": 0.65})
    assert chosen.tolist() == [0, 1, 2, 1] and raised.tolist() == [False, True, True, True]


def test_a_higher_level_goes_before_a_lower_one():
    """The second row is high enough, though it doesn't reach the threshold of the lower level."""
    chosen, raised = choose(ROWS, ROWS, LEVELS, {"middle": 0.95, "high": 0.35})
    assert chosen.tolist() == [0, 2, 2, 0] and raised.tolist() == [False, True, True, False]


def test_unordered_labels_are_served_in_turn():
    first, _ = choose(ROWS, ROWS, TOPICS, {"refill": 0.3, "pain": 0.3})
    assert first.tolist() == [1, 1, 1, 1]
    other, _ = choose(ROWS, ROWS, TOPICS, {"pain": 0.4, "refill": 0.3})
    assert other.tolist() == [1, 2, 2, 1]
    none, raised = choose(ROWS, ROWS, TOPICS, dict.fromkeys(TOPICS.ids, 0.99))
    assert none.tolist() == ROWS.argmax(axis=1).tolist() and not raised.any()


def test_how_far_a_label_is_ahead():
    assert lead(ROWS, np.array([0, 2, 2, 0])) == pytest.approx([0.3, -0.1, 0.2, 0.01])
    assert lead(np.ones((2, 1)), np.zeros(2, int)).tolist() == [1.0, 1.0]


def test_an_alert_is_never_silenced_by_the_band():
    decision = Decision(thresholds={"high": 0.1}, abstain_below=0.55)
    assert decision.decode(ROWS, LEVELS) == [("high",)] * 4
    decision = Decision(thresholds={"high": 0.45}, abstain_below=0.55)
    assert decision.decode(ROWS, LEVELS) == [("low",), (), ("high",), ()]
    assert decision.raised(ROWS, LEVELS).tolist() == [False, False, True, False]


def test_a_margin_abstains_by_the_distance_to_the_next():
    decision = Decision(abstain_margin=0.15)
    assert decision.decode(ROWS, LEVELS) == [("low",), (), ("high",), ()]
    both = Decision(abstain_margin=0.15, abstain_below=0.55)
    assert both.decode(ROWS, LEVELS) == [("low",), (), (), ()]


def test_vector_scaling_by_hand():
    decision = Decision(temperature=9.0, scales=(2.0, 1.0, 1.0), biases=(0.0, 1.0, -1.0))
    grown = np.exp([2.0, 3.0, 2.0])
    found = decision.probabilities(np.array([[1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(found, [grown / grown.sum()])


PRICE = {"floor": 0.9, "surely": False, "or_more": False, "rows": 100, "positives": 10,
         "caught": 9, "alerts": 20, "low": 0.6, "high": 0.98}  # fmt: skip
BAND = {"what": "share", "wanted": 0.1, "by": "margin", "all_rows": 100, "rows": 80, "kept": 72,
        "right": 70, "right_in_all": 74}  # fmt: skip
FULL = Decision(
    scales=(1.0, 2.0, 0.5),
    biases=(0.1, -0.1, 0.0),
    thresholds={"high": 0.2},
    recall_floors={"high": PRICE},
    abstain_margin=0.25,
    abstention=BAND,
)


def test_all_of_it_comes_back_from_disk():
    assert Decision.from_dict(FULL.to_dict(), labels=LEVELS) == FULL
    assert "scales" not in Decision().to_dict() and "thresholds" not in Decision().to_dict()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"scales": [1.0]}, "biases"),
        ({"scales": [1.0, -2.0, 0.5]}, "scales"),
        ({"biases": [1.0, "x", 0.5]}, "biases"),
        ({"abstain_margin": 2}, "abstain_margin"),
        ({"recall_floors": {"high": {**PRICE, "positives": 0}}}, "recall_floors"),
        ({"recall_floors": {"high": {"floor": 0.9}}}, "recall_floors"),
        ({"abstention": {**BAND, "what": "luck"}}, "abstention"),
        ({"abstention": ["share"]}, "abstention"),
    ],
)
def test_damaged_constraints_are_refused(wrong, why):
    with pytest.raises(ModelError, match=f"a wrong {why}"):
        Decision.from_dict({**FULL.to_dict(), **wrong})


def test_constraints_of_other_labels_are_refused():
    two = LabelSet.from_ids(["low", "high"])
    with pytest.raises(ModelError, match="3 scales for 2 labels"):
        Decision.from_dict(FULL.to_dict(), labels=two)
    with pytest.raises(ModelError, match='"high"'):
        Decision.from_dict(FULL.to_dict(), labels=TOPICS)


def test_prices_are_said():
    said = " ".join(FULL.describe())
    assert "a scale and an offset of its own" in said
    assert "high goes to what reaches 0.2 for it, and to nothing else" in said
    assert "9 of 10 are found, 90.0% (95% interval 60.0% to 98.0%)" in said
    assert "per 1,000 rows 200 alerts, 110 of them false, and 10.0 missed" in said
    assert "8 of 100 development rows (8.0%) are handed over" in said
    assert "No label unless its probability is 0.25 ahead of the next" in said
