"""Figures over words and types against numbers worked by hand and against scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_recall_fscore_support

from attending.errors import DataError
from attending.evaluation.spans.figures import FAMILY_OF, family_of
from attending.evaluation.spans.metrics import evaluate_spans
from attending.evaluation.spans.outcome import Entity, words_of
from attending.evaluation.spans.tokens import OUTSIDE, types_of
from attending.records import Document, LabelSet, Prediction, Span

CASES = Path(__file__).parents[2] / "cases"


def case(name):
    folder = CASES / name
    return folder, json.loads((folder / "expected.json").read_text("utf-8"))["values"]


def test_words_outside_do_not_make_a_tagger_look_good(pair, from_tags):
    folder, values = case("D12-micro-f1-with-o")
    tags = json.loads((folder / "tags.json").read_text("utf-8"))
    text = " ".join("x" * 20)
    gold, found = ([from_tags(t) for t in tags[key]] for key in ("gold", "pred"))
    result = evaluate_spans(*pair(gold, found, types=("SYM",), text=text), resamples=0)
    assert result.metrics["strict_micro_f1"] == pytest.approx(values["entity_f1"])
    assert result.metrics["token_micro_f1_without_o"] == pytest.approx(
        values["token_micro_f1_without_o"], abs=1e-6
    )
    assert result.metrics["token_accuracy_with_o"] == pytest.approx(
        values["token_micro_f1_with_o_equals_accuracy"]
    )


def test_a_nested_entity_counts_although_one_layer_can_not_hold_it():
    folder, values = case("D14-nested-spans")
    text = (folder / "doc.txt").read_text("utf-8")
    spans = []
    for line in (folder / "doc.ann").read_text("utf-8").splitlines():
        id_, what, _ = line.split("\t")
        kind, start, end = what.split()
        spans.append(Span(int(start), int(end), kind, id=id_))
    flat = tuple(s for s in spans if s.id in values["kept_when_flat"])
    labels = LabelSet.from_ids(["Anatomy", "Problem"])
    document = Document("d", text, None, tuple(spans))
    result = evaluate_spans([document], [Prediction("d", "ok", spans=flat)], labels, resamples=0)
    assert result.layers.entities == values["n_gold"] == 2
    assert (result.layers.overlapping, result.layers.flat) == (2, 1)
    assert result.metrics["strict_micro_recall"] == 0.5
    assert result.metrics["strict_micro_precision"] == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_figures_on_words_are_those_of_scikit_learn(seed, pair, random_tags, from_tags):
    gold, found = random_tags(seed)
    text = " ".join("x" * 30)
    rows = pair([from_tags(t) for t in gold], [from_tags(t) for t in found], text=text)
    metrics = evaluate_spans(*rows, resamples=0).metrics
    true, given = ([tag[2:] or "O" for tags in side for tag in tags] for side in (gold, found))
    types = ["A", "B", "C"]
    for average in ("micro", "macro", "weighted"):
        expected = f1_score(true, given, labels=types, average=average, zero_division=0)
        assert metrics[f"token_{average}_f1_without_o"] == pytest.approx(expected)
    precision, recall, f1, support = precision_recall_fscore_support(
        true, given, labels=types, zero_division=0
    )
    assert (support > 5).all()
    assert metrics["unweighted_accuracy"] == pytest.approx(recall.mean())
    assert metrics["unweighted_accuracy_over_5"] == pytest.approx(recall.mean())
    assert metrics["mean_f1"] == pytest.approx(f1.mean())
    assert metrics["mean_f1_arithmetic_over_5"] == pytest.approx(((precision + recall) / 2).mean())
    with_o, *_ = precision_recall_fscore_support(true, given, labels=[*types, "O"])
    assert metrics["mean_f1_as_printed"] == pytest.approx(with_o.mean())
    assert metrics["token_accuracy_with_o"] == pytest.approx(np.mean(np.equal(true, given)))


def test_types_of_few_words_are_left_out_only_where_the_name_says_so(pair):
    text = " ".join("x" * 40)
    words = [(2 * k, 2 * k + 1) for k in range(40)]
    gold = [(*w, "A") for w in words[:8]] + [(*w, "B") for w in words[8:12]]
    found = [(*w, "A") for w in words[:6]] + [(*words[20], "C")]
    metrics = evaluate_spans(*pair([gold], [found], text=text), resamples=0).metrics
    # A: 6 of 8, none wrong. B: 0 of 4. C: has no gold word.
    assert metrics["unweighted_accuracy"] == pytest.approx((0.75 + 0) / 2)
    assert metrics["unweighted_accuracy_over_5"] == pytest.approx(0.75)
    assert metrics["mean_f1"] == pytest.approx((12 / 14 + 0) / 2)
    assert metrics["mean_f1_arithmetic_over_5"] == pytest.approx((1 + 0.75) / 2)
    assert metrics["token_macro_f1_without_o"] == pytest.approx((12 / 14 + 0 + 0) / 3)
    assert metrics["strict_macro_f1_support_only"] == pytest.approx((12 / 14 + 0) / 2)


def entity(start, end, kind, *pieces):
    return Entity(start, end, kind, pieces or ((start, end),))


def test_a_word_has_the_type_of_the_longest_entity_then_of_the_first():
    words = [(0, 4), (5, 10), (11, 15), (16, 25)]

    assert types_of(words, ()) == [OUTSIDE] * 4
    assert types_of(words, (entity(0, 15, 1), entity(0, 25, 2), entity(5, 10, 0))) == [2] * 4
    assert types_of(words, (entity(0, 15, 1), entity(5, 20, 0))) == [1, 1, 1, 0]
    assert types_of(words, (entity(12, 13, 3),)) == [OUTSIDE, OUTSIDE, 3, OUTSIDE]
    # Its pieces cover nine code points, less than the ten between them.
    pieces = entity(0, 25, 1, (0, 4), (20, 25))
    assert types_of(words, (pieces, entity(5, 15, 0))) == [1, 0, 0, 1]


def test_of_two_entities_in_one_word_the_longer_gives_the_type():
    """aspirin10mg: a medicine and its dose lie apart, and share the word."""
    assert types_of([(0, 11)], (entity(0, 7, 1), entity(7, 11, 2))) == [1]
    assert types_of([(0, 11)], (entity(0, 4, 1), entity(4, 11, 2))) == [2]
    assert types_of([(0, 8)], (entity(0, 4, 1), entity(4, 8, 2))) == [1], "as long: the first"


def test_words_are_the_source_s_own_then_by_the_rule_given_then_by_white_space():
    own = Document("d", "12mg b.i.d.", attributes={"tokens": ((0, 2), (2, 4), (5, 11))})
    assert list(words_of(own, lambda d: [])) == [(0, 2), (2, 4), (5, 11)]
    bare = Document("d", " 12mg\u00a0b.i.d.\n")
    assert list(words_of(bare)) == [(1, 5), (6, 12)]
    assert list(words_of(bare, lambda d: [(1, 3), (3, 5)])) == [(1, 3), (3, 5)]
    with pytest.raises(DataError, match="words overlap"):
        words_of(bare, lambda d: [(1, 4), (3, 5)])


def test_figures_for_some_types_alone_are_told_apart():
    assert family_of("strict_macro_f1", some_types=True) == "strict"
    with pytest.raises(DataError, match=r'"exact_micro_f1" is not known for some types alone'):
        family_of("exact_micro_f1", some_types=True)
    assert {"strict_micro_f1", "unweighted_accuracy", "token_accuracy_with_o"} <= set(FAMILY_OF)
