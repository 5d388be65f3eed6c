"""Paired tests of taggers: the figures are those of the evaluation, p-values those of all swaps."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from attending.errors import DataError, LabelError, ShapeError
from attending.evaluation.spans.counts import count_spans
from attending.evaluation.spans.metrics import evaluate_spans
from attending.evaluation.spans.significance import paired_spans
from attending.evaluation.sums import lay_runs


@pytest.fixture
def systems(pair, random_tags, from_tags):
    """Return documents, two sets of predictions for them, and the types."""
    gold, good = random_tags(1, documents=20)
    _, bad = random_tags(2, documents=20)
    true, one, two = ([from_tags(t) for t in side] for side in (gold, good, bad))
    text = " ".join("x" * 30)
    documents, a, labels = pair(true, one, text=text)
    return documents, a, pair(true, two, text=text)[1], labels


@pytest.mark.parametrize(
    "metric",
    ["strict_micro_f1", "strict_macro_f1", "exact_micro_f1", "partial_micro_f1", "type_macro_f1",
     "token_micro_f1_without_o", "unweighted_accuracy", "mean_f1", "token_accuracy_with_o"],
)  # fmt: skip
def test_figures_are_those_of_the_evaluation(metric, systems):
    documents, a, b, labels = systems
    counts = [count_spans(documents, x, labels) for x in (a, b)]
    found = paired_spans(*counts, metric, rounds=200)
    for mine, predictions in ((found.a, a), (found.b, b)):
        whole = evaluate_spans(documents, predictions, labels, resamples=0)
        assert mine == pytest.approx(whole.metrics[metric])
    assert found.interval.low <= found.difference <= found.interval.high
    assert found.p_value < 0.05 and found.differing == 20


def test_p_value_is_that_of_all_ways_to_swap(systems):
    documents, a, b, labels = (x[:5] if isinstance(x, list) else x for x in systems)
    b = [a[0], b[1], a[2], a[3], b[4]]
    counts = [count_spans(documents, x, labels) for x in (a, b)]
    found = paired_spans(*counts, rounds=3000)
    every = []
    for swap in itertools.product([False, True], repeat=5):
        sides = [
            [y if s else x for x, y, s in zip(*z, swap, strict=True)] for z in ((a, b), (b, a))
        ]
        scores = [
            evaluate_spans(documents, x, labels, resamples=0).metrics["strict_micro_f1"]
            for x in sides
        ]
        every.append(abs(scores[0] - scores[1]) >= abs(found.difference) - 1e-12)
    assert found.p_value == pytest.approx(np.mean(every), abs=0.04)
    assert found.differing == 2


def test_a_tagger_does_not_differ_from_itself(systems):
    documents, a, _, labels = systems
    counts = count_spans(documents, a, labels)
    found = paired_spans(counts, counts, rounds=50)
    assert (found.difference, found.p_value, found.differing) == (0.0, 1.0, 0)


def test_types_can_be_compared_apart(systems):
    documents, a, b, labels = systems
    counts = [count_spans(documents, x, labels) for x in (a, b)]
    found = paired_spans(*counts, "strict_micro_f1", types=["B"], rounds=50)
    whole = evaluate_spans(documents, a, labels, resamples=0)
    assert found.a == pytest.approx(whole.per_label["B"]["f1"])
    assert found.metric == "strict_micro_f1 of 1 types"
    both = paired_spans(*counts, "unweighted_accuracy", types=["A", "C"], rounds=50)
    mean = np.mean([whole.per_label[i]["word_recall"] for i in "AC"])
    assert both.a == pytest.approx(mean)
    with pytest.raises(DataError, match="some types alone"):
        paired_spans(*counts, "token_accuracy_with_o", types=["A"])
    with pytest.raises(LabelError):
        paired_spans(*counts, types=["D"])


def test_seeds_with_test_parts_of_their_own_are_compared_by_document(systems):
    documents, a, b, labels = systems
    parts = [slice(0, 14), slice(6, 20)]
    first, second = ([count_spans(documents[p], x[p], labels) for p in parts] for x in (a, b))
    found = paired_spans(first, second, rounds=300)
    assert (found.documents, found.runs) == (20, 2)
    for mine, part in zip(found.a_runs, parts, strict=True):
        whole = evaluate_spans(documents[part], a[part], labels, resamples=0)
        assert mine == pytest.approx(whole.metrics["strict_micro_f1"])
    assert found.with_seeds is not None and found.p_value < 0.05
    one = paired_spans([first[0], first[0]], second[0], rounds=50)
    assert one.runs == 2


def test_what_does_not_pair_is_refused(systems):
    documents, a, b, labels = systems
    first = count_spans(documents, a, labels)
    other = [replace(documents[0], spans=()), *documents[1:]]
    with pytest.raises(ShapeError, match="same documents"):
        paired_spans(first, count_spans(other, b, labels))
    with pytest.raises(ShapeError, match="2 and 3"):
        paired_spans([first] * 2, [first] * 3)
    with pytest.raises(DataError, match=r'"macro" is not known.*strict_micro_f1'):
        paired_spans(first, first, "macro")


def test_runs_are_laid_side_by_side_by_the_documents_ids(systems):
    documents, a, _, labels = systems
    counts = count_spans(documents[:3], a[:3], labels).laid(("gold_all",))
    laid = lay_runs([("x", "y", "z"), ("z", "x", "x")], [counts, counts]).toarray()
    gold = counts.toarray().ravel().tolist()
    assert laid.tolist() == [
        [gold[0], gold[1]],
        [gold[1], 0],
        [gold[2], gold[0]],
        [0, gold[2]],
    ]
