"""Reading files into corpora: columns, cells, ids, notes, and what can't be read."""

import gzip
import json
import os
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from attending.data.corpora import Corpus, load_corpus
from attending.data.labels import infer_labels
from attending.errors import DataError, LabelError, MissingExtra
from attending.records import Document, Span, Unreadable, is_blank


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def file(tmp_path):
    return lambda name, content: write(tmp_path, name, content)


def expected(folder: Path) -> dict:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]


# The trouble cases.


def test_byte_order_mark_is_removed_at_the_start_only(case):
    corpus = load_corpus(case("D01") / "messages.csv")
    values = expected(case("D01"))
    assert list(corpus.columns.values()) == values["columns"]
    assert [d.label for d in corpus] == values["labels"]
    assert len(corpus) == values["n_rows"]
    assert corpus.documents[2].text == values["row3_text"]
    assert len(corpus.documents[2].text) == values["row3_len"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_byte_order_mark_in_every_text_format(file, ending):
    mark = "\ufeff"
    content = {
        "csv": f"{mark}text\r\na{mark}b\r\n",
        "tsv": f'{mark}"text"\r\na{mark}b\r\n',
        "jsonl": f'{mark}{{"text": "a{mark}b"}}\r\n',
    }[ending]
    assert load_corpus(file(f"x.{ending}", content)).documents[0].text == f"a{mark}b"


def test_codes_stay_characters(case):
    corpus = load_corpus(case("D02") / "codes.csv")
    values = expected(case("D02"))
    assert [d.label for d in corpus] == values["codes"]
    assert len(infer_labels(corpus)) == values["n_distinct"]


def test_json_numbers_keep_their_spelling_as_labels_and_ids(file):
    lines = '{"id": 1.50, "text": "a", "code": 250.00}\n{"id": 2, "text": "b", "code": 3E0}\n'
    corpus = load_corpus(file("x.jsonl", lines))
    assert [(d.id, d.label) for d in corpus] == [("1.50", "250.00"), ("2", "3E0")]


def test_wrong_encoding_names_file_byte_line_and_way_out(case):
    path, values = case("D03") / "letter.csv", expected(case("D03"))
    with pytest.raises(DataError) as caught:
        load_corpus(path)
    message = str(caught.value)
    position = values["first_non_utf8_byte_in_file"]
    for part in ("letter.csv line 2", f"byte {position} ", "utf-8", "--encoding cp1252"):
        assert part in message
    text = load_corpus(path, encoding="cp1252").documents[0].text
    start, end = values["temperature_span"]
    assert text == values["text"]
    assert text[start:end] == values["surface"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "csv.gz"])
def test_wrong_encoding_in_every_text_format(file, ending):
    content = b"text\nfine\n" + "Müller\n".encode("cp1252")
    if ending.startswith("jsonl"):
        content = b'{"text": "fine"}\n{"text": "M\xfcller"}\n'
    if ending.endswith("gz"):
        content = gzip.compress(content)
    with pytest.raises(DataError, match=r"line [23]: byte \d+ can't be read"):
        load_corpus(file(f"x.{ending}", content))


def test_utf16_is_recognised(file):
    path = file("x.csv", "text\nhé\n".encode("utf-16"))
    with pytest.raises(DataError, match="--encoding utf-16"):
        load_corpus(path)
    assert load_corpus(path, encoding="utf-16").documents[0].text == "hé"


def test_label_spaces_are_trimmed_and_counted_but_case_is_kept(case):
    corpus = load_corpus(case("D04") / "labels.csv")
    values = expected(case("D04"))
    assert corpus.label_counts == dict(sorted(values["class_counts"].items()))
    assert len(corpus.notes) == 1
    assert (
        f"{values['n_trimmed']} labels had outer white space (trimmed) (lines 3, 4)"
        in (corpus.notes[0])
    )


def test_label_order_depends_on_no_hash_seed(case):
    program = (
        "import sys; from attending import load_corpus; "
        "from attending.data.labels import infer_labels; "
        "print(*infer_labels(load_corpus(sys.argv[1])).ids)"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program, str(case("D05") / "train.csv")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] == expected(case("D05"))["label_list"]


