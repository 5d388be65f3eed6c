"""Small studies: 48 messages, linear recipes and a tiny encoder."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from attending.study.folders import StudyFolder
from attending.study.plan import load_study

QUICK = {"training": {"epochs": 1, "batch_size": 8, "precision": "float32"}}


@pytest.fixture
def data(tmp_path: Path, messages: Any) -> Path:
    """Return a folder with messages.csv: id, text, label, writer, part, marks."""
    with (tmp_path / "messages.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label", "writer", "part", "marks"])
        for i, d in enumerate(messages):
            part = ("train", "train", "dev", "test")[i % 4]
            codes = ";".join(["one", "two", "three"][: 1 + i % 3][i % 2 :])
            writer.writerow([d.id, d.text, d.label, f"w{i % 4}", part, codes])
    return tmp_path


@pytest.fixture
def study_file(data: Path) -> Callable[..., Path]:
    """Return a function that writes a study file; its arguments replace the usual tables."""

    def write(*, systems: Any = None, corpora: Any = None, claims: Any = None, **head: Any) -> Path:
        corpus = {"name": "mail", "file": "messages.csv", "split": {"test": 0.25}}
        body = {
            "name": "trial",
            "seeds": [0, 1],
            "rounds": 200,
            "corpus": [corpus] if corpora is None else corpora,
            "system": [{"name": "frequency"}, {"name": "tfidf-logistic"}]
            if systems is None
            else systems,
            **({"claim": claims} if claims else {}),
            **head,
        }
        path = data / "study.toml"
        path.write_text(tomli_w.dumps(body), encoding="utf-8")
        return path

    return write


@pytest.fixture
def home(study_file: Callable[..., Path], tmp_path: Path) -> Callable[..., StudyFolder]:
    """Return a function that loads a study and claims its output folder."""

    def make(out: str = "out", **tables: Any) -> StudyFolder:
        made = StudyFolder(load_study(study_file(**tables)), tmp_path / out)
        made.claim(force=False)
        return made

    return make


@pytest.fixture
def tiny_system(tiny_encoder: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that makes a system of a neural recipe with the tiny encoder."""

    def make(recipe: str, **more: Any) -> dict[str, Any]:
        settings = {**QUICK, **more.pop("settings", {})}
        return {"recipe": recipe, "encoder": str(tiny_encoder), "settings": settings, **more}

    return make
