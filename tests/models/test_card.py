"""The model card."""

from dataclasses import replace

import pytest

from attending.models.card import model_card


def card(model, metrics=None, **facts):
    return model_card(model, {**model.facts, **facts}, metrics or {})


def test_what_a_card_says(neural):
    text = card(neural, {"macro_f1": 0.71234}, versions={"torch": "2.0"})
    assert text.startswith("# lesa-bert: urgency\n")
    for part in (
        "Not a medical device",
        "- Seed: 1",
        "- Training rows: 24",
        "- Development rows: 24",
        "torch 2.0",
        "- macro_f1: 0.7123",
        "a little too good",
        "_to be filled in",
    ):
        assert part in text
    counts = neural.facts["label_counts"]
    for label in neural.labels:
        assert f"| {label.id} | {label.description} | {counts[label.id]} |" in text


def test_tables_survive_bars_and_line_breaks(linear, urgency):
    labels = replace(
        urgency, labels=(replace(urgency[0], description="a | b\nc"), *urgency.labels[1:])
    )
    model = type(linear)(
        linear.recipe, labels, linear.weights, linear.vectoriser, linear.decision, linear.facts
    )
    line = next(x for x in card(model).splitlines() if x.startswith(f"| {urgency[0].id} |"))
    assert line.count("|") == 4
    assert "a / b c" in line


@pytest.mark.parametrize("metrics", [{}, None])
def test_no_figures_are_said_to_be_none(linear, metrics):
    assert "None: no development rows" in card(linear, metrics)


def test_the_decision_is_told(linear):
    decision = replace(linear.decision, abstain_below=0.6, temperature=1.25, note="why not")
    model = type(linear)(linear.recipe, linear.labels, linear.weights, linear.vectoriser, decision)
    text = card(model)
    assert "temperature 1.250" in text and "below 0.6" in text and "- why not" in text


def test_no_text_of_a_message_is_on_the_card(neural, messages):
    text = card(neural)
    assert not any(d.text in text for d in messages)
