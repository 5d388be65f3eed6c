"""The store: order, corrections, undo, retention; on every kind of database."""

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, inspect, text

from attending.errors import DataError
from attending.records import Coverage, Document, Evidence, Prediction, Unreadable
from attending.serve import tables
from attending.serve.entries import Filters
from attending.serve.store import Store

ORDER = ("urgent", "medium", "non-urgent")
NOW = datetime.now(UTC)


def answer(row, label, sure=0.9, **more):
    return Prediction(
        row.id, "ok", (label,), {label: sure}, read=Coverage(3, 3, 1),
        evidence=(Evidence(0, 2, 0.5, label, "test"),), **more,
    )  # fmt: skip


def fill(store, *rows):
    """Store (id, label, hours ago) and return the ids of the messages."""
    documents = [Document(i, f"text of {i}", when=NOW - timedelta(hours=h)) for i, _, h in rows]
    answers = [answer(d, x[1]) for d, x in zip(documents, rows, strict=True)]
    return store.add_messages(documents, answers, "test")


def seen(store, **filters):
    return [e.row.id for e in store.inbox(Filters(order=ORDER, **filters)).entries]


def test_urgency_comes_first_then_age(store):
    fill(store, ("a", "non-urgent", 9), ("b", "urgent", 1), ("c", "urgent", 5), ("d", "medium", 2))
    assert seen(store) == ["c", "b", "d", "a"]


def test_what_a_person_has_to_read_is_on_top_whatever_its_age(store, case):
    fill(store, ("a", "urgent", 9))
    part = Document("part", "long")
    flagged = Document("flag", "x", attributes={"fhir_unread": ["attachment_missing"]})
    rows = [Unreadable("bad", "6 cells, expected 5"), Document("blank", " "), Document("un", "?"),
            part, flagged]  # fmt: skip
    answers = [
        Prediction("bad", "failed", reason="6 cells, expected 5"),
        Prediction("blank", "empty_text", reason="empty_text"),
        Prediction("un", "ok", (), {"urgent": 0.4}, abstained=True, read=Coverage(1, 1, 1)),
        Prediction("part", "ok", ("non-urgent",), {"non-urgent": 0.9}, read=Coverage(2, 9, 1)),
        answer(flagged, "non-urgent"),
    ]
    store.add_messages(rows, answers, "test")
    assert seen(store)[-1] == "a"
    page = store.inbox(Filters(order=ORDER))
    assert page.counts == {None: 5, "urgent": 1}
    assert [e.standing for e in page.entries] == [None] * 5 + ["urgent"]
    assert seen(store, person=True) == [e.row.id for e in page.entries[:5]]


def test_nothing_that_goes_in_is_lost(store):
    row = Document(
        "d-1", "Chest pain \U0001f600\n\u202eat noon", group="Patient/1",
        when=datetime(2024, 3, 11, 7, 30), attributes={"age": 71, "codes": ["a", "\0\ud800"]},
    )  # fmt: skip
    said = answer(row, "urgent", reason="odd")
    (number,) = store.add_messages([row], [said], "api", model="tiny abc")
    entry = store.message(number)
    assert (entry.row, entry.prediction, entry.model) == (row, said, "tiny abc")


@pytest.mark.parametrize("odd", ["a\0b", "half \ud83d"])
def test_a_text_that_no_database_holds_goes_to_a_person(store, odd):
    row = Document(odd, odd)
    (number,) = store.add_messages([row], [answer(row, "non-urgent")], "api")
    entry = store.message(number)
    assert isinstance(entry.row, Unreadable)
    assert (entry.standing, entry.reading) == (None, "not-read")


def test_a_message_is_not_kept_twice(store):
    first = fill(store, ("a", "urgent", 1), ("b", "medium", 2))
    assert fill(store, ("b", "medium", 2), ("a", "urgent", 1)) == first[::-1]
    changed = Document("a", "another text", when=NOW - timedelta(hours=1))
    assert store.add_messages([changed], [answer(changed, "urgent")], "x")[0] not in first


def test_rows_named_by_their_place_are_all_kept(store):
    same = [Document("row-1", "thanks")]
    one = store.add_messages(same, [answer(same[0], "non-urgent")], "x")
    assert store.add_messages(same, [answer(same[0], "non-urgent")], "x") != one


