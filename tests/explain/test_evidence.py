import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.errors import DataError, LabelError, ModelError
from attending.explain.evidence import (
    attach_spans,
    evidence_spans,
    explain,
    explained_labels,
    explained_words,
    leading_words,
    shading,
    word_evidence,
)
from attending.explain.words import is_stop_word, word_spans
from attending.models.base import TokenScores
from attending.records import Document, Evidence, Prediction


def scored(text, scores, label="urgent"):
    """Give the words of a text the scores, by position."""
    words = word_spans(text)
    return [Evidence(*w, float(s), label, "m") for w, s in zip(words, scores, strict=True)]


def quotes(text, spans):
    return [text[span.start : span.end] for span in spans]


def test_every_word_has_its_own_score_and_place(case):
    folder = case("D17")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    text = (folder / "text.txt").read_text(encoding="utf-8").removesuffix("\n")
    offsets = (*word_spans(text), (len(text), len(text)))
    scores = TokenScores(offsets, {None: (0.3, 0.0, 0.2, 0.1, 0.5, 0.4, 9.0)})
    found = word_evidence(Document("x", text), scores, None, "attention")
    assert len(found) == values["n_words"]
    no = [e for e in found if text[e.start : e.end] == "no"]
    assert [[e.start, e.end] for e in no] == values["no_spans"]
    assert [e.score for e in no] == [0.3, 0.2, 0.5]
    assert {(e.label, e.method) for e in found} == {(None, "attention")}
    assert [e.start for e in found] == sorted(e.start for e in found)


def test_a_label_without_scores_is_an_error():
    scores = TokenScores(((0, 2),), {"urgent": (1.0,)})
    with pytest.raises(LabelError, match=r'document x.*Did you mean "urgent"'):
        word_evidence(Document("x", "no"), scores, "urgnt", "m")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_must_be_finite(bad):
    scores = TokenScores(((0, 6),), {"urgent": (bad,)})
    with pytest.raises(ModelError, match="document x: its token scores") as caught:
        word_evidence(Document("x", "secret"), scores, "urgent", "m")
    assert "secret" not in str(caught.value)


def test_strong_words_join_across_commas_and_stop_words():
    text = "I have chest tightness, and the sweat came. My ride was late to work again on Monday ok"
    scores = [0, 0, 5, 4, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    spans = evidence_spans(Document("x", text), scored(text, scores))
    assert quotes(text, spans) == ["chest tightness, and the sweat"]
    assert spans[0].score == 12


@pytest.mark.parametrize("between", [". ", "!\n", "? ", "\n", "; ", " (", "] ", " blue "])
def test_sentences_lines_and_telling_words_are_not_bridged(between):
    text = f"chest{between}pain"
    scores = [3] + [0] * (len(word_spans(text)) - 2) + [3]
    spans = evidence_spans(Document("x", text), scored(text, scores), top_share=1.0)
    assert quotes(text, spans) == ["chest", "pain"]


def test_no_more_stop_words_than_the_bridge_are_inside():
    text = "pain in my left arm"
    words = scored(text, [3, 0, 0, 3, 3])
    document = Document("x", text)
    spans = evidence_spans(document, words, top_share=0.6, bridge=2)
    assert quotes(text, spans) == [text]
    spans = evidence_spans(document, words, top_share=0.6, bridge=1)
    assert quotes(text, spans) == ["pain", "left arm"]


def test_the_strongest_spans_are_kept_in_text_order():
    text = "one. two. three. four. five."
    words = scored(text, [2, 5, 1, 4, 3])
    spans = evidence_spans(Document("x", text), words, top_share=1.0, max_spans=2)
    assert quotes(text, spans) == ["two", "four"]


def test_a_span_of_stop_words_gives_way_to_a_telling_one():
    text = "that. fever."
    assert quotes(text, evidence_spans(Document("x", text), scored(text, [9, 2]), top_share=1)) == [
        "fever"
    ]
    assert quotes(text, evidence_spans(Document("x", text), scored(text, [9, 0]), top_share=1)) == [
        "that"
    ]


def test_words_against_the_label_and_weak_words_are_no_evidence():
    text = "fever thanks cough"
    document = Document("x", text)
    assert evidence_spans(document, scored(text, [-1, -2, 0])) == []
    assert evidence_spans(document, []) == []
    spans = evidence_spans(document, scored(text, [10, -9, 2]), top_share=1, min_score=0.3)
    assert quotes(text, spans) == ["fever"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["fever", "the", "of", "cough,", "pain.", "é\n"]), min_size=1),
    st.data(),
)
def test_spans_are_whole_words_few_and_small(parts, data):
    text = " ".join(parts)
    words = scored(text, [data.draw(st.floats(-1, 1)) for _ in parts])
    spans = evidence_spans(Document("x", text), words, bridge=0)
    starts, ends = {w.start for w in words}, {w.end for w in words}
    assert len(spans) <= 3
    assert all(s.start in starts and s.end in ends for s in spans)
    assert all(a.end < b.start for a, b in pairwise(spans))
    inside = [w for w in words if any(s.start <= w.start < s.end for s in spans)]
    assert len(inside) <= math.ceil(0.2 * len(words))
    assert all(w.score > 0 for w in inside)
    assert bool(spans) == any(w.score > 0 for w in words)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["fever", "the", "of"]), min_size=1, max_size=30), st.data())
