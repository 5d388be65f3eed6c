"""Recalls to keep and bands to hand over, chosen on development rows."""

from typing import ClassVar

import numpy as np
import pytest

from attending.errors import LabelError
from attending.evaluation.calibration import softmax
from attending.models.base import Scored
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Coverage, Document, Label, LabelSet
from attending.training.constraints import hand_over, keep_each_recall, keep_recalls
from attending.training.settle import settle, settle_again

LEVELS = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), "urgency", ordered=True)
TOPICS = LabelSet.from_ids(["pay", "refill", "pain"])
READ = Coverage(1, 1, 1)


def sample(rows=500, seed=1):
    random = np.random.default_rng(seed)
    targets = random.choice(3, rows, p=[0.5, 0.38, 0.12])
    logits = random.normal(0, 1.2, (rows, 3)) + 2.0 * np.eye(3)[targets] * [1, 1, 0.6]
    return logits, targets


LOGITS, TARGETS = sample()
PROBABILITIES = softmax(LOGITS)


def spec(**settings):
    changes = {f"decoder.{key}": value for key, value in settings.items()}
    return Recipe.load("tfidf-logistic").override(changes)["decoder"]


def given(decision, labels=LEVELS):
    return decision.best(PROBABILITIES, labels)


def test_the_recall_promised_is_the_one_that_the_decision_gives():
    decision, remarks = keep_recalls(
        Decision(), PROBABILITIES, TARGETS, LEVELS, spec(recall_floors=["high=0.95"])
    )
    assert not remarks
    price, raised = decision.recall_floors["high"], given(decision) == 2
    assert price["alerts"] == raised.sum() and price["caught"] == (raised & (TARGETS == 2)).sum()
    assert price["caught"] >= 0.95 * price["positives"] and price["rows"] == 500
    assert price["or_more"] is False and price["low"] < 0.95 < price["high"]
    plain = given(Decision()) == 2
    assert (plain & (TARGETS == 2)).sum() < price["caught"]


def test_several_levels_each_keep_theirs():
    wanted = spec(recall_floors=["middle=0.9", "high=0.9"])
    decision, _ = keep_recalls(Decision(), PROBABILITIES, TARGETS, LEVELS, wanted)
    assert list(decision.thresholds) == ["high", "middle"]
    for place, label in ((1, "middle"), (2, "high")):
        raised = given(decision) >= place
        price = decision.recall_floors[label]
        assert price["alerts"] == raised.sum()
        assert price["caught"] == (raised & (place <= TARGETS)).sum()
        assert price["caught"] >= 0.9 * (place <= TARGETS).sum()
    assert decision.recall_floors["middle"]["or_more"] is True


def test_unordered_labels_in_turn_keep_theirs_or_say_why_not():
    wanted = spec(recall_floors=["pain=0.9", "refill=0.5"])
    decision, remarks = keep_recalls(Decision(), PROBABILITIES, TARGETS, TOPICS, wanted)
    assert not remarks
    for place, label in ((1, "refill"), (2, "pain")):
        raised = given(decision, TOPICS) == place
        price = decision.recall_floors[label]
        assert (price["alerts"], price["caught"]) == (
            raised.sum(),
            (raised & (place == TARGETS)).sum(),
        )
        assert price["caught"] >= {"pain": 0.9, "refill": 0.5}[label] * price["positives"]
    greedy = spec(recall_floors=["pain=1.0", "refill=1.0"])
    decision, remarks = keep_recalls(Decision(), PROBABILITIES, TARGETS, TOPICS, greedy)
    assert list(decision.thresholds) == ["pain"]
    assert remarks == [
        "no recall floor for refill: labels named before it take too many of its rows"
    ]


def test_the_lowest_level_and_strangers_have_no_floor():
    for floors, why in ((["low=0.9"], "every row is at least"), (["hihg=0.9"], 'mean "high"')):
        with pytest.raises(LabelError, match=why):
            keep_recalls(Decision(), PROBABILITIES, TARGETS, LEVELS, spec(recall_floors=floors))


def test_each_of_several_labels_keeps_its_own():
    truth = np.eye(3, dtype=bool)[TARGETS] | np.eye(3, dtype=bool)[(TARGETS + 1) % 3]
    wanted = (
        Recipe.load("tfidf-logistic")
        .for_task("multi")
        .override({"decoder.recall_floors": ["pain=0.9"]})["decoder"]
    )
    before = Decision("threshold", threshold=0.4, thresholds={"pay": 0.3})
    decision, _ = keep_each_recall(before, PROBABILITIES, truth, TOPICS, wanted)
    assert decision.thresholds["pay"] == 0.3
    caught = truth[:, 2] & (PROBABILITIES[:, 2] >= decision.thresholds["pain"])
    assert caught.sum() == decision.recall_floors["pain"]["caught"] >= 0.9 * truth[:, 2].sum()


@pytest.mark.parametrize("by", ["probability", "margin"])
def test_a_share_of_all_rows_is_handed_over(by):
    wanted = spec(abstain_share=0.2, abstain_by=by, recall_floors=["high=0.9"])
    decision, _ = keep_recalls(Decision(), PROBABILITIES, TARGETS, LEVELS, wanted)
    decision, _ = hand_over(decision, PROBABILITIES, TARGETS, LEVELS, wanted)
    silent = [not ids for ids in decision.decode(PROBABILITIES, LEVELS)]
    record = decision.abstention
    assert sum(silent) == record["rows"] - record["kept"] == pytest.approx(100, abs=2)
    assert record["by"] == by and record["all_rows"] == 500
    assert (decision.abstain_below is None) == (by == "margin")
    raised = decision.raised(PROBABILITIES, LEVELS)
    assert not (np.array(silent) & raised).any()


