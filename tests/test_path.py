"""The page that leads from messages to an inbox and back, run as a newcomer would.

Every command of the page runs in turn, with a tiny encoder in place of the bundled one. The service
listens on a Unix socket, since tests have no network, and is asked what ``curl`` would ask it.
"""

import http.client
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

import attending as package
from attending.cli.app import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "path.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line[2:]) for line in PAGE.splitlines() if line.startswith("$ ")]


TELLTALE = {"urgent": "chest pain", "medium": "new rash", "non-urgent": "refill please"}
"""So that a tiny encoder can be sure, and rounding turns none of its decisions."""


def test_the_page_shows_the_whole_way():
    verbs = [words[1] for words in COMMANDS if words[0] == "attending"]
    assert verbs == [
        "train", "evaluate", "distil", "evaluate", "export", "serve", "corrections", "train",
        "evaluate", "audit",
    ]  # fmt: skip
    assert [words[0] for words in COMMANDS].count("curl") == 2


def attending(words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{words}: {done.stderr}"


class Served:
    """A service on a Unix socket."""

    def __init__(self, words, at):
        self.at = at
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attending", *words, "--socket", at, "--quiet"],
            stderr=subprocess.PIPE, env=os.environ,
        )  # fmt: skip

    def ask(self, words):
        """Send what a curl command would."""
        address = urlsplit(words[1])
        assert address.netloc == "127.0.0.1:8000"
        until = time.monotonic() + 90
        while True:
            connection = http.client.HTTPConnection("localhost", timeout=90)
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.sock.connect(self.at)
            except OSError:
                assert self.process.poll() is None, self.process.stderr.read().decode()
                assert time.monotonic() < until
                time.sleep(0.05)
                continue
            header = dict([words[words.index("-H") + 1].split(": ")])
            connection.request("POST", address.path, words[words.index("-d") + 1], header)
            answer = connection.getresponse()
            body = json.loads(answer.read())
            connection.close()
            assert answer.status in (200, 201), body
            return body

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.process.stderr.read().decode()
        self.process.stderr.close()


@pytest.mark.slow
def test_a_newcomer_gets_from_messages_to_an_inbox_and_back(
    tmp_path, tiny_encoder, portal_rows, monkeypatch
):
    pytest.importorskip("fastapi")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attending.parts.sources.bundled_path", lambda: tiny_encoder)
    by_label = {}
    for row in portal_rows:
        by_label.setdefault(row["label"], []).append(row)
    kept = ("id", "text", "label")
    rows = [{k: row[k] for k in kept} for same in by_label.values() for row in same[:40]]
    for i, row in enumerate(rows):
        row["text"] = f"{i} {' '.join([TELLTALE[row['label']]] * 6)}"
    (tmp_path / "messages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    attending(["data", "convert", "messages.jsonl", "messages.csv"])
    shutil.copy(Path(package.__file__).parent / "data" / "portal" / "labels.toml", tmp_path)

    served, answers = None, []
    for words in COMMANDS:
        if words[0] == "curl":
            answers.append(served.ask(words))
        elif words[1] == "serve":
            served = Served(words[1:], str(tmp_path / "s"))
        else:
            if words[1] == "audit":
                served.stop()
            attending(words[1:])

    came_in, corrected = answers
    assert [p["status"] for p in came_in["predictions"]] == ["ok", "ok"]
    assert all(p["evidence"] for p in came_in["predictions"])
    assert corrected["labels"] == ["non-urgent"] and corrected["message"] == 2
    reviewed = [json.loads(line) for line in Path("reviewed.jsonl").read_text().splitlines()]
    assert [(row["id"], row["label"]) for row in reviewed] == [("m2", "non-urgent")]
    data = json.loads(Path("teacher-2/data.json").read_text())
    assert [more["documents"] for more in data["also"]] == [1]
    before, after = (json.loads(Path(f"{m}/data.json").read_text()) for m in ("teacher", "student"))
    assert before["holdout"] == after["holdout"] == data["holdout"]
    for report in ("teacher-report", "student-report", "teacher-2-report"):
        assert (tmp_path / report / "report.html").is_file()
    assert not (tmp_path / "small" / "model.safetensors").exists()
