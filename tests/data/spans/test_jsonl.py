"""Spans in JSON: ours, doccano's, Label Studio's."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given

from attending.data.spans.brat import read_brat, write_brat
from attending.data.spans.conll import read_conll
from attending.data.spans.conll_writer import write_conll
from attending.data.spans.jsonl import read_span_jsonl, write_span_jsonl
from attending.errors import DataError, OutputError
from attending.records import Document, Prediction, Span

from .conftest import documents, entities, same_files


@pytest.fixture
def lines(tmp_path):
    def write(*rows, name="x.jsonl", array=False):
        body = json.dumps(rows, indent=1) if array else "\n".join(map(json.dumps, rows))
        (tmp_path / name).write_text(body)
        return tmp_path / name

    return write


def surfaces(document):
    return [(document.text[s.start : s.end], s.label) for s in document.spans]


EMOJI = "😀 no fever, a rash"


@given(documents(blank_edges=True))
def test_our_own_form_comes_back(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("json") / "x.jsonl"
    given_ = Document(
        document.id, document.text, ("urgent",), document.spans, "p1",
        attributes={"tokens": ((0, 1),), "site": {"ward": [1, 2.5]}, "empty": None},
    )  # fmt: skip
    write_span_jsonl([given_], path)
    corpus = read_span_jsonl(path)
    assert not corpus.faults
    (again,) = corpus
    assert (again.id, again.text, again.labels, again.group) == (
        given_.id, given_.text, given_.labels, given_.group,
    )  # fmt: skip
    assert entities(again) == entities(given_)
    assert again.attributes == given_.attributes


def test_a_date_comes_back(tmp_path):
    when = datetime(2024, 3, 11, 7, 30, tzinfo=UTC)
    rows = [Document("a", "x", when=when), Document("b", "y", attributes={"date": "in spring"})]
    write_span_jsonl(rows, tmp_path / "x.jsonl")
    first, second = read_span_jsonl(tmp_path / "x.jsonl")
    assert (first.when, first.attributes) == (when, {})
    assert (second.when, second.attributes) == (None, {"date": "in spring"})
    with pytest.raises(OutputError, match='an attribute is called "date"'):
        write_span_jsonl([replace(second, when=when)], tmp_path / "y.jsonl")


def test_ids_and_scores_come_back(tmp_path):
    span = Span(5, 10, "Sign", id="T7", score=0.25)
    write_span_jsonl([Document("d", EMOJI, spans=(span,))], tmp_path / "x.jsonl")
    assert read_span_jsonl(tmp_path / "x.jsonl").documents[0].spans == (span,)


def test_brat_and_conll_go_through_json_to_the_byte(brat, tmp_path):
    folder = brat(
        a=("\ufeffno fever\r\n", "T1\tSign 3 8\tfever\r\nA1\tNegated T1\r\n"), b=("x", None)
    )
    write_span_jsonl(read_brat(folder).documents, tmp_path / "a.jsonl")
    write_brat(read_span_jsonl(tmp_path / "a.jsonl").documents, tmp_path / "out")
    assert same_files(folder, tmp_path / "out")
    (tmp_path / "c.conll").write_bytes(b"-DOCSTART- O\r\n\r\nno NN O\r\nfever NN I-X\r\n")
    write_span_jsonl(read_conll(tmp_path / "c.conll").documents, tmp_path / "c.jsonl")
    write_conll(read_span_jsonl(tmp_path / "c.jsonl").documents, tmp_path / "c2.conll")
    assert (tmp_path / "c2.conll").read_bytes() == (tmp_path / "c.conll").read_bytes()


def test_doccano(lines):
    plain = {"id": 7, "text": EMOJI, "label": [[5, 10, "Sign"]], "Comments": ["x"]}
    related = {
        "id": 8,
        "text": EMOJI,
        "entities": [{"id": 3, "label": "Sign", "start_offset": 14, "end_offset": 18}],
        "relations": [{"id": 1, "type": "with", "from_id": 3, "to_id": 3}],
    }
    first, second, third = read_span_jsonl(lines(plain, related, {"text": "x", "label": []}))
    assert (first.id, first.attributes) == ("7", {"Comments": ["x"]})
    assert surfaces(first) == [("fever", "Sign")]
    assert surfaces(second) == [("rash", "Sign")]
    assert second.attributes["relations"] == related["relations"]
    assert (third.id, third.spans) == ("row-3", ())


def region(start, end, *types, words=None, id="r1"):
    value = {"start": start, "end": end, "labels": list(types)}
    return {
        "id": id, "type": "labels", "from_name": "l", "to_name": "t",
        "value": value | ({"text": words} if words else {}),
    }  # fmt: skip


def test_label_studio_counts_utf_16_units(lines):
    relation = {"type": "relation", "from_id": "r1", "to_id": "r2", "direction": "right"}
    task = {
        "id": 4,
        "data": {"note": EMOJI, "note_id": "n4", "ward": "B"},
        "annotations": [
            {"was_cancelled": True, "result": []},
            {"result": [region(6, 11, "Sign", "Lead"), relation, {"type": "choices", "value": {}}]},
        ],
    }
    path = lines(task, {**task, "annotations": []}, name="ls.json", array=True)
    corpus = read_span_jsonl(path)
    first, second = corpus
    assert first.id == "n4"
    assert surfaces(first) == [("fever", "Lead"), ("fever", "Sign")]
    assert first.attributes == {"ward": "B", "relations": [relation]}
    assert second.spans == ()
    assert [f.what for f in corpus.faults] == [
        "has no annotation: read as a document without entities",
        "its id is that of a document before it",
    ]
    begins = [n for n, line in enumerate(path.read_text().splitlines(), start=1) if line == " {"]
    assert [d.source.line for d in corpus] == begins


def test_words_overrule_what_a_tool_usually_counts(lines):
    task = {
        "data": {"text": EMOJI},
        "annotations": [{"result": [region(5, 10, "X", words="fever")]}],
    }
    assert surfaces(read_span_jsonl(lines(task)).documents[0]) == [("fever", "X")]
    minimal = {"text": EMOJI, "ner": [{"start": 6, "end": 11, "labels": ["X"]}], "id": 1}
    corpus = read_span_jsonl(lines(minimal))
    assert surfaces(corpus.documents[0]) == [("fever", "X")]
    assert corpus.notes == (
        "1 document has offsets that count UTF-16 units; they became code points",
    )


@pytest.mark.parametrize(("unit", "start"), [("utf-16", 6), ("UTF-8", 8), ("code_points", 5)])
def test_declared_units(lines, unit, start):
    row = {"text": EMOJI, "spans": [{"start": start, "end": start + 5, "label": "X"}]}
    corpus = read_span_jsonl(lines(row | {"offset_unit": unit}))
    assert surfaces(corpus.documents[0]) == [("fever", "X")]


def test_problems_by_line(tmp_path):
    rows = [
        '{"text": "no fever", "spans": [{"start": 3, "end": 99, "label": "X"}]}',
        "{broken",
        '{"spans": []}',
        '{"text": "a", "spans": [{"start": 0}], "offset_unit": "miles"}',
        '{"text": "half \\ud83d", "spans": []}',
        '{"text": "a", "spans": [{"start": 0, "end": 1}]}',
        '{"text": "fine", "spans": "none"}',
        '{"text": "fine", "id": "7"}',
        '{"text": "odd", "label": [{"start": 0, "end": 3, "labels": [5, {"a": "b"}]}]}',
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(rows))
    with pytest.raises(
        DataError, match=r"10 problems: x\.jsonl line 1: the span lies outside"
    ) as e:
        read_span_jsonl(path)
    assert "fever" not in str(e.value)
    corpus = read_span_jsonl(path, strict=False)
    assert [f.source.line for f in corpus.errors] == [1, 2, 3, 4, 4, 5, 6, 7, 9, 9]
    assert [d.id for d in corpus] == ["row-1", "row-4", "row-6", "row-7", "7", "row-9"]
    assert [p.id for p in corpus.problems] == ["row-2", "row-3", "row-5"]
    assert not any(d.spans for d in corpus)


def test_what_json_has_not_and_half_a_character_come_back_writable(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"text": "ab", "age": NaN, "group": "\\ud83d", "note": {"\\udc00": [Infinity]}, '
        '"spans": [{"start": 0, "end": 1, "label": "X\\ud83d", "score": NaN}]}\n'
    )
    corpus = read_span_jsonl(path)
    assert [f.what for f in corpus.faults] == ["a value holds half of a character: read as U+FFFD"]
    write_span_jsonl(corpus.documents, tmp_path / "y.jsonl")
    (again,) = read_span_jsonl(tmp_path / "y.jsonl")
    assert (again.group, again.spans) == ("\ufffd", (Span(0, 1, "X\ufffd"),))
    assert again.attributes == {"age": None, "note": {"\ufffd": [None]}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "holds no document"),
        ('[{"text": "a"}', "has no end"),
        ('[\n{"text": "a"},\n{"te', "line 3: broken JSON"),
        ('[{"text": "a"}]\n\n[{"text": "b"}]\n', "line 3: something follows the end"),
        ('[{"text": "a"}] x', "line 1: something follows the end"),
        ("", "the file is empty"),
    ],
)
def test_files_that_are_no_json(tmp_path, content, message):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_span_jsonl(tmp_path / "x.json")


@pytest.mark.parametrize("form", ["doccano", "label-studio"])
@pytest.mark.parametrize("predicted", [False, True])
def test_what_tools_import(tmp_path, form, predicted):
    spans = (Span(5, 10, "Sign", score=0.5), Span(2, 18, "X", ((2, 4), (14, 18))))
    document = Document("d", EMOJI, spans=() if predicted else spans)
    predictions = [Prediction("d", "ok", spans=spans)] if predicted else None
    path = tmp_path / "x.json"
    written = write_span_jsonl([document], path, form=form, predictions=predictions)
    assert written.notes == ("1 span in pieces: written piece by piece",)
    body = path.read_text()
    if form == "label-studio":
        (task,) = json.loads(body)
        result = task["predictions" if predicted else "annotations"][0]["result"]
        units = EMOJI.encode("utf-16-le")
        for part in result:
            value = part["value"]
            assert units[value["start"] * 2 : value["end"] * 2].decode("utf-16-le") == value["text"]
        assert len({part["id"] for part in result}) == 3
    if not predicted:
        assert surfaces(read_span_jsonl(path).documents[0]) == [
            ("no", "X"), ("fever", "Sign"), ("rash", "X"),
        ]  # fmt: skip


def test_an_attribute_can_not_hide_a_key(tmp_path):
    with pytest.raises(OutputError, match='an attribute is called "spans"'):
        write_span_jsonl([Document("d", "x", attributes={"spans": 1})], tmp_path / "x.jsonl")
    with pytest.raises(DataError, match='there is no form "csv"'):
        write_span_jsonl([], tmp_path / "x.jsonl", form="csv")
    write_span_jsonl([], tmp_path / "x.json", form="label-studio")
    assert json.loads((tmp_path / "x.json").read_text()) == []
