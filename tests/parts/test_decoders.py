"""The one decision step."""

import json
import pickle

import numpy as np
import pytest

from attending.errors import LabelError, ModelError
from attending.parts.decoders import Decision, build_argmax, build_threshold, build_top_k
from attending.records import LabelSet
from attending.specs import ArgmaxDecoder, ThresholdDecoder, TopKDecoder

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
        {"kind": "ranking", "threshold": 0.5},
        {"kind": ["argmax"]},
        {"kind": "argmax", "threshold": 0.5},
        {"kind": "argmax", "temperature": True},
        {"kind": "threshold", "threshold": 1.5},
        {"kind": "threshold", "threshold": "high"},
        {"kind": "threshold", "threshold": None},
        {"kind": "threshold", "threshold": 0.5, "k": 3},
        {"kind": "threshold", "threshold": 0.5, "thresholds": {"low": -0.1}},
        {"kind": "threshold", "threshold": 0.5, "thresholds": {"low": None}},
        {"kind": "threshold", "threshold": 0.5, "thresholds": [0.5]},
        {"kind": "threshold", "threshold": 0.5, "shift": float("inf")},
        {"kind": "threshold", "threshold": 0.5, "at_least_one": 1},
        {"kind": "threshold", "threshold": 0.5, "keep_scores": 0},
        {"kind": "threshold", "threshold": 0.5, "note": 3},
        {"kind": "top-k"},
        {"kind": "top-k", "k": 0},
        {"kind": "top-k", "k": 2.0},
        {"kind": "top-k", "k": True},
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


# Documents with any number of labels.

ODDS = np.log([[0.8 / 0.2, 0.3 / 0.7, 0.5 / 0.5], [0.1 / 0.9, 0.2 / 0.8, 0.2 / 0.8]])


def test_each_label_has_a_probability_of_its_own():
    found = Decision("threshold").probabilities(ODDS)
    np.testing.assert_allclose(found, [[0.8, 0.3, 0.5], [0.1, 0.2, 0.2]])


def test_the_shift_comes_before_the_temperature():
    decision = Decision("top-k", temperature=2.0, shift=-1.0)
    found = decision.probabilities(np.array([[3.0, 1.0, -1.0]]))
    np.testing.assert_allclose(found, [1 / (1 + np.exp([-1.0, 0.0, 1.0]))])


def test_large_logits_of_many_labels_stay_finite():
    found = Decision("threshold", temperature=0.05).probabilities(np.array([[1e6, -1e6, 0.0]]))
    assert found.tolist() == [[1.0, 0.0, 0.5]]
    assert Decision("threshold").probabilities(np.float32([[1, 2, 3]])).dtype == np.float64


PROBABILITIES = np.array([[0.4, 0.9, 0.5], [0.1, 0.2, 0.2], [0.6, 0.6, 0.6]])


def test_labels_that_reach_the_threshold_come_best_first():
    decision = Decision("threshold", threshold=0.5)
    assert decision.decode(PROBABILITIES, LABELS) == [
        ("middle", "high"),
        (),
        ("low", "middle", "high"),
    ]


def test_own_thresholds_go_before_the_shared_one():
    decision = Decision("threshold", threshold=0.5, thresholds={"low": 0.4, "middle": 0.95})
    assert decision.decode(PROBABILITIES, LABELS) == [("high", "low"), (), ("low", "high")]
    assert decision.floors(LABELS).tolist() == [0.4, 0.95, 0.5]
    with pytest.raises(LabelError, match="lost"):
        Decision("threshold", thresholds={"lost": 0.5}).decode(PROBABILITIES, LABELS)


def test_at_least_one_label_if_asked_for():
    decision = Decision("threshold", threshold=0.5, at_least_one=True)
    assert decision.decode(PROBABILITIES, LABELS)[1] == ("middle",)
    nothing = Decision("threshold", threshold=0.5, thresholds={"middle": 1.0}, at_least_one=True)
    assert nothing.decode(PROBABILITIES[:1], LABELS) == [("high",)]


