"""What is written comes back the same; predictions have their documented form."""

import csv
import gzip
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.corpora import load_corpus
from attending.data.writers import write_documents, write_predictions
from attending.errors import DataError, OutputError
from attending.records import Coverage, Document, Evidence, LabelSet, Prediction, Span

CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
TEXT = st.text(CHARACTERS, max_size=40) | st.text('a,";\t\r\n\ufeff\u2028[{| ', max_size=12)
NAME = st.text(CHARACTERS, min_size=1, max_size=12).map(str.strip).filter(bool)
ID = st.text(CHARACTERS, min_size=1, max_size=8).filter(lambda s: bool(s.strip()))
WHEN = st.datetimes(timezones=st.sampled_from([None, UTC]))


@st.composite
def documents(draw):
    text = draw(TEXT)
    spans = ()
    if text:
        start = draw(st.integers(0, len(text) - 1))
        spans = (Span(start, draw(st.integers(start + 1, len(text))), draw(st.none() | NAME)),)
    return Document(
        id=draw(ID),
        text=text,
        labels=draw(st.none() | st.lists(NAME, unique=True, max_size=3).map(tuple)),
        spans=draw(st.sampled_from([(), spans])),
        group=draw(st.none() | NAME),
        when=draw(st.none() | WHEN),
        attributes={"ward": draw(TEXT)},
    )


COLUMNS = {"text": "text", "id": "id", "label": "label", "group": "group", "date": "date"}


def same(one: Document, other: Document) -> bool:
    spans = tuple(  # a span without a label takes the only one that its document has
        Span(s.start, s.end, s.label or one.label) for s in one.spans
    )
    return (
        (one.id, one.text, one.labels, one.group, one.when, dict(one.attributes))
        == (other.id, other.text, other.labels, other.group, other.when, dict(other.attributes))
    ) and other.spans in (spans, one.spans)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "csv.gz", "parquet"])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(documents(), min_size=1, max_size=4))
