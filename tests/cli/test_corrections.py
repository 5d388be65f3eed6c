"""``corrections export``: rows that train takes as they are."""

import json
import sqlite3
from contextlib import closing

import pytest

from attending.records import Coverage, Prediction
from attending.serve.store import Store


@pytest.fixture
def database(messages, tmp_path):
    """Return the database of an inbox in which half of the messages were corrected."""
    path = tmp_path / "inbox.sqlite"
    store = Store(str(path))
    said = [
        Prediction(d.id, "ok", ("medium",), {"medium": 0.6}, read=Coverage(1, 1, 1))
        for d in messages
    ]
    ids = store.add_messages(messages, said, "test")
    for number, document in list(zip(ids, messages, strict=True))[::2]:
        store.correct(number, document.labels, "ana", "a note")
    store.close()
    return path


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.tsv.gz"])
def test_what_is_exported_trains(run, database, messages, files, name, tmp_path):
    done = run("corrections", "export", "--database", database, "--out", name)
    assert done.code == 0
    assert "24 rows written" in done.err
    assert "handle them as patient data" in done.err
    labels = ["--labels", files / "labels.toml"]
    done = run("train", name, *labels, "--recipe", "tfidf-logistic", "--out", "model")
    assert done.code == 0, done.err
    facts = json.loads((tmp_path / "model" / "attending.json").read_text())
    assert facts["training_rows"] + facts["development_rows"] == 24


def test_columns(run, database, messages, tmp_path):
    url = f"sqlite:///{database}"
    done = run("corrections", "export", "--database", url, "--out", "r.jsonl", "--json")
    assert done.json["rows"] == 24
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(r["id"], r["text"], r["label"]) for r in rows] == [
        (d.id, d.text, d.label) for d in messages[::2]
    ]
    assert done.json["changed"] == sum(r["label"] != "medium" for r in rows)
    assert {(r["predicted"], r["reviewer"], r["reviewer_note"]) for r in rows} == {
        ("medium", "ana", "a note")
    }


def test_since(run, database):
    words = ["corrections", "export", "--database", database, "--out", "r.csv", "--since"]
    assert "no corrections" in run(*words, "2999-01-01").error
    assert "is no date" in run(*words, "yesterday").error
    assert run(*words, "2020-01-01").code == 0
    assert "exists already" in run(*words, "2020-01-01").error
    assert run(*words, "2020-01-01", "--force").code == 0


def test_databases_that_are_not_there(run, tmp_path):
    done = run("corrections", "export", "--database", "nope.db", "--out", "r.csv")
    assert done.code == 2
    assert "no such database" in done.error
    assert not (tmp_path / "nope.db").exists()
    assert not (tmp_path / "r.csv").exists()


def test_a_foreign_database_is_refused_and_left_as_it_is(run, tmp_path):
    path = tmp_path / "foreign.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE pets (name TEXT)")
    (tmp_path / "empty.sqlite").touch()
    for name in ("foreign.sqlite", "empty.sqlite"):
        before = (tmp_path / name).read_bytes()
        done = run("corrections", "export", "--database", name, "--out", "r.csv")
        assert done.code == 2 and "no database of an inbox" in done.error
        assert (tmp_path / name).read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"foreign.sqlite", "empty.sqlite"}


def test_an_open_inbox_is_exported(run, database, tmp_path):
    store = Store(str(database))
    try:
        assert run("corrections", "export", "--database", database, "--out", "r.csv").code == 0
    finally:
        store.close()