def test_the_k_best_labels_in_order():
    assert Decision("top-k", k=2).decode(PROBABILITIES, LABELS) == [
        ("middle", "high"),
        ("middle", "high"),
        ("low", "middle"),
    ]
    assert len(Decision("top-k", k=9).decode(PROBABILITIES, LABELS)[0]) == 3


@pytest.mark.parametrize("decision", [Decision("threshold"), Decision("top-k", k=2)])
def test_permuted_labels_give_the_same_answers(decision):
    random = np.random.default_rng(0)
    labels = LabelSet.from_ids([f"l{i}" for i in range(9)])
    logits, order = random.normal(size=(20, 9)), random.permutation(9)
    turned = LabelSet.from_ids([labels.ids[i] for i in order])
    expected = decision.decode(decision.probabilities(logits), labels)
    assert decision.decode(decision.probabilities(logits[:, order]), turned) == expected


def test_no_rows_no_labels_for_many_either():
    for decision in (Decision("threshold", at_least_one=True), Decision("top-k")):
        assert decision.decode(np.zeros((0, 3)), LABELS) == []
        assert decision.probabilities(np.zeros((0, 3))).shape == (0, 3)


def test_built_from_a_recipe_and_from_what_was_fitted():
    spec = ThresholdDecoder(threshold=0.3, at_least_one=True, keep_scores=50)
    assert build_threshold(spec) == Decision(
        "threshold", threshold=0.3, at_least_one=True, keep_scores=50
    )
    fitted = build_threshold(
        spec, temperature=1.5, shift=-2.0, threshold=0.0, thresholds={"low": 0.1}, k=3
    )
    assert (fitted.temperature, fitted.shift, fitted.threshold) == (1.5, -2.0, 0.0)
    assert fitted.thresholds == {"low": 0.1}
    assert build_top_k(TopKDecoder(), k=4, shift=-1.0).k == 4
    assert build_top_k(TopKDecoder(k=2), k=4).k == 2
    assert build_top_k(TopKDecoder()).k == 1


@pytest.mark.parametrize(
    "decision",
    [
        Decision(temperature=1.3, abstain_below=0.2, note="why"),
        Decision(
            "threshold", 0.7, None, "why", -3.25, 0.1 + 0.2, {"low": 1 / 3}, True, keep_scores=7
        ),
        Decision("top-k", 1.1, shift=0.5, k=12),
    ],
)
def test_every_kind_comes_back_from_disk_bit_for_bit(decision):
    written = json.dumps(decision.to_dict())
    assert Decision.from_dict(json.loads(written), labels=LABELS) == decision


def test_a_decision_on_disk_holds_what_its_kind_uses():
    assert set(Decision().to_dict()) == {"kind", "temperature", "abstain_below", "note"}
    assert "k" not in Decision("threshold").to_dict()
    assert "threshold" not in Decision("top-k").to_dict()


@pytest.mark.parametrize("values", [{}, {"kind": "argmax", "temperature": 2, "note": None}])
def test_decisions_of_earlier_versions_are_read(values):
    assert Decision.from_dict(values).kind == "argmax"


def test_a_threshold_of_a_label_that_is_gone_is_named():
    values = Decision("threshold", thresholds={"low": 0.5, "hihg": 0.5, "z": 0.1}).to_dict()
    assert Decision.from_dict(values).thresholds["hihg"] == 0.5
    with pytest.raises(ModelError, match=r'^d\.json: .*"hihg" and 1 more.*Did you mean "high"'):
        Decision.from_dict(values, "d.json", labels=LABELS)


def test_decisions_can_be_hashed_and_sent_to_other_processes():
    decision = Decision("threshold", thresholds={"low": 0.5})
    assert len({decision, decision}) == 1
    assert pickle.loads(pickle.dumps(decision)) == decision


