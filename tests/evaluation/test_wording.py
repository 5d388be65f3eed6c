"""Sentences and numbers that people read."""

import pytest

from attending.evaluation.intervals import Interval
from attending.evaluation.metrics import evaluate
from attending.evaluation.wording import (
    calibration_in_words,
    cautions,
    documents,
    figure,
    in_short,
    interval_of,
    span,
)
from attending.records import Document, Label, LabelSet, Prediction

URGENCY = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), "urgency", ordered=True)


def outcome(pairs, sure=0.9):
    rows = [Document(f"d{k}", "", (truth,)) for k, (truth, _) in enumerate(pairs)]
    predictions = []
    for k, (_, given) in enumerate(pairs):
        scores = {i: sure if i == given else (1 - sure) / 2 for i in URGENCY.ids}
        answered = Prediction(f"d{k}", "ok", (given,), scores)
        predictions.append(answered if given else Prediction(f"d{k}", "failed"))
    return evaluate(rows, predictions, URGENCY, resamples=50)


def test_figures_are_written_in_their_own_way():
    assert figure("accuracy", 0.8754) == "87.5%"
    assert figure("macro_f1", 0.8) == "0.800"
    assert figure("mcc", -0.25) == "−0.250"
    assert figure("under_triaged", 1204) == "1,204"
    assert figure("recall", None) == "–"
    assert span("recall", Interval(0.5, 0.625, 0.95)) == "50.0–62.5%"
    assert documents(1) == "1 document" and documents(1500) == "1,500 documents"


def test_in_short_counts_what_was_missed():
    pairs = [("high", "high"), ("high", "low"), ("high", "middle"), ("high", ""), ("low", "high")]
    lines = in_short(outcome(pairs + [("low", "low")] * 5))
    assert lines[0].startswith("Of 10 labelled documents, 6 got the true label (60.0%)")
    assert lines[0].endswith("; 1 got no answer and count as wrong.")
    assert "Of 4 documents truly “high”, 1 was found and 3 were missed" in lines[1]
    assert "(2 placed lower, 1 without an answer)" in lines[1]
    assert "Of 2 marked “high”, 1 was not." in lines[1]
    assert "Of all, 1 was placed two or more levels too low." in lines[1]
    assert "“low”, would be right for 60.0%" in lines[2]


def test_in_short_says_when_the_highest_level_is_absent():
    assert "say nothing about missing one" in in_short(outcome([("low", "low")] * 3))[1]


@pytest.mark.parametrize(
    ("sure", "says"),
    [
        (0.99, "surer than it was right"),
        (0.75, "about as sure as it was right"),
        (0.5, "less sure than it could have been"),
    ],
)
def test_calibration_verdict(sure, says):
    pairs = [("low", "low")] * 15 + [("high", "low")] * 5
    assert says in calibration_in_words(outcome(pairs, sure))


def test_an_interval_without_width_is_not_shown():
    found = outcome([("low", "low")] * 20 + [("high", "low")])
    assert found.label_intervals["high"]["f1"].high == 0
    assert interval_of(found, "f1", "high") is None
    assert interval_of(found, "recall", "high").high > 0.5


def test_cautions_name_the_rarest_label():
    lines = " ".join(cautions(outcome([("low", "low")] * 60 + [("high", "low")] * 4)))
    assert "Only 4 documents were truly “high”" in lines
    assert "each moves its recall by 25.0 percentage points" in lines
    assert "independent" not in lines