def test_a_span_starts_and_ends_with_a_strong_word(parts, data):
    text = " ".join(parts)
    scores = [data.draw(st.floats(0, 1)) for _ in parts]
    for span in evidence_spans(Document("x", text), scored(text, scores)):
        inside = [w for w in scored(text, scores) if span.start <= w.start < span.end]
        strong = sorted(scores)[-math.ceil(0.2 * len(scores))]
        assert inside[0].score >= strong and inside[-1].score >= strong
        weak = [w for w in inside if w.score < strong]
        assert all(is_stop_word(text[w.start : w.end]) for w in weak)


@pytest.mark.parametrize(
    ("scores", "strengths"),
    [
        ([2.0, -1.0, 0.0], [1.0, -0.5, 0.0]),
        ([-4.0, 1.0], [-1.0, 0.25]),
        ([1.0, 1.0, 2.0, 3.0, 1.0], [0.0, 0.0, 0.5, 1.0, 0.0]),
        ([1.0, 0.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.5]),
        ([1.0, 1.0], [1.0, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([], []),
    ],
)
def test_shading_shows_what_stands_out(scores, strengths):
    assert shading(scored("a b c d e"[: max(0, 2 * len(scores) - 1)], scores)) == strengths


def test_only_what_was_read_is_explained(model, rows):
    predictions = model.predict(rows)
    explained = explain(model, rows, predictions)
    assert [p.id for p in explained] == ["a", "b", "row-3", "c"]
    assert [bool(p.evidence) for p in explained] == [True, False, False, True]
    text = rows[3].text
    assert quotes(text, explained[3].evidence) == ["Chest", "Bleeding"]
    assert {(e.label, e.method) for e in explained[3].evidence} == {("urgent", "weights")}
    assert quotes(rows[0].text, explained[0].evidence) == ["Thanks"]
    for before, after in zip(predictions, explained, strict=True):
        assert replace(after, evidence=()) == before


def test_empty_texts_keep_their_place(case, model):
    texts = json.loads((case("D18") / "batch.json").read_text(encoding="utf-8"))
    documents = [Document(str(i), text) for i, text in enumerate(texts) if text is not None]
    documents.append(Document("alone", "chest pain"))
    explained = explain(model, documents, model.predict(documents))
    assert [p.status for p in explained] == ["empty_text"] * 3 + ["ok"] * 2
    assert [bool(p.evidence) for p in explained] == [False] * 4 + [True]


def test_all_labels_or_some_or_none_in_particular(model, rows):
    predictions = model.predict(rows)
    every = explained_words(model, rows, predictions, labels="all")
    assert [list(words) for words in every] == [
        ["routine", "urgent"],
        [],
        [],
        ["routine", "urgent"],
    ]
    some = explained_words(model, rows, predictions, labels=["routine"])
    assert [list(words) for words in some] == [["routine"], [], [], ["routine"]]
    overall = explained_words(model, rows, predictions, method="attention")
    assert [list(words) for words in overall] == [[None], [], [], [None]]
    assert leading_words(predictions[3], overall[3]) is overall[3][None]
    assert leading_words(predictions[3], every[3]) is every[3]["urgent"]
    assert leading_words(predictions[1], every[1]) == ()


def test_an_abstention_is_explained_by_its_likeliest_label():
    prediction = Prediction("x", "ok", (), {"a": 0.4, "b": 0.6}, abstained=True)
    assert explained_labels(prediction) == ("b",)


def test_methods_and_labels_must_be_known(model, rows):
    predictions = model.predict(rows)
    with pytest.raises(ModelError, match=r'"gradient".*weights, attention'):
        explain(model, rows, predictions, method="gradient")
    with pytest.raises(LabelError, match="urgnt"):
        explain(model, rows, predictions, labels=["urgnt"])


def test_rows_and_predictions_must_belong_together(model, rows):
    predictions = model.predict(rows)
    with pytest.raises(DataError, match="4 and 3"):
        explain(model, rows, predictions[:3])
    with pytest.raises(DataError, match=r'position 1.*"a".*"c"'):
        explain(model, rows, predictions[::-1])
    with pytest.raises(DataError, match="4 and 4 and 1"):
        attach_spans(rows, predictions, [{}])
