"""Annotated spans in the shapes they come in, held against the text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.annotations import read_annotations
from attending.data.corpora import load_corpus
from attending.records import Span

TEXT = "Carcinoma microcítico, M0"
FIRST = Span(0, 21, "8041/3")


@pytest.mark.parametrize(
    "item",
    [
        [0, 21, "Carcinoma microcítico", "8041/3"],
        [0, 21, "8041/3"],
        ["MORFOLOGIA", "8041/3", "Carcinoma microcítico", "0 21"],
        {"start": 0, "end": 21, "label": "8041/3"},
        {"begin": 0, "end": 21, "code": "8041/3", "type": "M", "surface": "Carcinoma microcítico"},
        {"offsets": [0, 21], "type": " 8041/3 "},
        {"span": "0 21", "code": "8041/3", "text": "Carcinoma\nmicrocítico"},
        {"offsets": [[0, 21]], "label": "8041/3"},
    ],
)
def test_shapes(item):
    assert read_annotations([item], TEXT, None).spans == (FIRST,)


def test_parts_that_lie_apart_are_several_spans():
    row = ["P", "x", "Carcinoma M0", "0 9;23 25"]
    assert read_annotations([row], TEXT, None).spans == (Span(0, 9, "x"), Span(23, 25, "x"))


def test_a_span_without_a_label_takes_the_only_one():
    assert read_annotations([[0, 9], {"start": 23, "end": 25}], TEXT, "x").spans == (
        Span(0, 9, "x"), Span(23, 25, "x"),
    )  # fmt: skip


def test_what_is_left_out_is_counted_by_reason():
    items = [
        [0, 21, "carcinoma microcítico", "x"], [0, 99, "x"], [5, 5, "x"], [-1, 3, "x"],
        ["P", "x", "M0", "23 26"], ["P", "x", "M0", "here"], [0], "0 9", {"label": "x"}, None,
        [0.5, 2, "x"], {"start": 0, "end": 9, "surface": 7}, [True, 9, "x"],
    ]  # fmt: skip
    found = read_annotations(items, TEXT, None)
    assert found.spans == ()
    assert (found.differing, found.outside, found.odd) == (1, 4, 8)


@settings(max_examples=100, deadline=None)
@given(items=st.lists(st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.text(max_size=6),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(
        st.sampled_from(["start", "end", "label", "offsets", "text", "span"]), x, max_size=4),
    max_leaves=8)))  # fmt: skip
def test_any_cell_gives_spans_inside_the_text_or_a_count(items):
    found = read_annotations(items, TEXT, None)
    assert all(0 <= s.start < s.end <= len(TEXT) for s in found.spans)
    assert found.outside + found.differing + found.odd <= len(items)
    if not found.spans:
        assert found.outside + found.differing + found.odd == len(items)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_named_column(tmp_path):
    rows = [
        {"id": "1", "text": TEXT, "codes": ["8041/3", "8000/6"],
         "mentions": [[0, 21, "Carcinoma microcítico", "8041/3"], [23, 25, "M0", "8000/6"]]},
        {"id": "2", "text": "Small cell carcinoma, M0", "codes": ["8041/3"],
         "mentions": [[0, 21, "Carcinoma microcítico", "8041/3"], [0, 99, "x", "8041/3"]]},
        {"id": "3", "text": "nothing", "codes": [], "mentions": None},
        {"id": "4", "text": "odd", "codes": [], "mentions": "M0"},
    ]  # fmt: skip
    corpus = load_corpus(write(tmp_path / "m.jsonl", rows), spans="mentions")
    assert [d.spans for d in corpus] == [(FIRST, Span(23, 25, "8000/6")), (), (), ()]
    assert all("mentions" not in d.attributes for d in corpus)
    assert corpus.columns["spans"] == "mentions"
    notes = "\n".join(corpus.notes)
    assert "1 row has spans whose words don't stand at their offsets" in notes
    assert "1 row has spans outside its text (left out) (line 2)" in notes
    assert "1 row has spans that can't be read (left out) (line 4)" in notes


def test_how_many_are_left_out_is_said_where_a_row_has_several(tmp_path):
    rows = [{"text": "translated", "m": [[0, 5, "otros", "x"], [0, 4, "esto", "x"]]}]
    corpus = load_corpus(write(tmp_path / "m.jsonl", rows), spans="m")
    assert "(left out): 2 in all (line 1)" in corpus.notes[0]


def test_a_named_column_of_a_csv(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text('text,m\n"M0, x","[[0, 2, ""M0"", ""8000/6""]]"\n')
    assert load_corpus(path, spans="m").documents[0].spans == (Span(0, 2, "8000/6"),)


def test_a_column_that_is_not_named_stays_unless_it_is_plainly_of_spans(tmp_path):
    rows = [{"text": TEXT, "evidence": [[0, 9, "Carcinoma", "x"]]}]
    document = load_corpus(write(tmp_path / "m.jsonl", rows)).documents[0]
    assert document.spans == ()
    assert document.attributes["evidence"] == [[0, 9, "Carcinoma", "x"]]
