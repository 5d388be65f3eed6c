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
        "1", "ok", ("a",), {"a": 0.75, "b": 0.25}, read=Coverage(10, 30, 2, 61)
    ).with_evidence([Evidence(0, 4, 0.5, "a", "attention")])
    assert prediction.to_dict() == {
        "id": "1",
        "status": "ok",
        "labels": ["a"],
        "scores": {"a": 0.75, "b": 0.25},
        "abstained": False,
        "evidence": [{"label": "a", "start": 0, "end": 4, "score": 0.5}],
        "read": {"tokens": 10, "of": 30, "windows": 2, "truncated": True, "end": 61},
    }
    failed = Prediction("2", "failed", reason="the text is not UTF-8").to_dict()
    assert failed["reason"] == "the text is not UTF-8" and failed["scores"] == {}
    json.dumps([prediction.to_dict(), failed], allow_nan=False)


@given(tokens=st.integers(0, 50), of=st.integers(0, 50))
def test_coverage_says_whether_something_was_left_unread(tokens, of):
    assert Coverage(tokens, of, 1).truncated == (tokens < of)


CODES = LabelSet(
    (
        Label("n44.8", description="Other disorders of testis.", synonyms=("Atrophy", "Cyst"),
              parent="N44"),
        Label("n44", name="Testis", keywords=("pain", "lump"), parent="N40-N53"),
        Label("x"),
    ),
    broader=(
        Label("N44", description="Noninflammatory disorders", parent="N40-N53"),
        Label("N40-N53", name="Male genital organs", parent="14"),
        Label("14"),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("id_", "how", "text"),
    [
        ("n44.8", {}, "Other disorders of testis"),
        ("n44.8", {"parents": 1}, "Noninflammatory disorders: Other disorders of testis"),
        (
            "n44.8",
            {"parents": 9},
            "Male genital organs: Noninflammatory disorders: Other disorders of testis",
        ),
        (
            "n44.8",
            {"parts": ("description", "synonyms"), "synonyms": 1},
            "Other disorders of testis. Atrophy",
        ),
        ("n44.8", {"parts": ("synonyms",)}, "Atrophy; Cyst"),
        ("n44.8", {"parts": ("name",)}, "Other disorders of testis"),
        ("n44", {"parts": ("name", "keywords")}, "Testis. pain; lump"),
        ("n44", {}, "Testis"),
        ("x", {"parts": ("name", "description", "synonyms"), "parents": 2}, "x"),
    ],
)
def test_what_is_read_of_a_label(id_, how, text):
    assert CODES.text_of(id_, **how) == text


def test_an_ancestor_adds_no_words_that_stand_there_already():
    labels = LabelSet(
        (Label("a1", description="Adenoma, grade I", parent="a"),),
        broader=(Label("a", description="ADENOMA"),),
    )
    assert labels.text_of("a1", parents=1) == "Adenoma, grade I"


def test_an_unknown_part_or_label_has_no_text():
    with pytest.raises(LabelError, match="name, description, keywords, synonyms"):
        CODES.text_of("n44.8", parts=("parent",))
    with pytest.raises(LabelError, match="not in the label set"):
        CODES.text_of("N44")


def test_broader_labels_are_no_labels_but_ancestors():
    assert CODES.ids == ("n44.8", "n44", "x")
    assert "N44" not in CODES
    assert [x.id for x in CODES.ancestors("n44.8")] == ["N44", "N40-N53", "14"]
    assert [x.id for x in CODES.ancestors("N40-N53")] == ["14"]
    assert CODES.ancestors("x") == ()
    with pytest.raises(LabelError, match="not in the label set"):
        CODES.ancestors("zz")


def test_broader_labels_count_in_the_hash_and_none_change_nothing():
    bare = LabelSet((Label("a"),))
    assert bare.hash == LabelSet((Label("a"),), broader=()).hash
    above = LabelSet((Label("a", parent="b"),), broader=(Label("b"),))
    other = LabelSet((Label("a", parent="b"),), broader=(Label("b", description="Bee"),))
    assert len({bare.hash, above.hash, other.hash}) == 3


@pytest.mark.parametrize(
    "labels",
    [
        (Label("a", parent="a"),),
        (Label("a", parent="b"), Label("b", parent="c"), Label("c", parent="b")),
    ],
)
def test_parents_that_lead_in_a_circle(labels):
    with pytest.raises(LabelError, match="lead back to it"):
        LabelSet(labels)


def test_a_blank_description_is_none():
    assert Label("a", description=" \u200b\n").description == ""
