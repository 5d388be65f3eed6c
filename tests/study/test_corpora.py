"""Splits of a study: by seed, by fold, by column, by file; nested sizes."""

from collections import Counter

import pytest

from attending.errors import StudyError
from attending.records import Document
from attending.study.corpora import nested_order, read_corpus
from attending.study.plan import load_study
from attending.study.run import run_study
from attending.study.runs import runs_of
from attending.study.spec import CorpusTable, SplitTable


@pytest.fixture
def corpus(study_file):
    def load(**table):
        table = {"name": "mail", "file": "messages.csv", **table}
        return load_study(study_file(corpora=[table])).corpora["mail"]

    return load


def ids(rows):
    return {d.id for d in rows}


def test_one_split_for_all_seeds(corpus):
    made = corpus(split={"test": 0.25})
    first, second = made.parts(0), made.parts(1)
    assert first.test == second.test and first.development is None
    assert (len(first.train), len(first.test)) == (36, 12)
    assert not ids(first.train) & ids(first.test)


def test_a_split_for_each_seed(corpus):
    made = corpus(split={"test": 0.25, "dev": 0.125, "seed": "per seed"})
    first, second = made.parts(0), made.parts(1)
    assert ids(first.test) != ids(second.test)
    assert [len(p) for p in (first.train, first.development, first.test)] == [30, 6, 12]
    assert not ids(first.development) & (ids(first.test) | ids(first.train))
    assert made.parts(0) is first


def test_every_document_is_in_one_fold(corpus):
    made = corpus(split={"folds": 4})
    parts = [made.parts(0, fold) for fold in range(4)]
    assert sum(len(p.test) for p in parts) == 48
    assert len(set().union(*(ids(p.test) for p in parts))) == 48


def test_named_groups(corpus):
    made = corpus(group="writer", split={"by": "group", "groups": ["w1", "w3"]})
    assert {d.group for d in made.parts(0).test} == {"w1", "w3"}


def test_a_column_says_the_part(corpus):
    parts = corpus(split={"column": "part"}).parts(5)
    assert [len(p) for p in (parts.train, parts.development, parts.test)] == [24, 12, 12]
    without = corpus(split={"column": "part", "values": {"train": "train", "test": "test"}})
    assert without.parts(0).development is None


def test_files_of_their_own(study_file, data):
    lines = (data / "messages.csv").read_text().splitlines()
    for name, rows in (("a.csv", lines[1:31]), ("b.csv", lines[31:])):
        (data / name).write_text("\n".join([lines[0], *rows]) + "\n")
    table = {"name": "mail", "train": "a.csv", "test": "b.csv"}
    made = load_study(study_file(corpora=[table])).corpora["mail"]
    parts = made.parts(9)
    assert (len(parts.train), parts.development, len(parts.test)) == (30, None, 18)
    assert made.folds is None and not made.per_seed


def test_labels_of_any_number(corpus):
    made = corpus(label="marks", label_separator=";", split={"test": 0.25})
    assert made.task == "multi" and made.labels.ids == ("one", "three", "two")
    bare = corpus(label="marks", label_separator=";", empty_labels="none", split={"test": 0.25})
    kept = corpus(
        label="marks", label_separator=";", empty_labels="none", labelled_none="drop",
        split={"test": 0.25},
    )  # fmt: skip
    empty = sum(not d.labels for d in bare.documents)
    assert empty > 0 and len(kept.documents) == len(bare.documents) - empty


def test_smaller_parts_lie_within_larger_ones(corpus):
    made = corpus(split={"test": 0.25})
    sizes = [ids(made.parts(3, size=n).train) for n in (8, 16, 30)]
    assert [len(s) for s in sizes] == [8, 16, 30]
    assert sizes[0] < sizes[1] < sizes[2] < ids(made.parts(3).train)
    assert ids(made.parts(4, size=8).train) != sizes[0]
    assert made.parts(3, size=8).test == made.parts(3).test


def test_every_beginning_keeps_the_shares_of_the_labels():
    rows = [Document(f"d{i}", "", (("a",) * 6 + ("b",) * 3 + ("c",))[i % 10 : i % 10 + 1])
            for i in range(200)]  # fmt: skip
    order = nested_order(rows, 7)
    assert sorted(order) == list(range(200))
    for n in (10, 50, 100):
        counts = Counter(rows[i].labels[0] for i in order[:n])
        for label, share in (("a", 0.6), ("b", 0.3), ("c", 0.1)):
            assert abs(counts[label] - share * n) <= 1


def test_test_documents_may_have_labels_that_the_label_file_lacks(home, data):
    (data / "two.toml").write_text('[[label]]\nid = "one"\n[[label]]\nid = "two"\n', "utf-8")
    table = {
        "name": "marks",
        "train": "train.csv",
        "test": "test.csv",
        "labels": "two.toml",
        "label": "marks",
        "label_separator": ";",
        "task": "multi",
    }
    lines = (data / "messages.csv").read_text("utf-8").splitlines()
    head, rows = lines[0], lines[1:]
    known = [line for line in rows if not line.endswith("three")]
    (data / "train.csv").write_text("\n".join([head, *known]) + "\n", "utf-8")
    (data / "test.csv").write_text("\n".join([head, *rows[:12]]) + "\n", "utf-8")
    systems = [{"name": "tfidf-logistic"}]
    with pytest.raises(StudyError, match="three"):
        home(corpora=[table], systems=systems)
    made = home("miss", corpora=[{**table, "unknown_labels": "miss"}], systems=systems)
    run_study(made)
    run = runs_of(made, "marks", "tfidf-logistic", None)[0]
    assert run.outcome.width == 3
    assert run.evaluation.metrics["micro_recall"] < 1


def test_annotated_words_are_read_from_the_column_that_is_named(data):
    lines = ["id,text,label,marked"]
    lines += [f'{i},chest pain {i},a,"[[0, 5, ""a""]]"' for i in range(8)]
    (data / "marked.csv").write_text("\n".join(lines) + "\n", "utf-8")
    bare = CorpusTable(file="marked.csv", label="label", split=SplitTable(test=0.25))
    assert all(not d.spans for d in read_corpus(bare, "m", data, None).documents)
    named = bare.model_copy(update={"spans": "marked"})
    found = read_corpus(named, "m", data, None).documents
    assert [(s.start, s.end, s.label) for s in found[0].spans] == [(0, 5, "a")]