def test_what_is_said_of_a_decision():
    assert Decision("argmax", 1.5, 0.4, "why").describe() == [
        "The label with the highest score; temperature 1.500",
        "why",
        "No label if the best probability is below 0.4",
    ]
    own = {"low": 0.1, "high": 0.5}
    decision = Decision("threshold", 1.0, None, "why", -2.0, 0.25, own, True)
    assert decision.describe() == [
        "Labels with a probability of at least 0.250, the most probable first; temperature 1.000",
        "2 labels have thresholds of their own, 0.100 to 0.500",
        "The most probable label where none reaches its threshold",
        "-2.000 on every score, which undoes the weights of the loss",
        "why",
    ]
    assert Decision("top-k", k=5).describe() == ["The 5 most probable labels; temperature 1.000"]


SHARES = {"low": 0.8, "middle": 0.15, "high": 0.05}


def test_a_prior_shift_by_hand():
    """p / share: .6/.8, .31/.15, .09/.05; at tau 1/2 p / sqrt(share): .67, .80, .40."""
    probabilities = np.array([[0.6, 0.31, 0.09], [0.6, 0.28, 0.12], [1.0, 0.0, 0.0]])
    plain, half, whole = (Decision(prior_shift=t, shares=SHARES) for t in (0.0, 0.5, 1.0))
    assert plain.best(probabilities, LABELS).tolist() == [0, 0, 0]
    assert half.best(probabilities, LABELS).tolist() == [1, 1, 0]
    assert whole.best(probabilities, LABELS).tolist() == [1, 2, 0]
    assert whole.decode(probabilities, LABELS) == [("middle",), ("high",), ("low",)]


def test_a_prior_shift_maximises_the_mean_of_recalls():
    """On a known distribution: no other rule of one label a text has a higher balanced accuracy."""
    random = np.random.default_rng(0)
    shares = np.array(list(SHARES.values()))
    likelihood = random.dirichlet(np.ones(6), size=3)  # of six texts under each label
    joint = shares[:, None] * likelihood
    posterior = (joint / joint.sum(axis=0)).T
    chosen = Decision(prior_shift=1.0, shares=SHARES).best(posterior, LABELS)

    def mean_recall(rule):
        return sum(likelihood[rule[text], text] for text in range(6)) / 3

    rules = np.stack(np.meshgrid(*[range(3)] * 6)).reshape(6, -1).T
    assert mean_recall(chosen) == pytest.approx(max(map(mean_recall, rules)))


def test_a_prior_shift_leaves_probabilities_and_abstains_by_them():
    shifted = Decision(prior_shift=1.0, shares=SHARES, abstain_below=0.3)
    assert np.array_equal(shifted.probabilities(LOGITS), Decision().probabilities(LOGITS))
    assert shifted.decode(np.array([[0.6, 0.28, 0.12]]), LABELS) == [()]


def test_a_prior_shift_is_built_from_training_rows():
    spec = ArgmaxDecoder(prior_shift=1.0)
    decision = build_argmax(spec, counts={"low": 6, "middle": 3, "high": 0})
    assert decision.shares == pytest.approx({"low": 0.6, "middle": 0.3, "high": 0.1})
    assert build_argmax(spec) == Decision()
    assert build_argmax(ArgmaxDecoder(), counts={"low": 6, "middle": 3, "high": 0}) == Decision()


def test_the_disk_form_of_a_prior_shift_comes_back():
    decision = Decision(prior_shift=0.5, shares=SHARES, temperature=1.5)
    assert Decision.from_dict(decision.to_dict(), labels=LABELS) == decision
    assert "shares" not in Decision().to_dict()
    assert any("Rare labels are preferred" in line for line in decision.describe())
    few = {**decision.to_dict(), "shares": {"low": 1.0}}
    with pytest.raises(ModelError, match="shares of other labels"):
        Decision.from_dict(few, labels=LABELS)
    for wrong in ({"prior_shift": -1}, {"shares": {"low": 0.0}}, {"shares": {"low": "much"}}):
        with pytest.raises(ModelError, match=f"a wrong {next(iter(wrong))}"):
            Decision.from_dict({**decision.to_dict(), **wrong})
