"""Prices and coverage in the report."""

import json

import numpy as np
import pytest

from attending.evaluation.metrics import evaluate
from attending.evaluation.operating_view import operating_view, sureness
from attending.evaluation.outcome import match
from attending.evaluation.report import write_report
from attending.records import Coverage, Document, Label, LabelSet, Prediction

LEVELS = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), "urgency", ordered=True)


def sample(labels=LEVELS, rows=300):
    random = np.random.default_rng(2)
    documents, predictions = [], []
    for n in range(rows):
        truth = int(random.choice(3, p=[0.5, 0.35, 0.15]))
        logits = random.normal(0, 1, 3) + 2 * np.eye(3)[truth]
        scores = np.exp(logits) / np.exp(logits).sum()
        given = labels.ids[int(scores.argmax())]
        documents.append(Document(f"d{n}", "", (labels.ids[truth],)))
        silent = n % 10 == 0
        predictions.append(
            Prediction(
                f"d{n}",
                "ok",
                () if silent else (given,),
                dict(zip(labels.ids, scores.tolist(), strict=True)),
                silent,
                read=Coverage(5, 5, 1),
            )
        )
    predictions[5] = Prediction("d5", "empty_text", reason="empty_text")
    return documents, predictions


def test_prices_are_those_of_the_highest_label():
    documents, predictions = sample()
    outcome = match(documents, predictions, LEVELS)
    view = operating_view(outcome, LEVELS)
    assert view.label == "high"
    truth, raised = outcome.truth == 2, outcome.predicted == 2
    assert view.given == pytest.approx((raised.mean(), (raised & truth).sum() / truth.sum()))
    for floor, point in view.points:
        assert point.recall >= floor and point.rows == 300
    assert "As it decides now" in view.alert_words and "<svg" in view.alert_picture
    body = json.loads(json.dumps(view.to_dict()))
    assert body["points"][0]["recall_wanted"] == 0.8


def test_without_order_it_is_the_rarest_that_occurs():
    labels = LabelSet.from_ids(["a", "b", "rare"])
    outcome = match(*sample(labels), labels)
    assert operating_view(outcome, labels).label == "rare"


def test_silent_documents_are_judged_by_their_most_probable_label():
    documents, predictions = sample()
    outcome = match(documents, predictions, LEVELS)
    sure = sureness(outcome)[0]
    assert len(sure) == 299 and sure[0] == pytest.approx(max(predictions[0].scores.values()))
    view = operating_view(outcome, LEVELS)
    answered = 300 - 30 - 1
    assert f"answered {answered} of 300 documents" in view.coverage_words
    assert "<svg" in view.coverage_picture


def test_few_documents_show_nothing():
    documents, predictions = sample(rows=8)
    view = operating_view(match(documents, predictions, LEVELS), LEVELS)
    assert view.points == () and view.coverage_words == ""


def test_page_summary_and_figures_hold_them(tmp_path):
    documents, predictions = sample()
    paths = write_report(
        tmp_path, evaluation=evaluate(documents, predictions, LEVELS, resamples=10),
        documents=documents, predictions=predictions, labels=LEVELS, title="t", context={},
    )  # fmt: skip
    for kind in ("page", "summary"):
        text = paths[kind].read_text()
        assert "What a recall costs" in text and "documents (89.7%)" in text
    assert json.loads(paths["json"].read_text())["operating"]["label"] == "high"
