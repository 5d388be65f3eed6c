"""The one decision step."""

import numpy as np
import pytest

from attending.errors import ModelError
from attending.parts.decoders import Decision, build_argmax
from attending.records import LabelSet
from attending.specs import ArgmaxDecoder

LABELS = LabelSet.from_ids(["low", "middle", "high"])
LOGITS = np.array([[0.0, 1.0, 3.0], [2.0, 2.0, -1.0], [0.0, 0.0, 0.0]])


def test_probabilities_by_hand():
    found = Decision(temperature=2.0).probabilities(LOGITS[:1])
    grown = np.exp([0.0, 0.5, 1.5])
    np.testing.assert_allclose(found, [grown / grown.sum()])


def test_large_logits_stay_finite():
    found = Decision(temperature=0.05).probabilities(np.array([[1e6, -1e6, 0.0]]))
    assert found.tolist() == [[1.0, 0.0, 0.0]]


def test_single_precision_logits_are_decided_in_double():
    assert Decision().probabilities(LOGITS.astype(np.float32)).dtype == np.float64


def test_the_highest_score_wins_and_equal_ones_go_to_the_first_label():
    decision = Decision()
    assert decision.decode(decision.probabilities(LOGITS), LABELS) == [
        ("high",),
        ("low",),
        ("low",),
    ]


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_temperature_changes_no_label(temperature):
    decision = Decision(temperature=temperature)
    assert [x[0] for x in decision.decode(decision.probabilities(LOGITS), LABELS)] == [
        "high",
        "low",
        "low",
    ]


def test_abstaining_below_a_floor_and_not_at_it():
    decision = Decision(abstain_below=0.5)
    probabilities = np.array([[0.2, 0.3, 0.5], [0.49, 0.31, 0.2], [0.0, 0.0, 1.0]])
    assert decision.decode(probabilities, LABELS) == [("high",), (), ("high",)]
    assert Decision(abstain_below=0.0).decode(probabilities, LABELS)[1] == ("low",)


def test_the_disk_form_comes_back():
    decision = build_argmax(ArgmaxDecoder(abstain_below=0.4), temperature=1.7)
    assert decision == Decision("argmax", 1.7, 0.4)
    assert Decision.from_dict(decision.to_dict()) == decision


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "threshold"},
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": "warm"},
        {"temperature": None},
        {"temperature": float("nan")},
        {"abstain_below": "never"},
        {"abstain_below": 1.5},
        {"heat": 1.0},
    ],
)
def test_a_damaged_decision_is_refused(values):
    with pytest.raises(ModelError, match=r"^decision\.json: ") as caught:
        Decision.from_dict(values)
    assert "\n" not in str(caught.value)


def test_no_rows_no_labels():
    assert Decision().decode(np.zeros((0, 3)), LABELS) == []
    assert Decision().probabilities(np.zeros((0, 3))).shape == (0, 3)