def test_a_correction_moves_a_message_and_is_a_training_row(store):
    a, b = fill(store, ("a", "non-urgent", 9), ("b", "medium", 1))
    assert store.correct(a, "urgent", "ana", "says so at the end")
    assert seen(store) == ["a", "b"]
    assert store.correct(b, "medium", "ben")
    rows = store.corrections()
    assert [(r.document.id, r.document.labels, r.predicted) for r in rows] == [
        ("a", ("urgent",), ("non-urgent",)), ("b", ("medium",), ("medium",)),
    ]  # fmt: skip
    assert rows[0].change.reviewer == "ana"
    assert rows[0].change.note == "says so at the end"
    assert not store.correct(999, "urgent", "ana")
    assert store.corrections(datetime.now(UTC) + timedelta(seconds=5)) == []


def test_undo_takes_back_step_by_step(store):
    (a,) = fill(store, ("a", "non-urgent", 9))
    store.correct(a, "urgent", "ana")
    store.correct(a, "medium", "ben")
    store.finish(a, "ben")
    assert seen(store) == []
    assert seen(store, state="done") == ["a"]
    assert [store.undo(a, "ana") for _ in range(4)] == ["finish", "correct", "correct", None]
    entry = store.message(a)
    assert entry.labels == ("non-urgent",)
    assert (entry.standing, entry.correction) == ("non-urgent", None)
    assert [c.withdrawn for c in entry.history] == ["ana", "ana"]
    assert store.corrections() == []


def test_after_undo_an_unreadable_message_is_on_top_again(store):
    row = Unreadable("bad", "no text")
    (number,) = store.add_messages([row], [Prediction("bad", "failed", reason="no text")], "x")
    store.correct(number, "medium", "ana")
    assert store.message(number).standing == "medium"
    assert store.corrections() == []  # there is no text to train on
    store.undo(number, "ana")
    assert store.message(number).standing is None


def test_no_label_applies(store):
    (a,) = fill(store, ("a", "urgent", 1))
    store.correct(a, (), "ana")
    assert store.message(a).labels == ()
    assert store.inbox(Filters(order=ORDER)).counts == {"": 1}


def test_filters_and_search(store):
    rows = [Document("p1", "Chest PAIN 100%", group="Anna_B"), Document("p2", "thanks")]
    store.add_messages(rows, [answer(rows[0], "urgent"), answer(rows[1], "medium", 0.6)], "x")
    assert seen(store, search="pain chest") == ["p1"]
    assert seen(store, search="ANNA_") == ["p1"]
    assert seen(store, search="0%") == ["p1"]
    assert seen(store, search="%%") == []
    assert seen(store, search="p2") == ["p2"]
    assert seen(store, search="'; DROP TABLE messages; --") == []
    assert seen(store, unsure=True) == ["p2"]
    assert seen(store, label="medium") == ["p2"]
    assert store.inbox(Filters(label="medium", order=ORDER)).counts == {"urgent": 1, "medium": 1}


def test_pages(store):
    fill(store, *((f"m{i}", "medium", i) for i in range(7)))
    found = [seen(store, page=n, size=3) for n in (1, 2, 3, 9)]
    assert found[0] + found[1] + found[2] == [f"m{i}" for i in range(6, -1, -1)]
    assert found[3] == found[2]
    assert store.inbox(Filters(size=3)).pages == 3


def test_messages_expire_with_all_that_is_known_of_them(store, url):
    a, b = fill(store, ("a", "urgent", 1), ("b", "medium", 1))
    store.correct(a, "medium", "ana")
    assert store.expire(NOW - timedelta(days=1)) == []
    assert store.expire(datetime.now(UTC) + timedelta(seconds=1)) == [a, b]
    assert store.inbox().total == 0
    assert store.corrections() == []
    assert store.message(a) is None
    again = fill(store, ("a", "urgent", 1))
    assert again[0] > b  # an id in the audit never means another message


def test_everything_is_told_to_the_audit_without_text(store, audit):
    a, b = fill(store, ("a", "urgent", 1), ("b", "medium", 1))
    store.inbox(who="ana")
    store.message(a, who="ana")
    store.correct(a, "medium", "ben")
    store.finish(a, "ben")
    store.undo(a, "ben")
    store.corrections(who="cli")
    store.expire(datetime.now(UTC) + timedelta(seconds=1), who="retention")
    assert audit.lines == [
        ("store", "local", (a, b)), ("list", "ana", (a, b)), ("read", "ana", (a,)),
        ("correct", "ben", (a,)), ("finish", "ben", (a,)), ("undo-finish", "ben", (a,)),
        ("export", "cli", (a,)), ("expire", "retention", (a, b)),
    ]  # fmt: skip