def test_empty_and_null_texts_keep_their_places(case, file):
    texts = json.loads((case("D18") / "batch.json").read_text(encoding="utf-8"))
    path = file("batch.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in texts))
    corpus, values = load_corpus(path), expected(case("D18"))
    rows = corpus.rows
    assert len(rows) == values["n_results"]
    blank = [i for i, r in enumerate(rows) if isinstance(r, Document) and is_blank(r.text)]
    assert blank == values["empty_indices"]
    assert [i for i, r in enumerate(rows) if isinstance(r, Unreadable)] == values["invalid_indices"]
    assert corpus.problems[0].id == "row-4"
    assert corpus.problems[0].source.line == 4
    assert rows[values["normal_indices"][0]].text == "cough"


# Columns.


@pytest.mark.parametrize("name", ["Text", " message ", "NOTE", "Chief Complaint", "free-text"])
def test_usual_text_columns_are_found_whatever_their_case(file, name):
    assert load_corpus(file("x.csv", f"nr,{name}\n1,hello\n")).documents[0].text == "hello"


def test_named_columns_win_and_others_become_attributes(file):
    path = file("x.csv", "key,body,kind,clinic,ward\n7,hello,urgent,north,3\n")
    corpus = load_corpus(path, id="key", label="kind", group="Clinic")
    d = corpus.documents[0]
    assert (d.id, d.text, d.labels, d.group) == ("7", "hello", ("urgent",), "north")
    assert dict(d.attributes) == {"ward": "3"}
    assert corpus.columns["group"] == "clinic"


def test_wrong_column_lists_the_columns_and_the_nearest(file):
    path = file("x.csv", "message,urgency\nhello,high\n")
    with pytest.raises(DataError) as caught:
        load_corpus(path, text="mesage")
    assert '"mesage"' in str(caught.value)
    assert '"message", "urgency"' in str(caught.value)
    assert 'Did you mean "message"?' in str(caught.value)


@pytest.mark.parametrize(
    ("header", "role"), [("text,label,category", "label"), ("message,note,label", "text")]
)
def test_two_candidates_for_text_or_label_are_refused(file, header, role):
    path = file("x.csv", f"{header}\na,b,c\n")
    with pytest.raises(DataError, match=f"2 columns look like the {role}.*--{role}"):
        load_corpus(path)
    chosen = header.split(",")[1]
    named = load_corpus(path, **{role: chosen})
    assert named.columns[role] == chosen


def test_no_label_column_can_be_asked_for(file):
    path = file("x.csv", "text,label,category\nhello,a,b\n")
    d = load_corpus(path, label="").documents[0]
    assert d.labels is None
    assert dict(d.attributes) == {"label": "a", "category": "b"}


def test_one_column_for_two_roles_is_refused(file):
    with pytest.raises(DataError, match="named as the"):
        load_corpus(file("x.csv", "body,kind\na,b\n"), text="body", label="body")


def test_a_first_line_that_is_text_is_not_shown(file):
    path = file("x.csv", "since monday my chest hurts and I faint,urgent\nagain,urgent\n")
    with pytest.raises(DataError) as caught:
        load_corpus(path)
    assert "chest" not in str(caught.value)
    assert "does not look like column names" in str(caught.value)


# CSV and TSV.


def test_source_is_the_line_on_which_a_row_starts(file):
    path = file("x.csv", 'text,label\n"one\ntwo\r\nthree",a\nfour,b\n')
    corpus = load_corpus(path)
    assert [(d.text, d.source.line) for d in corpus] == [("one\ntwo\r\nthree", 2), ("four", 5)]


def test_bad_rows_are_listed_by_line_and_the_rest_is_read(file):
    path = file("x.csv", 'text,label\nfine,a\ntoo,many,cells\nfew\n"a "bad" quote",a\nlast,b\n')
    corpus = load_corpus(path)
    assert [d.text for d in corpus] == ["fine", "last"]
    assert [(p.source.line, p.id) for p in corpus.problems] == [
        (3, "row-2"),
        (4, "row-3"),
        (5, "row-4"),
    ]
    assert corpus.problems[0].reason == "3 cells, expected 2"
    with pytest.raises(DataError, match="line 3"):
        load_corpus(path, strict=True)


def test_an_unclosed_quotation_mark_does_not_swallow_the_file(file):
    rows = "".join(f"row {i},a\n" for i in range(50))
    corpus = load_corpus(file("x.csv", f'text,label\n"open,a\n{rows}'))
    assert len(corpus) == 50
    assert "never closed" in corpus.problems[0].reason


def test_pieces_of_a_badly_quoted_row_do_not_become_documents(file):
    path = file("x.csv", 'text,label\n"she said "no" to it\nand left, then",a\nlast,b\n')
    corpus = load_corpus(path)
    assert [d.text for d in corpus] == ["last"]
    assert [p.source.line for p in corpus.problems] == [2, 3]


def test_tabs_rule_where_tsv_quotes_make_no_sense(file):
    path = file("x.tsv", 'text\tlabel\n"hot" all day\ta\n"open\tb\n5" cut"\ta\n"all ""x"""\tb\n')
    corpus = load_corpus(path)
    assert [d.text for d in corpus] == ['"hot" all day', '"open', '5" cut"', 'all "x"']
    assert not corpus.problems


def test_a_table_pasted_into_a_text_is_one_cell_of_tsv(file):
    path = file("x.tsv", 'id\ttext\tlabel\n1\t"Na\t140\nK\t4.0"\tlabs\n2\tok\tother\n')
    corpus = load_corpus(path)
    assert [(d.id, d.text, d.label) for d in corpus] == [
        ("1", "Na\t140\nK\t4.0", "labs"),
        ("2", "ok", "other"),
    ]
    assert not corpus.problems


def test_a_stray_tab_is_reported_and_never_shifts_a_label(file):
    corpus = load_corpus(file("x.tsv", "label\ttext\na\tone\nb\ttwo\tthree\n"))
    assert [d.label for d in corpus] == ["a"]
    assert corpus.problems[0].reason == "3 cells, expected 2"


@pytest.mark.parametrize(
    ("content", "note"),
    [("text;label\nhello, you;a\n", True), ("sep=;\r\ntext;label\r\nhello, you;a\r\n", False)],
)
def test_spreadsheets_with_semicolons(file, content, note):
    corpus = load_corpus(file("x.csv", content))
    assert [(d.text, d.label) for d in corpus] == [("hello, you", "a")]
    assert bool(corpus.notes) is note


def test_blank_lines(file):
    one_column = load_corpus(file("one.csv", "text\n\nhello\n\n\n"))
    assert [(d.text, d.source.line) for d in one_column] == [("", 2), ("hello", 3)]
    two_columns = load_corpus(file("two.csv", "text,label\n\nhello,a\n\n"))
    assert [d.text for d in two_columns] == ["hello"]
    assert "1 blank line skipped" in two_columns.notes[0]


def test_a_very_long_cell_is_read(file):
    text = "word " * 200_000
    assert load_corpus(file("x.csv", f'text\n"{text}"\n')).documents[0].text == text


# JSON lines.


def test_json_rows_that_are_no_documents_say_why(file):
    bad = {
        '{"text": null}': "no text",
        '{"id": "x"}': "no text",
        '{"text": 5}': "the text is a number, not text",
        '{"text": ["a"]}': "the text is a list, not text",
        "[1]": "not a JSON object",
        "{broken": "broken JSON at column 2",
        '{"text": "a\\u0000b"}': "NUL",
        '{"text": "\\ud800"}': "half of a character",
        "[" * 100_000: "broken JSON" if sys.version_info >= (3, 14) else "nested too deeply",
    }
    corpus = load_corpus(file("x.jsonl", '{"text": "fine"}\n' + "\n".join(bad)))
    assert len(corpus) == 1
    assert [p.source.line for p in corpus.problems] == list(range(2, len(bad) + 2))
    for problem, reason in zip(corpus.problems, bad.values(), strict=True):
        assert reason in problem.reason


def test_labels_as_a_list_none_and_null(file):
    lines = [{"text": "a", "labels": ["x", "y", "x"]}, {"text": "b", "labels": []}]
    lines += [{"text": "c", "labels": None}, {"text": "d"}]
    corpus = load_corpus(file("x.jsonl", "\n".join(map(json.dumps, lines))))
    assert [d.labels for d in corpus] == [("x", "y"), (), None, None]
    assert not corpus.labelled
    assert corpus.subset([0, 1]).labelled


def test_json_attributes_keep_their_types(file):
    row = {"text": "a", "age": 80, "score": 0.5, "tags": ["x", 1], "ok": True, "none": None}
    corpus = load_corpus(file("x.jsonl", json.dumps(row)))
    assert dict(corpus.documents[0].attributes) == {k: v for k, v in row.items() if k != "text"}


def test_a_json_array_is_explained(file):
    with pytest.raises(DataError, match="JSON lines first"):
        load_corpus(file("x.jsonl", '[{"text": "a"},\n{"text": "b"}]\n'))


# Ids, groups, dates, spans.


def test_missing_ids_are_numbered_and_repeated_ids_are_kept(file):
    corpus = load_corpus(file("x.csv", "id,text\na,1\n ,2\na,3\n"))
    assert [d.id for d in corpus] == ["a", "row-2", "a"]
    assert "1 row has no id (named row-N) (line 3)" in corpus.notes[0]
    assert "1 id occurs more than once (2 rows; again on line 4)" in corpus.notes[1]


def test_several_files_are_one_corpus_with_distinct_row_ids(file):
    paths = [file("a.csv", "text\none\ntwo\n"), file("b.jsonl", '{"text": "three"}\n')]
    corpus = load_corpus(paths)
    assert [(d.id, d.source.file) for d in corpus] == [
        ("row-1", "a.csv"),
        ("row-2", "a.csv"),
        ("row-3", "b.jsonl"),
    ]
    assert corpus.name == "a+b"


def test_dates(file):
    path = file("x.csv", "text,date\na,2024-03-11T07:30:00Z\nb,03/11/2024\nc,\nd,2024-03-11\n")
    corpus = load_corpus(path)
    assert [d.when for d in corpus] == [
        datetime(2024, 3, 11, 7, 30, tzinfo=UTC), None, None, datetime(2024, 3, 11),
    ]  # fmt: skip
    assert corpus.documents[1].attributes["date"] == "03/11/2024"
    assert "date" not in corpus.documents[0].attributes
    assert "1 date is not ISO 8601 (kept as an attribute) (line 3)" in corpus.notes[0]


def test_a_named_date_column_without_dates_is_refused(file):
    with pytest.raises(DataError, match="ISO 8601"):
        load_corpus(file("x.csv", "text,day\na,Monday\n"), date="day")


def test_groups_are_trimmed_so_that_a_person_is_one(file):
    corpus = load_corpus(file("x.csv", 'text,patient\na,P1\nb,"P1 "\nc,\n'))
    assert [d.group for d in corpus] == ["P1", "P1", None]
    assert "1 group had outer white space" in corpus.notes[0]


def test_spans_take_the_only_label_and_must_lie_in_the_text(file):
    row = {"text": "bad cough", "label": "x", "evidence": [{"start": 4, "end": 9}]}
    out = {"text": "short", "spans": [{"start": 1, "end": 99, "label": "y"}]}
    corpus = load_corpus(file("x.jsonl", f"{json.dumps(row)}\n{json.dumps(out)}\n"))
    assert [d.spans for d in corpus] == [(Span(4, 9, "x"),), ()]
    assert "1 row has spans outside its text (left out) (line 2)" in corpus.notes[0]


# Conditions, subsets, fingerprints.


def test_where_keeps_rows_and_says_how_many(file):
    path = file("x.csv", "text,copies\na,1\nb,2\nc,1\nbroken\n")
    corpus = load_corpus(path, where={"copies": "1"})
    assert [(d.id, d.text) for d in corpus] == [("row-1", "a"), ("row-3", "c")]
    assert len(corpus.problems) == 1
    assert corpus.notes == ('x.csv: 2 of 4 rows have copies = "1"',)
    with pytest.raises(DataError, match='found the values "1", "2" of "copies"'):
        load_corpus(path, where={"copies": "9"})
    with pytest.raises(DataError, match='Did you mean "copies"'):
        load_corpus(path, where={"copy": "1"})


def test_where_never_shows_text(file):
    path = file("x.csv", "text,label\nchest pain,a\n")
    with pytest.raises(DataError) as caught:
        load_corpus(path, where={"text": "cough"})
    assert "chest" not in str(caught.value)


def test_subset_by_position_and_by_id(file):
    corpus = load_corpus(file("x.csv", "id,text\na,1\nb,2\na,3\n"))
    assert [d.text for d in corpus.subset([2, 0])] == ["3", "1"]
    assert [d.text for d in corpus.subset(["b", "a"], name="part")] == ["2", "1", "3"]
    assert corpus.subset(["b"], name="part").name == "part"
    for wrong in ([3], [-1], ["zz"]):
        with pytest.raises(DataError, match="there is no document"):
            corpus.subset(wrong)


def test_fingerprint_sees_id_text_label_and_order_only():
    one, two = Document("1", "a", ("x",)), Document("2", "b", ("y",))
    base = Corpus((one, two)).fingerprint
    assert len(base) == 64
    assert Corpus((Document("1", "a", ("x",), group="g"), two), name="other").fingerprint == base
    for changed in (
        (two, one),
        (Document("9", "a", ("x",)), two),
        (Document("1", "a ", ("x",)), two),
        (Document("1", "a", ("z",)), two),
        (Document("1", "a", None), two),
        (Document("1", "a", ()), two),
    ):
        assert Corpus(changed).fingerprint != base


# Files that can't be used.


def test_files_that_cannot_be_used_give_one_clear_line(file, tmp_path):
    (tmp_path / "messages.csv").write_text("text\na\n")
    wrong = {
        str(tmp_path / "mesages.csv"): 'no such file. Did you mean "messages.csv"?',
        str(tmp_path / "none" / "x.csv"): "does not exist either",
        str(tmp_path): "folder, not a file",
        str(file("e.csv", "")): "the file is empty",
        str(file("e.jsonl", "\n\n")): "the file is empty",
        str(file("h.csv", "text,label\n")): "there are no rows",
        str(file("t.csv", "text,text\na,b\n")): 'two columns are called "text"',
        str(file("x.xlsx", "?")): "Save the sheet as CSV",
        str(file("noending", "?")): "allowed: .csv, .tsv, .jsonl",
        str(file("bad.csv.gz", b"text\na\n")): "not a whole gzip archive",
        str(file("cut.csv.gz", gzip.compress(b"text\na\n" * 99)[:-9])): "not a whole gzip archive",
    }
    for path, message in wrong.items():
        with pytest.raises(DataError) as caught:
            load_corpus(path)
        assert message in str(caught.value), path
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no encoding called"):
        load_corpus(tmp_path / "messages.csv", encoding="nope")
    with pytest.raises(DataError, match="one character"):
        load_corpus(tmp_path / "messages.csv", separator="::")
    with pytest.raises(DataError, match="no file was named"):
        load_corpus([])


def test_parquet_without_its_package_names_the_extra(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"attending\[parquet\]"):
        load_corpus(file("x.parquet", b"PAR1"))


def test_a_damaged_parquet_file_is_refused(file):
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        load_corpus(file("x.parquet", b"junk"))


# The bundled corpus.


def test_the_bundled_corpus(portal_rows):
    corpus = load_corpus("portal")
    assert corpus.name == "portal"
    assert corpus.label_counts == {"medium": 955, "non-urgent": 631, "urgent": 170}
    assert not corpus.notes
    assert not corpus.problems
    assert len({d.id for d in corpus}) == len(corpus) == len(portal_rows)
    for d, row in zip(corpus, portal_rows, strict=True):
        assert (d.id, d.text, d.label, d.group) == (
            row["id"], row["text"], row["label"], row["writer"],
        )  # fmt: skip
        assert [(s.start, s.end, s.label) for s in d.spans] == [
            (e["start"], e["end"], row["label"]) for e in row["evidence"]
        ]
        assert dict(d.attributes) == {
            key: row[key] for key in ("age", "sex", "comorbidities", "difficulty", "writer")
        }


def test_infer_labels_needs_labels(file):
    with pytest.raises(LabelError, match="no document has a label"):
        infer_labels(load_corpus(file("x.csv", "text\na\n")))


def test_parquet_types(file, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "text": pyarrow.array(["a", None, "c"]),
        "code": pyarrow.array([389, 412, None], pyarrow.int64()),
        "date": pyarrow.array([date(2024, 1, 2), None, date(2024, 1, 3)]),
        "score": pyarrow.array([0.5, float("nan"), None]),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    corpus = load_corpus(tmp_path / "x.parquet")
    assert [(d.text, d.label) for d in corpus] == [("a", "389"), ("c", None)]
    assert corpus.documents[0].when == datetime(2024, 1, 2)
    assert corpus.documents[0].attributes["score"] == 0.5
    assert (corpus.problems[0].source.line, corpus.problems[0].reason) == (2, "no text")


def test_a_corpus_can_be_sent_to_another_process(file):
    corpus = load_corpus(file("x.csv", "text,label,ward\nhello,a,3\n"))
    assert pickle.loads(pickle.dumps(corpus)) == corpus


@pytest.mark.parametrize(
    ("cell", "labels", "reason"),
    [
        ('["a", " b "]', ("a", "b"), None),
        ("[1.50, true]", ("1.50", "true"), None),
        ('["a", ""]', None, "a list of labels holds an empty one"),
        ('[["a"]]', None, "a list of labels holds something that is not a label"),
        ('"a\\u0000"', None, "the label holds a character that is not text"),
        ('" "', None, None),
        ('"[not json]"', ("[not json]",), None),
    ],
)
def test_label_cells(file, cell, labels, reason):
    rows = load_corpus(file("x.jsonl", f'{{"text": "t", "label": {cell}}}\n')).rows
    if reason is None:
        assert rows[0].labels == labels
    else:
        assert rows[0].reason == reason


def test_less_known_names_are_taken_with_a_note(file):
    corpus = load_corpus(file("x.csv", "text,uid,note_id\nhello,u1,n1\n"))
    assert corpus.documents[0].id == "n1"
    assert 'the id is read from "note_id" ("uid" would do too; choose with --id)' in corpus.notes[0]