def test_round_trip(ending, rows):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{ending}"
        write_documents(rows, path)
        written = load_corpus(path)
    assert not written.problems
    assert len(written) == len(rows)
    for one, other in zip(rows, written, strict=True):
        assert same(one, other), (one, other)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_codes_stay_characters_in_every_format(case, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    corpus = load_corpus(case("D02") / "codes.csv")
    path = tmp_path / f"codes.{ending}"
    write_documents(corpus, path, columns=corpus.columns)
    again = load_corpus(path)
    values = json.loads((case("D02") / "expected.json").read_text())["values"]
    assert [d.label for d in again] == values["codes"]
    assert again.fingerprint == corpus.fingerprint
    assert again.columns == corpus.columns


def test_the_bundled_corpus_survives_every_format(tmp_path):
    corpus = load_corpus("portal")
    for ending in ("csv", "jsonl.gz"):
        write_documents(corpus, tmp_path / f"p.{ending}")
        again = load_corpus(tmp_path / f"p.{ending}")
        assert again.fingerprint == corpus.fingerprint
        assert [d.spans for d in again] == [d.spans for d in corpus]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_numbers_that_json_has_not_are_written_as_null(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    odd = {"age": float("nan"), "dose": float("inf"), "both": [1.5, float("-inf")]}
    path = tmp_path / f"x.{ending}"
    write_documents([Document("1", "a", attributes=odd)], path)
    (again,) = load_corpus(path)
    if ending == "jsonl":
        assert again.attributes == {"age": None, "dose": None, "both": [1.5, None]}
    elif ending != "parquet":
        assert again.attributes == {"age": "", "dose": "", "both": "[1.5, null]"}
    write_documents([again], tmp_path / "y.jsonl")
    assert "NaN" not in (tmp_path / "y.jsonl").read_text()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_half_a_character_beside_the_text_is_mended_and_counted(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "x.jsonl").write_text(
        '{"text": "a", "patient": "p\\ud83d", "note\\udc00": [{"x": "\\ud83d"}]}\n'
        '{"text": "b", "patient": "q", "when": "\\ud83d\\ude00"}\n'
        '{"text": "c", "patient": "r", "spans": [{"start": 0, "end": 1, "label": "\\ud83d"}]}\n'
    )
    corpus = load_corpus(tmp_path / "x.jsonl")
    assert [d.group for d in corpus] == ["p\ufffd", "q", "r"]
    assert corpus.documents[0].attributes == {"note\ufffd": [{"x": "\ufffd"}]}
    assert corpus.documents[2].spans == (Span(0, 1, "\ufffd"),)
    assert [n for n in corpus.notes if "U+FFFD" in n] == [
        "x.jsonl: 2 rows have half of a character beside their text (read as U+FFFD) (lines 1, 3)"
    ]
    write_documents(corpus, tmp_path / f"y.{ending}", columns=corpus.columns)
    again = load_corpus(tmp_path / f"y.{ending}")
    assert [d.group for d in again] == [d.group for d in corpus]


def test_an_attribute_may_not_take_the_place_of_a_column(tmp_path):
    row = Document("1", "a", attributes={"text": "b"})
    with pytest.raises(OutputError, match='an attribute is called "text"'):
        write_documents([row], tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())
    write_documents([row], tmp_path / "x.csv", columns={"text": "message"})
    again = load_corpus(tmp_path / "x.csv", text="message").documents[0]
    assert (again.text, dict(again.attributes)) == ("a", {"text": "b"})


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_one_column_may_be_the_id_and_the_group(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "x.csv").write_text("patient,text,label\np1,a,x\np2,b,y\n")
    corpus = load_corpus(tmp_path / "x.csv", id="patient", group="patient")
    path = tmp_path / f"y.{ending}"
    write_documents(corpus, path, columns=corpus.columns)
    again = load_corpus(path, id="patient", group="patient")
    assert [(d.id, d.group) for d in again] == [("p1", "p1"), ("p2", "p2")]
    assert again.fingerprint == corpus.fingerprint


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("precious")
    with pytest.raises(OutputError, match=r"exists already.*--force"):
        write_documents([Document("1", "a")], path)
    assert path.read_text() == "precious"
    write_documents([Document("1", "a")], path, force=True)
    assert load_corpus(path).documents[0].text == "a"


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("old")

    def failing():
        yield Prediction("1", "ok")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_predictions(failing(), path, force=True)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="Make the folder"):
        write_documents([Document("1", "a")], tmp_path / "none" / "x.csv")
    with pytest.raises(OutputError, match="this is a folder"):
        write_predictions([], tmp_path, "jsonl")
    with pytest.raises(DataError, match=r"allowed: \.csv"):
        write_documents([], tmp_path / "x.doc")


@pytest.fixture
def predictions() -> list[Prediction]:
    good = Prediction(
        "a", "ok", ("urgent",), {"low": 0.25, "urgent": 0.75}, read=Coverage(8, 10, 1)
    ).with_evidence([Evidence(0, 5, 0.5, "urgent", "attention")])
    return [good, Prediction("b", "empty_text", reason="no text", read=Coverage(0, 0, 0))]


def test_predictions_as_json_lines_are_their_dicts(tmp_path, predictions):
    write_predictions(iter(predictions), tmp_path / "p.jsonl.gz")
    lines = gzip.decompress((tmp_path / "p.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in lines] == [p.to_dict() for p in predictions]


def test_predictions_as_csv_have_a_score_column_a_label(tmp_path, predictions):
    labels = LabelSet.from_ids(["urgent", "low"])
    write_predictions(predictions, tmp_path / "p.csv", labels=labels)
    with (tmp_path / "p.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == [
        "id", "status", "label", "score", "abstained", "tokens", "of", "windows", "reason",
        "score:urgent", "score:low",
    ]  # fmt: skip
    assert list(rows[0].values()) == [
        "a", "ok", "urgent", "0.75", "false", "8", "10", "1", "", "0.75", "0.25",
    ]  # fmt: skip
    assert [rows[1][k] for k in ("status", "label", "score", "score:low", "reason")] == [
        "empty_text", "", "", "", "no text",
    ]  # fmt: skip


def test_predictions_in_another_format_are_refused(tmp_path):
    with pytest.raises(DataError, match="jsonl, csv"):
        write_predictions([], tmp_path / "p.parquet")


def test_the_same_content_gives_the_same_archive(tmp_path):
    rows = [Document("1", "a", when=datetime(2024, 1, 1))]
    for name in ("a.csv.gz", "b.csv.gz"):
        write_documents(rows, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_attributes_of_several_types_fit_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    rows = [Document("1", "a", attributes={"x": 1}), Document("2", "b", attributes={"x": "two"})]
    write_documents(rows, tmp_path / "x.parquet")
    again = load_corpus(tmp_path / "x.parquet")
    assert [d.attributes["x"] for d in again] == ["1", "two"]
