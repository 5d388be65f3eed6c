"""Cells with several labels: separators, lists, nothing at all; and back."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attending.data.corpora import load_corpus
from attending.data.label_cells import LabelCells
from attending.data.readers import parse_line
from attending.data.writers import write_documents
from attending.errors import DataError
from attending.records import Document

CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
LABEL = st.text(CHARACTERS, min_size=1, max_size=8).map(str.strip).filter(bool)
LABELS = st.none() | st.lists(LABEL, unique=True, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("separator", "cell", "labels"),
    [
        (";", "C01;C04", ("C01", "C04")),
        (";", " C01 ; C04", ("C01", "C04")),
        (";", "C01;C01", ("C01",)),
        (";", "C01", ("C01",)),
        (";", "", None),
        (";", "  ", None),
        (";", None, None),
        (";", "[]", ()),
        (";", '["a;b", "c"]', ("a;b", "c")),
        ("; ", "C01; C04", ("C01", "C04")),
        (" ", "I10\u00a0 E11.9", ("I10", "E11.9")),
        ("\t", "I10 E11.9", ("I10", "E11.9")),
        (None, "C01;C04", ("C01;C04",)),
        (None, "['I10', \"E11.9\"]", ("I10", "E11.9")),
        (";", "['I10']", ("I10",)),
    ],
)
def test_cells(separator, cell, labels):
    read = LabelCells(separator).read(cell)
    assert (read.labels, read.problem) == (labels, None)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("[401, 250]", [401, 250]),
        ("[250.00, 1e3]", None),
        ("[] ", []),
        (" [ ]", []),
        (' ["a", "b"]\t', ["a", "b"]),
        ('["a", 1, true]', ["a", 1, True]),
        ("[null]", [None]),
        ('[["a"]]', [["a"]]),
        ('[{"code": "a"}]', [{"code": "a"}]),
        ('[""]', [""]),
    ],
)
def test_a_list_in_a_csv_cell_is_one_of_json_lines(cell, value):
    written = cell if value is None else json.dumps(value)
    row = parse_line(f'{{"text": "x", "label": {written}}}', 1)
    for cells in (LabelCells(), LabelCells(";", "none")):
        assert cells.read(cell) == cells.read(row.cells["label"])
    if value is None:
        assert LabelCells().read(cell).labels == ("250.00", "1e3")


@pytest.mark.parametrize("cell", ["['a' 'b']", "['a', __import__('os')]", "['a', b]", "['a\\'b']"])
def test_nothing_is_evaluated(cell):
    assert LabelCells().read(cell).problem == "the labels are a list that is no JSON"


@pytest.mark.parametrize("cell", ["", "  ", None, ";", " ; "])
def test_an_empty_cell_can_say_that_no_label_applies(cell):
    assert LabelCells(";", "none").read(cell).labels == ()
    assert LabelCells(";").read(cell).labels is None


@pytest.mark.parametrize("separator", ["", "[", '"', "a]"])
def test_separators_that_begin_a_list_are_refused(separator):
    with pytest.raises(DataError, match="can't be told apart by this separator"):
        LabelCells(separator)


@example(labels=("a:", "b"), separator="::")
@settings(max_examples=150, deadline=None)
@given(labels=LABELS, separator=st.sampled_from([None, ";", "|", ", ", " ", "::"]))
def test_what_is_written_is_read_again(labels, separator):
    cells = LabelCells(separator)
    try:
        cell = cells.write(labels)
    except DataError as error:
        assert separator is not None
        assert "can't be written with the separator" in str(error)
    else:
        assert cells.read(cell).labels == labels


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_files_with_a_separator(tmp_path, ending):
    rows = [
        Document("1", "a", ("x", "y,z")), Document("2", "b", ()), Document("3", "c"),
        Document("4", "d", ("x",)),
    ]  # fmt: skip
    path = tmp_path / f"m.{ending}"
    write_documents(rows, path, label_separator=";")
    if ending in ("csv", "tsv"):
        assert "x;y,z" in path.read_text()
    again = load_corpus(path, label_separator=";")
    assert [d.labels for d in again] == [d.labels for d in rows]
    assert again.multi_label


def test_what_was_odd_is_counted(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("text,label\na,x;;y\nb,x;\nc,\"['x', 'y']\"\nd,\"['x' 'y']\"\n")
    corpus = load_corpus(path, label_separator=";")
    assert [d.labels for d in corpus] == [("x", "y"), ("x",), ("x", "y")]
    assert [p.reason for p in corpus.problems] == ["the labels are a list that is no JSON"]
    notes = "\n".join(corpus.notes)
    assert "2 rows have nothing between two label separators (passed over) (lines 2, 3)" in notes
    assert "1 row has its labels as a Python list (read as a list) (line 4)" in notes


def test_empty_labels_none_needs_a_column(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("text,kind\na,x\n")
    assert load_corpus(path, empty_labels="none").documents[0].labels is None


def test_one_label_each_is_not_several():
    from attending.data.corpora import Corpus

    rows = (Document("1", "a", ("x",)), Document("2", "b"))
    assert not Corpus(rows).multi_label
    assert Corpus((*rows, Document("3", "c", ()))).multi_label