def test_an_accuracy_of_the_rest():
    wanted = spec(abstain_accuracy=0.9)
    decision, _ = hand_over(Decision(), PROBABILITIES, TARGETS, LEVELS, wanted)
    kept = [
        (ids, t)
        for ids, t in zip(decision.decode(PROBABILITIES, LEVELS), TARGETS, strict=True)
        if ids
    ]
    right = sum(ids[0] == LEVELS.ids[t] for ids, t in kept)
    assert right / len(kept) >= 0.9 and right == decision.abstention["right"]
    never, remarks = hand_over(
        Decision(), PROBABILITIES, 2 - TARGETS, LEVELS, spec(abstain_accuracy=0.99)
    )
    assert never == Decision() and "no band reaches it" in remarks[0]


# Within the settling of a whole decision.


class Known:
    """A model whose scores are known."""

    labels = LEVELS
    facts: ClassVar[dict[str, object]] = {}

    def __init__(self, logits, decision=None):
        self.logits, self.decision = logits, decision or Decision()

    def scores(self, rows, *, progress=None):
        return [Scored("ok", READ, row) for row in self.logits]


def documents(targets=TARGETS):
    return [Document(str(i), "words", (LEVELS.ids[t],)) for i, t in enumerate(targets)]


COUNTS = {"low": 50, "middle": 38, "high": 12}


def test_floors_stand_on_calibrated_probabilities():
    recipe = Recipe.load("tfidf-logistic").override(
        {"decoder.recall_floors": ["high=0.9"], "decoder.abstain_share": 0.1}
    )
    decision, metrics, reason = settle(Known(LOGITS), documents(), recipe, COUNTS, 100)
    assert reason is None and decision.temperature != 1
    raised = decision.best(decision.probabilities(LOGITS), LEVELS) == 2
    assert raised.sum() == decision.recall_floors["high"]["alerts"]
    guess = decision.best(decision.probabilities(LOGITS), LEVELS)
    assert metrics["accuracy"] == pytest.approx((guess == TARGETS).mean())


def test_a_floor_that_can_not_be_had_is_noted_and_nothing_else_lost():
    few = np.where(TARGETS == 2, 0, TARGETS)
    few[:3] = 2
    recipe = Recipe.load("tfidf-logistic").override({"decoder.recall_floors": ["high=0.9"]})
    decision, _, reason = settle(Known(LOGITS), documents(few), recipe, COUNTS, 100)
    assert "no recall floor for high: only 3 of 500 rows" in reason
    assert not decision.thresholds and decision.temperature != 1 and decision.note == reason


def test_vector_scaling_or_why_not():
    recipe = Recipe.load("tfidf-logistic").override({"decoder.calibrate": "vector"})
    bent = LOGITS * [1.0, 3.0, 0.4] + [0.0, 1.5, -1.0]
    decision, _, reason = settle(Known(bent), documents(), recipe, COUNTS, 100)
    assert len(decision.scales) == len(decision.biases) == 3 and reason is None
    few, _, reason = settle(Known(bent[:40]), documents(TARGETS[:40]), recipe, COUNTS, 100)
    assert not few.scales and reason.startswith("one temperature in place of vector scaling")


def test_settling_again_keeps_what_training_rows_told():
    old = Decision(
        temperature=9.0, thresholds={"high": 0.5}, prior_shift=0.5, shares={"low": 0.5,
        "middle": 0.38, "high": 0.12}, abstain_below=0.9,
    )  # fmt: skip
    model = Known(LOGITS, old)
    recipe = Recipe.load("tfidf-logistic").override({"decoder.recall_floors": ["high=0.9"]})
    scored = model.scores(documents())
    decision, reason = settle_again(model, documents(), recipe, scored=scored)
    assert reason is None and model.decision is old
    assert (decision.prior_shift, decision.shares) == (0.5, old.shares)
    assert decision.abstain_below is None and decision.temperature < 3
    assert decision.thresholds["high"] != 0.5


def test_a_floor_that_takes_all_rows_that_are_left_can_be_kept():
    """What an earlier label took leaves rows enough: the later one takes all of those."""
    rows = np.array([[0.9, 0.1, 0.0]] * 10 + [[0.2, 0.3, 0.5]] * 10 + [[0.0, 0.4, 0.6]] * 20)
    targets = np.array([0] * 10 + [1] * 10 + [2] * 20)
    wanted = spec(recall_floors=["pay=0.9", "refill=1.0"])
    decision, remarks = keep_recalls(Decision(), rows, targets, TOPICS, wanted)
    assert not [r for r in remarks if r.startswith("no recall floor")]
    assert 0 < decision.thresholds["refill"] < 0.3
    price = decision.recall_floors["refill"]
    given = decision.best(rows, TOPICS)
    assert price["alerts"] == (given == 1).sum() == 30 and price["caught"] == 10


def test_a_floor_that_needs_rows_of_an_earlier_label_is_told():
    rows = np.array([[0.9, 0.1, 0.0]] * 20 + [[0.0, 0.4, 0.6]] * 20)
    targets = np.array([0] * 10 + [1] * 10 + [2] * 20)
    wanted = spec(recall_floors=["pay=0.9", "refill=1.0"])
    decision, remarks = keep_recalls(Decision(), rows, targets, TOPICS, wanted)
    assert "refill" not in decision.thresholds
    assert any("labels named before it take too many" in r for r in remarks)
