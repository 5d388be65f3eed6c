"""An evaluation of entities as a whole: coverage, types, groups, intervals, what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from attending.errors import DataError, LabelError
from attending.evaluation.spans.counts import count_spans
from attending.evaluation.spans.definitions import SPAN_DEFINITIONS
from attending.evaluation.spans.metrics import evaluate_spans
from attending.records import LabelSet, Prediction, Span, Unreadable

GOLD = [
    [(0, 10, "A"), (20, 30, "B"), (40, 50, "A")],
    [(0, 10, "A"), (5, 10, "C")],
    [(0, 10, "B")],
    [],
]
FOUND = [
    [(0, 10, "A"), (20, 30, "A"), (42, 55, "A"), (70, 75, "B")],
    "too_long",
    [(0, 10, "B")],
    [],
]


@pytest.fixture
def result(pair):
    return evaluate_spans(*pair(GOLD, FOUND), resamples=50, counts={"A": 800, "B": 60, "C": 3})


def test_every_kind_of_error_is_counted_once(result):
    assert result.breakdown.kinds == {
        "right": 2,
        "type": 1,
        "boundary": 1,
        "both": 0,
        "missed": 2,
        "spurious": 1,
    }
    assert result.breakdown.shifts == {"longer": 0, "shorter": 0, "moved": 1}
    assert result.schemes["strict"] == {
        "correct": 2,
        "incorrect": 2,
        "partial": 0,
        "missed": 2,
        "spurious": 1,
    }
    assert result.metrics["strict_micro_precision"] == pytest.approx(2 / 5)
    assert result.metrics["strict_micro_recall"] == pytest.approx(2 / 6)
    assert result.metrics["partial_micro_recall"] == pytest.approx((3 + 0.5) / 6)
    errors = result.to_dict()["errors"]["confusion"]
    assert {"gold": "B", "found": "A", "count": 1} in errors
    assert {"gold": None, "found": "B", "count": 1} in errors
    assert {"gold": "C", "found": None, "count": 1} in errors
    assert sum(pair["count"] for pair in errors) == 7
    assert [d.id for d in result.breakdown.documents] == ["d0"]


def test_a_document_without_an_answer_misses_all_and_is_listed(result):
    assert [(d.id, d.reason, d.entities) for d in result.not_read] == [("d1", "too_long", 2)]
    assert result.coverage["not_answered"] == result.coverage["too_long"] == 1
    assert result.coverage["labelled"] == 4 and result.coverage["unlabelled"] == 0
    assert result.breakdown.missed_unanswered == 2


def test_types_have_their_support(result):
    a = result.per_label["A"]
    assert (a["support"], a["predicted"], a["right"], a["training"]) == (3, 3, 1, 800)
    assert a["f1"] == pytest.approx(1 / 3) and a["type_f1"] == pytest.approx(2 / 3)
    assert a["partial_f1"] == pytest.approx((1 + 0.5) / 3)
    assert (a["boundary"], a["type"], a["missed"], a["spurious"]) == (1, 0, 1, 0)
    c = result.per_label["C"]
    assert c["precision"] is None and c["recall"] == 0.0
    assert result.undefined["per_type.C.precision"] == "no entity of this type was found"


def test_head_torso_tail_and_unseen_are_apart(pair):
    documents, predictions, labels = pair(GOLD, FOUND, types=("A", "B", "C", "D"))
    result = evaluate_spans(
        documents, predictions, labels, counts={"A": 501, "B": 500, "C": 50}, resamples=20
    )
    groups = {g.name: g for g in result.groups}
    assert list(groups) == ["head", "torso", "tail", "unseen"]
    assert [groups[n].labels for n in groups] == [1, 1, 1, 1]
    assert groups["head"].figures["strict_micro_f1"] == result.per_label["A"]["f1"]
    assert groups["tail"].figures["strict_micro_f1"] == 0.0
    # Its only word belongs to the longer entity around it.
    assert groups["tail"].figures["unweighted_accuracy"] is None
    assert groups["unseen"].figures["strict_micro_f1"] is None
    assert result.group_intervals["head"]["strict_micro_f1"] is not None
    with pytest.raises(DataError, match="cut-offs"):
        evaluate_spans(documents, predictions, labels, counts={}, cutoffs=(5, 5), resamples=0)
    assert evaluate_spans(documents, predictions, labels, resamples=0).groups == ()


def test_intervals_are_those_of_a_slow_bootstrap(pair, random_tags, from_tags):
    gold, found = random_tags(3, documents=12)
    rows = pair([from_tags(t) for t in gold], [from_tags(t) for t in found])
    documents, predictions, labels = rows
    result = evaluate_spans(*rows, resamples=120, seed=5)
    rng = np.random.default_rng(5)
    draws = rng.integers(0, 12, size=(120, 12))
    scores, of_a = [], []
    for drawn in draws:
        renamed = [
            (replace(documents[i], id=str(k)), replace(predictions[i], id=str(k)))
            for k, i in enumerate(drawn)
        ]
        once = evaluate_spans(*zip(*renamed, strict=True), labels, resamples=0)
        scores.append(once.metrics["strict_micro_f1"])
        of_a.append(once.per_label["A"]["recall"])
    for values, interval in (
        (scores, result.intervals["strict_micro_f1"]),
        (of_a, result.label_intervals["A"]["recall"]),
    ):
        low, high = np.quantile(values, [0.025, 0.975])
        assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    macro = result.intervals["strict_macro_f1"]
    assert macro.low <= result.metrics["strict_macro_f1"] <= macro.high


def test_everything_has_a_definition_and_is_json(result):
    body = result.to_dict()
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    assert set(body["metrics"]) <= set(body["definitions"]) <= set(SPAN_DEFINITIONS)
    used = set(body["metrics"]) | set(next(iter(body["per_type"].values())))
    assert used == set(SPAN_DEFINITIONS)
    assert all(text.endswith(".") and "{" not in text for text in SPAN_DEFINITIONS.values())
    assert body["entities"]["gold_overlapping"] == 2
    assert body["documents"]["documents"] == 4


def test_entities_that_stand_there_twice_count_once(pair):
    twice = [(0, 10, "A"), (0, 10, "A"), (20, 30, "B")]
    result = evaluate_spans(*pair([twice], [[*twice, (0, 10, "A")]]), resamples=0)
    assert result.metrics["strict_micro_f1"] == 1.0
    assert result.layers.entities == result.found == 2
    assert result.repeated == (1, 2)


def test_rows_that_are_no_documents_are_listed(pair):
    documents, predictions, labels = pair(GOLD, FOUND)
    rows = [*documents, Unreadable("row-9", "bad line")]
    result = evaluate_spans(rows, [*predictions, Prediction("row-9", "failed")], labels)
    assert result.unreadable == ("row-9",) and result.coverage["unreadable_rows"] == 1
    assert result.to_dict()["unreadable_rows"] == ["row-9"]
    assert result.coverage["labelled"] == 4


def test_nothing_found_and_nothing_there_are_no_zero(pair):
    metrics = evaluate_spans(*pair([[]], [[]]), resamples=10).metrics
    assert metrics["strict_micro_f1"] is None and metrics["unweighted_accuracy"] is None
    metrics = evaluate_spans(*pair([[(0, 3, "A")]], [[]]), resamples=10).metrics
    assert metrics["strict_micro_f1"] == 0.0 and metrics["strict_micro_precision"] is None


def test_a_type_that_the_tagger_does_not_know_is_an_error_or_a_miss(pair):
    documents, predictions, labels = pair([[(0, 3, "A"), (5, 9, "New")]], [[(0, 3, "A")]])
    with pytest.raises(LabelError, match=r'document "d0": type "New" is not in the label set'):
        evaluate_spans(documents, predictions, labels)
    result = evaluate_spans(documents, predictions, labels, unknown="miss", resamples=0)
    assert result.labels.ids == ("A", "B", "C", "New")
    assert result.per_label["New"]["missed"] == 1
    assert result.metrics["strict_micro_recall"] == 0.5
    documents, predictions, labels = pair([[]], [[(5, 9, "New")]])
    with pytest.raises(LabelError, match=r'prediction of document "d0": type "New"'):
        evaluate_spans(documents, predictions, labels, unknown="miss")


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span(5, 5, "A"), "5 to 5"),
        (Span(-1, 5, "A"), "-1 to 5"),
        (Span(395, 401, "A"), "395 to 401"),
        (Span(0, 9, "A", ((0, 4), (3, 9))), "in 2 piece"),
        (Span(0, 9, "A", ((0, 4), (5, 8))), "in 2 piece"),
        (Span(0, 9), "has no type"),
    ],
)
def test_a_span_that_can_not_be_is_refused_with_its_document(pair, span, words):
    documents, predictions, labels = pair([[]], [[]])
    wrong = [replace(predictions[0], spans=(span,))]
    with pytest.raises(DataError, match=words) as error:
        evaluate_spans(documents, wrong, labels)
    assert '"d0"' in str(error.value) and "xx" not in str(error.value)


def test_a_classifier_s_predictions_are_refused(pair):
    documents, _, labels = pair([[]], [[]])
    with pytest.raises(DataError, match="holds no spans"):
        evaluate_spans(documents, [Prediction("d0", "ok", ("A",))], labels)
    with pytest.raises(DataError, match="nothing to evaluate"):
        evaluate_spans([], [], labels)


def test_many_documents_take_seconds_not_minutes(pair, random_tags, from_tags):
    """Sums and products, not loops over resamples: the bootstrap hardly adds to the time."""
    import time

    gold, found = random_tags(0, documents=40)
    spans = [from_tags(t) for t in gold], [from_tags(t) for t in found]
    rows = pair(spans[0] * 25, spans[1] * 25)
    start = time.process_time()
    evaluate_spans(*rows, resamples=1000)
    assert time.process_time() - start < 5
    assert count_spans(*rows).laid(("gold", "found_all")).shape == (1000, 4)


def test_the_label_set_may_be_larger_than_what_occurs(pair):
    documents, predictions, _ = pair(GOLD, FOUND)
    many = LabelSet.from_ids(["Z", "C", "A", "Y", "B"])
    result = evaluate_spans(documents, predictions, many, resamples=0)
    assert set(result.per_label) == {"A", "B", "C"}
    assert result.to_dict()["types_not_seen"] == ["Z", "Y"]
    assert result.metrics["strict_macro_f1_declared_zero"] == pytest.approx(
        result.metrics["strict_macro_f1"] * 3 / 5
    )
