"""``attending score``: what it prints, and how it ends."""

import json
import os
from pathlib import Path

import pytest

from .conftest import write_csv


def test_files_become_a_folder(run, linear, files):
    done = run("score", files / "new.csv", files / "messages.csv", "--model", linear, "--out", "o")
    assert done.code == 0, done.err
    assert "54: 54 answered" in done.out and str(Path("o/predictions.jsonl")) in done.out
    rows = [json.loads(line) for line in Path("o/predictions.jsonl").read_text().splitlines()]
    assert [r["file"] for r in rows] == ["new.csv"] * 6 + ["messages.csv"] * 48
    again = run("score", files / "new.csv", files / "messages.csv", "--model", linear, "--out", "o")
    assert again.code == 0 and "was done already" in again.err


def test_machines_get_counts(run, linear, files):
    done = run(
        "score", files / "messages.csv", "--model", linear, "--out", "o", "--json",
        "--where", "writer=w1", "--chunk", "5", "--workers", "1", "--evidence",
    )  # fmt: skip
    assert done.json["rows"] == 12 and sum(done.json["labels"].values()) == 12
    first = json.loads(Path("o/predictions.jsonl").read_text().splitlines()[0])
    assert first["row"] == 2 and first["evidence"]


def test_rows_without_an_answer_are_counted_and_never_shown(run, linear):
    write_csv(
        Path("t.csv"), ("id", "text"), [("1", "chest pain"), ("2", " "), ("3", "a", "MARKER")]
    )
    done = run("score", "t.csv", "--model", linear, "--out", "o")
    assert "3: 1 answered, 1 without text, 1 failed" in done.out
    assert "2 rows, by number in" in done.out
    assert "MARKER" not in done.out + done.err + Path("o/errors.jsonl").read_text()


def test_faults_are_one_line(run, linear, files):
    words = ("--model", linear, "--out", "o")
    assert "no such file" in run("score", "lost.csv", *words).error
    assert "no model folder" in run("score", files / "new.csv", "--model", ".", "--out", "o").error
    assert "no scoring job" in run(
        "score", files / "new.csv", "--model", linear, "--out", linear
    ).error  # fmt: skip
    assert 'no column is called "body"' in run(
        "score", files / "new.csv", *words, "--text", "body"
    ).error  # fmt: skip


def test_ctrl_c_says_how_to_go_on(run, linear, files, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("attending.scoring.run._run", stop)
    done = run("score", files / "new.csv", "--model", linear, "--out", "o")
    assert done.code == 130 and "to go on from there" in done.err


def test_force_keeps_what_is_there_until_the_new_job_can_begin(run, linear, files):
    words = ("--model", linear, "--out", "o")
    assert run("score", files / "new.csv", *words).code == 0
    before = {p.name: p.read_bytes() for p in Path("o").iterdir()}
    write_csv(Path("empty.csv"), ("id", "text"), [])
    for wrong in (("lost.csv",), ("empty.csv",), (files / "new.csv", "--text", "body")):
        assert run("score", *wrong, *words, "--force").code == 2
        assert {p.name: p.read_bytes() for p in Path("o").iterdir()} == before
    again = run("score", files / "messages.csv", *words, "--force")
    assert again.code == 0 and "48 answered" in again.out


def test_evidence_that_a_model_has_not_is_refused_at_once(run, files):
    frequent = ("--recipe", "frequency", "--labels", files / "labels.toml", "--out", "m")
    assert run("train", files / "messages.csv", *frequent).code == 0
    done = run("score", files / "new.csv", "--model", "m", "--out", "o", "--evidence")
    assert done.code == 2 and "it has no evidence" in done.error
    assert not Path("o").exists()


def test_a_name_that_is_no_text_is_spelled_out(run, linear):
    odd = Path(os.fsdecode(b"caf\xe9.csv"))
    try:
        write_csv(odd, ("id", "text"), [("1", "chest pain"), ("2", " ")])
    except OSError:
        pytest.skip("this file system takes no such name")
    done = run("score", odd, "--model", linear, "--out", "o")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in Path("o/predictions.jsonl").read_text().splitlines()]
    assert [r["file"] for r in rows] == ["caf\\xe9.csv"] * 2
    assert json.loads(Path("o/score.json").read_text())["files"] == ["caf\\xe9.csv"]
    again = run("score", odd, "--model", linear, "--out", "o")
    assert again.code == 0 and "was done already" in again.err
