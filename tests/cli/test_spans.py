"""``check`` and ``data convert`` with annotated spans."""

import json
from pathlib import Path

import pytest

from attending.data.corpora import load_corpus
from attending.data.spans.formats import load_spans

TEXT = "No fever\u2009today.\r\nLeft lower lobe pneumonia.\r\n"
ANN = (
    "T1\tAnatomy 17 32\tLeft lower lobe\r\nT2\tProblem 17 42\tLeft lower lobe pneumonia\r\n"
    "A1\tPOLARITY T2\r\nT3\tSign 3 8\tfever\r\n"
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "n1.txt").write_bytes(TEXT.encode())
    (folder / "n1.ann").write_bytes(ANN.encode())
    return folder


def test_there_and_back_to_the_byte(run, notes, tmp_path):
    assert run("data", "convert", "notes", "a.jsonl").code == 0
    done = run("data", "convert", "a.jsonl", "back")
    assert done.code == 0
    assert "documents    back: 1" in done.out
    assert "spans        3" in done.out
    for name in ("n1.txt", "n1.ann"):
        assert (tmp_path / "back" / name).read_bytes() == (notes / name).read_bytes()
    assert run("data", "convert", "notes", "back").code == 2
    assert run("data", "convert", "notes", "back", "--force").code == 0


def test_to_conll_and_what_it_loses(run, notes, tmp_path):
    done = run("data", "convert", "notes", "a.conll", "--scheme", "bioes")
    assert done.code == 0
    assert "1 span (n1 T1) left out" in done.err
    assert "fever\tS-Sign" in (tmp_path / "a.conll").read_text()
    assert run("data", "convert", "a.conll", "b.tsv").code == 0
    assert (tmp_path / "b.tsv").read_bytes() == (tmp_path / "a.conll").read_bytes()
    assert run("data", "convert", "b.tsv", "c.txt", "--to", "conll", "--scheme", "iob2").code == 0
    assert "fever\tB-Sign" in (tmp_path / "c.txt").read_text()
    assert load_spans(tmp_path / "c.txt", "conll").type_counts == {"Problem": 1, "Sign": 1}


@pytest.mark.parametrize("form", ["label-studio", "doccano"])
def test_to_other_tools(run, notes, tmp_path, form):
    assert run("data", "convert", "notes", "a.json", "--to", form).code == 0
    assert run("data", "convert", "a.json", "b", "--from", "jsonl", "--to", "brat").code == 0
    (one,), (other,) = load_spans(notes), load_spans(tmp_path / "b")
    key = [(s.start, s.end, s.label) for s in one.spans]
    assert [(s.start, s.end, s.label) for s in other.spans] == key
    assert other.text == one.text


def test_problems_stop_it_unless_lenient(run, notes):
    (notes / "n1.ann").write_bytes(ANN.encode() + b"T9\tSign 3 900\tfever\r\n")
    done = run("data", "convert", "notes", "a.jsonl")
    assert done.code == 2
    assert "n1.ann line 5: T9 lies outside the text" in done.error
    assert "--lenient" in done.error
    done = run("data", "convert", "notes", "a.jsonl", "--lenient")
    assert done.code == 0
    assert "warning: n1.ann line 5: T9 lies outside the text" in done.err
    assert "warning: 1 place in all left out" in done.err


def test_what_does_not_fit_is_refused(run, notes):
    assert "--to" in run("data", "convert", "notes", "a.csv").error
    assert "is for CoNLL" in run("data", "convert", "notes", "b", "--scheme", "iob2").error
    assert "--where" in run("data", "convert", "notes", "b", "--where", "a=b").error


def test_tables_stay_tables_and_may_become_spans(run, tmp_path):
    row = {"id": "a", "text": "No fever", "spans": [{"start": 3, "end": 8, "label": "Sign"}]}
    (tmp_path / "x.jsonl").write_text(json.dumps(row))
    assert run("data", "convert", "x.jsonl", "x.csv").code == 0
    assert [s.label for s in load_corpus(tmp_path / "x.csv").documents[0].spans] == ["Sign"]
    assert run("data", "convert", "x.csv", "brat", "--to", "brat").code == 0
    assert (tmp_path / "brat" / "a.ann").read_text() == "T1\tSign 3 8\tfever\n"


def test_check_reads_spans(run, notes):
    done = run("check", "notes")
    assert done.code == 0
    assert "notes: 1 document, 3 spans of 3 entity types" in done.out
    assert "1 inside another one" in done.out
    assert "fever" not in done.out
    (notes / "n1.ann").write_bytes(ANN.encode() + b"T9\tSign 3 900\tfever\r\n")
    done = run("check", "notes", "--json")
    assert done.code == 1
    assert done.json["corpora"][0]["types"] == {"Anatomy": 1, "Problem": 1, "Sign": 1}
    assert "span-problems" in [f["code"] for f in done.json["findings"]]


def test_check_of_tags(run, tmp_path):
    (tmp_path / "train.tsv").write_text("O\tno\nI-X\tfever\nB-Y\tache\n\n")
    done = run("check", "train.tsv", "--from", "conll", "--tag-column", "0", "--json")
    assert done.code == 0
    (corpus,) = done.json["corpora"]
    assert (corpus["documents"], corpus["types"]) == (1, {"X": 1, "Y": 1})
    assert corpus["lengths"][0]["total"] == 3


def test_sentences_in_a_row_are_documents(run, tmp_path):
    (tmp_path / "t.conll").write_text("Fever\tB-Sign\n\nNo\tO\npain\tB-Sign\n\nHome\tO\n")
    done = run("data", "convert", "t.conll", "t.jsonl", "--documents", "3")
    assert done.code == 0
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == ["Fever\nNo pain", "Home"]
    for wrong in ("pages", "0", "-2", "2.5"):
        done = run("check", "t.conll", f"--documents={wrong}")
        assert done.code == 2
        assert f'no way to divide a file into documents "{wrong}"' in done.err
        assert "or a number of words from 1" in done.err
