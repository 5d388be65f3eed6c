"""LibMultiLabel's files: two or three columns, tabs in texts, no header."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.corpora import load_corpus
from attending.data.writers import write_documents
from attending.errors import DataError
from attending.records import Document

CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0\r\n")
WORD = st.text(CHARACTERS, min_size=1, max_size=6).map(lambda s: "".join(s.split())).filter(
    lambda s: bool(s) and s[0] != "["
)  # fmt: skip
ID = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda s: "\t" not in s and s.strip())
ROW = st.builds(
    Document,
    ID,
    st.text(CHARACTERS, max_size=20),
    st.lists(WORD, unique=True, max_size=3).map(tuple),
)


def load(path, **more):
    return load_corpus(path, format="libmultilabel", **more)


def test_stray_tabs_stay_in_the_text(case):
    folder = case("D10")
    values = json.loads((folder / "expected.json").read_text())["values"]
    three, two = load(folder / "three_col.tsv"), load(folder / "two_col.tsv")
    wanted = values["three_col_row2"]
    row = three.documents[1]
    assert (row.id, list(row.labels), row.text) == tuple(wanted.values())
    wanted = values["two_col_row2"]
    row = two.documents[1]
    assert (list(row.labels), row.text) == tuple(wanted.values())
    for corpus in (three, two):
        assert not set(values["never"]) & set(corpus.label_counts)
    assert three.notes == ("three_col.tsv: 3 columns by its first line: id, labels, text",)
    assert two.notes == ("two_col.tsv: 2 columns by its first line: labels, text",)


def test_without_the_format_a_headerless_file_is_no_table_of_documents(case):
    with pytest.raises(DataError, match="no column looks like the text"):
        load_corpus(case("D10") / "three_col.tsv")


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=4))
def test_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("xmlc") / "m.txt"
    write_documents(rows, path, format="libmultilabel")
    again = load(path, empty_labels="none")
    assert [(d.id, d.text, d.labels) for d in again] == [(d.id, d.text, d.labels) for d in rows]


def test_line_breaks_become_blanks_so_that_offsets_stay(tmp_path):
    text = "a\r\nb\nc\rd"
    write_documents([Document("1", text, ("x",))], tmp_path / "m.tsv", format="libmultilabel")
    assert load(tmp_path / "m.tsv").documents[0].text == "a  b c d"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Document("1", "t", ("a b",))], 'document "1": the label "a b" holds white space'),
        ([Document("a\tb", "t", ("a",))], 'document "a b": the id holds a tab or a line break'),
        ([Document("1", "t", ()), Document("2", "t")], "would look the same"),
    ],
)
def test_what_the_format_cannot_hold(tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        write_documents(rows, tmp_path / "m.tsv", format="libmultilabel")
    assert not list(tmp_path.iterdir())


def test_short_lines_are_kept_as_problems(tmp_path):
    path = tmp_path / "m.tsv"
    path.write_bytes(b'1\tA\t"quoted\r\n\r\n2\tB\r\n3\t\tno label\r\n')
    corpus = load(path)
    assert [(d.id, d.labels, d.text) for d in corpus] == [
        ("1", ("A",), '"quoted'), ("3", None, "no label"),
    ]  # fmt: skip
    assert [(p.source.line, p.reason) for p in corpus.problems] == [
        (3, "2 columns, expected 3 as on the first line")
    ]
    assert "m.tsv: 1 blank line skipped" in corpus.notes


@pytest.mark.parametrize(("content", "message"), [("", "is empty"), ("text\n", "has no tab")])
def test_files_that_are_none(tmp_path, content, message):
    path = tmp_path / "m.tsv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        load(path)
    with pytest.raises(DataError, match='there is no format "svm"'):
        load_corpus(path, format="svm")
    with pytest.raises(DataError, match='there is no format "svm"'):
        write_documents([], tmp_path / "x.tsv", format="svm")
