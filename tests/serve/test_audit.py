"""The audit: append-only, chained, and on disk before anyone is answered."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attending.errors import ServeError
from attending.serve.audit import FIRST, Audit, entries, verify


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "audit.jsonl"


@pytest.fixture
def written(path):
    """Write four lines and return the file."""
    audit = Audit(path)
    audit.record("start", "service")
    audit.record("score", "record-system", ["m1", "m2"], request="r1", model="tiny abc")
    audit.record("correct", "nurse", [7], label="urgent", note=None)
    audit.record("stop", "service")
    audit.close()
    return path


def test_a_line_says_who_did_what_to_which_and_is_chained_to_the_last(written):
    lines = list(entries(written))
    assert [x["line"] for x in lines] == [1, 2, 3, 4]
    assert lines[0]["before"] == FIRST
    about = {k: v for k, v in lines[1].items() if k not in ("at", "before")}
    assert about == {
        "line": 2, "action": "score", "who": "record-system", "ids": ["m1", "m2"], "count": 2,
        "request": "r1", "model": "tiny abc",
    }  # fmt: skip
    assert lines[2]["ids"] == ["7"]
    assert "note" not in lines[2]
    assert lines[1]["at"].endswith("+00:00")
    assert verify(written).lines == 4


def test_it_goes_on_where_it_stood(written):
    head = verify(written)
    audit = Audit(written)
    assert audit.head == head
    audit.record("start", "service")
    audit.close()
    assert verify(written, str(head)).lines == 5


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_changed_within_is_found(written, data):
    """Any byte of any line but the last, any line taken out, doubled or moved."""
    body = written.read_bytes()
    lines = body.splitlines(keepends=True)
    kind = data.draw(st.sampled_from(["byte", "gone", "double", "swap"]))
    if kind == "byte":
        place = data.draw(st.integers(0, len(b"".join(lines[:3])) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda b: b != body[place]))
        changed = body[:place] + bytes([byte]) + body[place + 1 :]
    else:
        i = data.draw(st.integers(0, 2))
        changed = b"".join(
            {
                "gone": lines[:i] + lines[i + 1 :],
                "double": lines[: i + 1] + lines[i:],
                "swap": [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]],
            }[kind]
        )
    other = written.with_name("changed.jsonl")
    other.write_bytes(changed)
    with pytest.raises(ServeError, match="chain is broken"):
        verify(other)


def test_a_tail_that_was_cut_off_is_found_by_a_head_that_was_kept(written):
    head = str(verify(written))
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join(lines[:2]))
    assert verify(written).lines == 2
    with pytest.raises(ServeError, match="does not contain the head"):
        verify(written, head)
    with pytest.raises(ServeError, match="no head of an audit"):
        verify(written, "3:abc")


def test_a_line_that_a_crash_left_unfinished_is_cut_off_and_told(written):
    whole = written.read_bytes()
    written.write_bytes(whole + b'{"line": 5, "at": "2026')
    assert verify(written).lines == 4
    Audit(written).close()
    assert written.read_bytes().startswith(whole)
    last = list(entries(written))[-1]
    assert (last["action"], last["bytes"]) == ("recover", 23)
    assert verify(written).lines == 5


def test_long_lines_at_the_end_are_read(path):
    audit = Audit(path)
    audit.record("score", "a", [f"message-{i}" for i in range(9_000)])
    audit.record("score", "a", [f"message-{i}" for i in range(12_000)])
    audit.close()
    assert Audit(path).head == verify(path)
    assert list(entries(path))[-1]["count"] == 12_000


def test_two_services_never_write_one_file(path):
    audit = Audit(path)
    with pytest.raises(ServeError, match="open in another service"):
        Audit(path)
    audit.close()
    Audit(path).close()


def test_a_last_line_that_is_no_line_is_refused(written):
    written.write_bytes(written.read_bytes() + b"gibberish\n")
    with pytest.raises(ServeError, match="last line"):
        Audit(written)


def test_threads_write_one_chain(path):
    audit = Audit(path)
    threads = [
        threading.Thread(target=lambda n=n: [audit.record("score", "a", [n]) for _ in range(20)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit.close()
    assert verify(path).lines == 160


def test_a_full_disk_leaves_a_whole_chain(path, monkeypatch):
    audit = Audit(path)
    audit.record("start", "service")
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(ServeError, match="can't be written"):
        audit.record("score", "a", ["m1"])
    monkeypatch.undo()
    audit.record("score", "a", ["m2"])
    audit.close()
    assert [x["ids"] for x in entries(path)] == [[], ["m2"]]
    assert verify(path).lines == 2


def test_killing_the_process_loses_nothing_that_was_told(path):
    """A process says each number once it is recorded, and is killed in the middle."""
    code = (
        "import sys; from attending.serve.audit import Audit\n"
        f"audit = Audit({str(path)!r})\n"
        "for n in range(10**6):\n"
        "    audit.record('score', 'a', [n])\n"
        "    sys.stdout.write(f'{n}\\n'); sys.stdout.flush()\n"
    )
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    told = [int(running.stdout.readline()) for _ in range(40)]
    running.send_signal(signal.SIGKILL)
    told += [int(line) for line in running.stdout if line.endswith("\n")]
    running.wait()
    Audit(path).close()
    kept = [int(x["ids"][0]) for x in entries(path) if x["action"] == "score"]
    assert kept[: len(told)] == told
    assert verify(path).lines >= len(told)


def test_lines_are_plain_json_whatever_the_ids(path):
    audit = Audit(path)
    audit.record("read", "ü\udc80", ["a\nb", "\udfff", 3])
    audit.close()
    assert verify(path).lines == 1
    assert json.loads(path.read_text(encoding="ascii"))["ids"] == ["a\nb", "\udfff", "3"]
