"""Run the command line in this process or in one of its own, on small files."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from attending.cli.app import app

QUICK = (
    "--set", "training.epochs=1", "--set", "training.batch_size=8",
    "--set", "training.precision=float32",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How a run ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line of error; there must be exactly one, and it must be the last."""
        lines = self.err.splitlines()
        assert [line.startswith("error: ") for line in lines].count(True) == 1, self.err
        assert lines[-1].startswith("error: "), self.err
        return lines[-1].removeprefix("error: ")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Return a function that runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_here


def run_here(*words: object, stdin: bytes | str | None = None) -> Outcome:
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that runs the command line in a process of its own."""

    def start(*words: object, stdin: bytes | None = None, **variables: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "attending", *map(str, words)],
            cwd=tmp_path, env=os.environ | variables, input=stdin, capture_output=True, timeout=120,
        )  # fmt: skip
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return start


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, messages: Any, urgency: Any) -> Path:
    """Return a folder with messages.csv (48 rows), new.csv (no labels) and labels.toml."""
    from attending.data.labels import write_labels

    folder = tmp_path_factory.mktemp("files")
    rows = [(d.id, d.text, d.label, f"w{i % 4}") for i, d in enumerate(messages)]
    write_csv(folder / "messages.csv", ("id", "text", "label", "writer"), rows)
    write_csv(folder / "new.csv", ("id", "text"), [row[:2] for row in rows[:6]])
    write_labels(urgency, folder / "labels.toml")
    return folder


def write_csv(path: Path, head: tuple[str, ...], rows: Any) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="session")
def linear(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a linear model, with a quarter of messages.csv held out."""
    folder = tmp_path_factory.mktemp("models") / "linear"
    done = run_here(
        "train", files / "messages.csv", "--labels", files / "labels.toml",
        "--recipe", "tfidf-logistic", "--holdout", "0.25", "--out", folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="session")
def neural(files: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny lesa-bert, with a quarter of messages.csv held out."""
    folder = tmp_path_factory.mktemp("models") / "neural"
    done = run_here(
        "train", files / "messages.csv", "--labels", files / "labels.toml", *QUICK,
        "--encoder", tiny_encoder, "--holdout", "0.25", "--out", folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="session")
def corpora(annotated: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same spans as BRAT, CoNLL and JSON, and texts without any."""
    from attending.data.spans.formats import write_spans

    forms: dict[str, Any] = {"notes": "brat", "notes.conll": "conll", "notes.jsonl": "jsonl"}
    folder = tmp_path_factory.mktemp("corpora")
    for name, form in forms.items():
        write_spans(annotated, folder / name, form)
    rows = [{"id": d.id, "text": d.text} for d in annotated[:3]] + [{"id": "blank", "text": " "}]
    (folder / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_bytes("fever\r\nand \u00a0cough caf\u0065\u0301".encode())
    return folder


@pytest.fixture(scope="session")
def tagger(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tagger, with three of the ten documents held out."""
    pytest.importorskip("pycrfsuite")
    folder = tmp_path_factory.mktemp("taggers") / "crf"
    done = run_here("train", corpora / "notes", "--recipe", "features-ner", "--holdout", "0.3",
                    "--out", folder)  # fmt: skip
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Return a function that copies a folder to where it may be changed."""
    return lambda folder: Path(shutil.copytree(folder, tmp_path / f"copy-of-{folder.name}"))
