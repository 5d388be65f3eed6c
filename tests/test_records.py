"""What goes through the tool."""

import json
import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.errors import LabelError
from attending.records import (
    Coverage,
    Document,
    Evidence,
    Label,
    LabelSet,
    Prediction,
    Source,
    Unreadable,
    is_blank,
)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\r", "\u00a0", "\u200b", "\ufeff", "\x00", "\u00ad", "\u2060\u3164 "]
)
def test_blank_texts(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " . ", "\u200ba", "\U0001f614", "\u6f22", "0", "\u0301"])
def test_texts_that_show_something(text):
    assert not is_blank(text)


def test_no_label_and_not_labelled_are_two_things():
    assert Document("1", "x", ("a",)).label == "a"
    assert Document("1", "x", ()).labels == () and Document("1", "x").labels is None
    for labels in ((), None, ("a", "b")):
        assert Document("1", "x", labels).label is None


def test_records_are_frozen():
    for record in (Document("1", "x"), Label("a"), Source("f", 1), Unreadable("1", "why")):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            record.id = "2"


def test_records_can_go_to_another_process():
    for record in (Document("1", "x"), Prediction("1", "ok"), LabelSet.from_ids(["a"])):
        assert pickle.loads(pickle.dumps(record)) == record


def test_a_source_reads_as_people_say_it():
    assert str(Source("rows.csv", 14)) == "rows.csv line 14"


# Labels.

LABELS = LabelSet(
    (Label("b", "B"), Label("a", keywords=("pain",)), Label("c", parent="b")), "kind", True
)


def test_a_label_set_is_a_sequence_with_ids():
    assert LABELS.ids == ("b", "a", "c") and len(LABELS) == 3
    assert [x.id for x in LABELS] == ["b", "a", "c"]
    assert LABELS[1] is LABELS["a"] and LABELS[-1].id == "c"
    assert [LABELS.position(i) for i in LABELS.ids] == [0, 1, 2]
    assert "a" in LABELS and LABELS[0] in LABELS and "z" not in LABELS
    assert LabelSet.from_ids(["x", "y"]) == LabelSet((Label("x", "x"), Label("y", "y")))


def test_a_label_goes_by_its_id_and_forgets_empty_words():
    label = Label("a", keywords=(" chest pain ", "", " "), synonyms=["b "])
    assert label.name == "a"
    assert label.keywords == ("chest pain",) and label.synonyms == ("b",)
    assert Label("a", "Name").name == "Name"
    assert hash(label)


def test_an_unknown_label_names_the_nearest():
    with pytest.raises(LabelError, match=r'"urgnt" is not in the label set \(2 labels\).*"urgent"'):
        LabelSet.from_ids(["urgent", "routine"]).position("urgnt")
    with pytest.raises(LabelError, match="Add it to the label file"):
        LABELS["zzzzz"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((Label("a"), Label("a")), 'the label id "a" occurs twice'),
        ((Label("a"), Label(" ")), "blank id"),
        ((Label(""),), "blank id"),
        ((Label("a"), Label(" b")), "white space around it"),
        ((Label("a", parent="bb"), Label("bc")), 'parent "bb" of "a" is not a label of the set'),
    ],
)
def test_label_sets_that_make_no_sense(labels, said):
    with pytest.raises(LabelError, match=said):
        LabelSet(labels, "codes")


def test_the_hash_covers_order_and_meaning():
    def made(*labels, name="kind", ordered=False):
        return LabelSet(labels, name, ordered)

    a, b = Label("a"), Label("b")
    different = [
        made(a, b),
        made(b, a),
        made(a),
        made(a, b, name="other"),
        made(a, b, ordered=True),
        made(Label("a", "Name"), b),
        made(Label("a", description="x"), b),
        made(Label("a", keywords=("x",)), b),
        made(Label("a", synonyms=("x",)), b),
        made(Label("a", parent="b"), b),
        made(Label("a", keywords=("x", "y")), b),
        made(Label("a", keywords=("x, y",)), b),
    ]
    assert len({x.hash for x in different}) == len(different) == len(set(different))
    assert made(a, b).hash == made(Label("a", "a"), Label("b")).hash


def test_the_hash_never_changes_by_accident():
    """It is written into model folders; another one would lock every saved model."""
    assert LABELS.hash == "dbae5fa1c96cd6d41c42b6e4d4e9f5447fd07a8779dd6c6da97266b883ddadbd"


# Predictions.


def test_evidence_comes_in_text_order():
    marks = [Evidence(9, 12, 0.1, "a", "m"), Evidence(0, 4, 0.2, None, "m")]
    marks.append(Evidence(0, 4, 0.3, "a", "m"))
    found = Prediction("1", "ok", ("a",), {"a": 1.0}).with_evidence(marks).evidence
    assert [(e.start, e.label) for e in found] == [(0, None), (0, "a"), (9, "a")]


def test_the_disk_form():
    prediction = Prediction(
        "1", "ok", ("a",), {"a": 0.75, "b": 0.25}, read=Coverage(10, 30, 2)
    ).with_evidence([Evidence(0, 4, 0.5, "a", "attention")])
    assert prediction.to_dict() == {
        "id": "1",
        "status": "ok",
        "labels": ["a"],
        "scores": {"a": 0.75, "b": 0.25},
        "abstained": False,
        "evidence": [{"label": "a", "start": 0, "end": 4, "score": 0.5}],
        "read": {"tokens": 10, "of": 30, "windows": 2},
    }
    failed = Prediction("2", "failed", reason="the text is not UTF-8").to_dict()
    assert failed["reason"] == "the text is not UTF-8" and failed["scores"] == {}
    json.dumps([prediction.to_dict(), failed], allow_nan=False)


@given(tokens=st.integers(0, 50), of=st.integers(0, 50))
def test_coverage_says_whether_something_was_left_unread(tokens, of):
    assert Coverage(tokens, of, 1).truncated == (tokens < of)