def test_what_can_not_be_recorded_is_not_done(store, audit, monkeypatch):
    (a,) = fill(store, ("a", "urgent", 1))

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(audit, "record", full)
    for act in (lambda: store.correct(a, "medium", "x"), lambda: store.finish(a, "x"),
                lambda: fill(store, ("b", "medium", 1)),
                lambda: store.expire(datetime.now(UTC) + timedelta(days=1))):  # fmt: skip
        with pytest.raises(OSError, match="no space"):
            act()
    monkeypatch.undo()
    assert seen(store) == ["a"]
    entry = store.message(a)
    assert (entry.correction, entry.done_at) == (None, None)


def test_many_reviewers_at_once(store, url):
    ids = fill(store, *((f"m{i}", "medium", i) for i in range(4)))
    failures = []

    def work(name):
        try:
            for number in ids:
                store.correct(number, "urgent", name)
                store.inbox()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"r{i}",)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures
    assert [len(store.message(n).history) for n in ids] == [6] * 4


def test_the_steps_make_the_tables_that_the_code_uses(store, url):
    plain = url if "://" in url else f"sqlite:///{url}"
    engine = create_engine(plain.replace("postgresql:", "postgresql+psycopg:"))
    found = inspect(engine)
    for table in tables.METADATA.tables.values():
        columns = {c["name"]: c["nullable"] for c in found.get_columns(table.name)}
        assert columns == {c.name: c.nullable for c in table.columns}
        assert {i["name"] for i in found.get_indexes(table.name)} >= {i.name for i in table.indexes}
    assert len(tables.METADATA.tables) == 4
    engine.dispose()
    Store(url).close()  # a second time changes nothing


def test_a_newer_database_is_refused(store, url):
    plain = url if "://" in url else f"sqlite:///{url}"
    engine = create_engine(plain.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(DataError, match="not newer"):
        Store(url)


@pytest.mark.parametrize(
    "url, said",
    [
        ("", "no database was named"),
        ("mysql://ana:secret@host/x", "kind of database"),
        ("postgresql://ana:secret@host:port/x", "can't be read"),
        ("postgresql://ana:secret@/x?host=/nowhere-at-all", "can't be opened"),
        ("sqlite://", "in memory"),
        ("/nowhere/at/all/x.db", "folder does not exist"),
    ],
)
def test_urls_that_lead_nowhere(url, said):
    if url.endswith("nowhere-at-all"):
        pytest.importorskip("psycopg")
    with pytest.raises(DataError) as caught:
        Store(url)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "x.db").write_text("id,text\n1,hello\n" * 50)
    with pytest.raises(DataError, match="can't be opened"):
        Store(str(tmp_path / "x.db"))
    with pytest.raises(DataError, match="no such database"):
        Store(str(tmp_path / "y.db"), create=False)
    assert not (tmp_path / "y.db").exists()


def test_the_file_is_for_its_owner_and_forgets_what_is_deleted(tmp_path):
    path = tmp_path / "inbox.sqlite"
    store = Store(str(path))
    secret = "zebrafish-" + "q" * 40
    row = Document("a", secret)
    store.add_messages([row], [answer(row, "urgent")], "x")
    assert path.stat().st_mode & 0o077 == 0
    store.expire(datetime.now(UTC) + timedelta(seconds=1))
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes(), file.name
    store.close()


_KILLED = """
import os, signal, sys
from attending.serve.store import Store
store = Store(sys.argv[1])
for number in range(1, 100):
    store.correct(number, "urgent", "ana")
    print(number, flush=True)
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_no_correction(tmp_path):
    path = str(tmp_path / "inbox.sqlite")
    store = Store(path)
    fill(store, *((f"m{i}", "medium", i) for i in range(8)))
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, path], capture_output=True, env=os.environ, timeout=60
    )
    assert done.returncode == -9
    told = [json.loads(line) for line in done.stdout.split()]
    store = Store(path)
    assert len(store.corrections()) == len(told) == 5
    store.close()


def test_a_database_of_something_else_gets_no_tables(tmp_path):
    path = tmp_path / "pets.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE pets (name TEXT)"))
    engine.dispose()
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"no database of an inbox \(found 1 tables"):
        Store(str(path))
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == [path.name]
    (tmp_path / "new.sqlite").touch()  # an empty file is as good as none
    Store(str(tmp_path / "new.sqlite")).close()
