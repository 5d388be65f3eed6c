"""A linear model and files to score with it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from attending.models.store import save_model
from attending.recipe import Recipe
from attending.training.fit import fit


@pytest.fixture(scope="session")
def model(messages: Any, urgency: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a linear model."""
    folder = tmp_path_factory.mktemp("scoring") / "model"
    fitted = fit(Recipe.load("tfidf-logistic"), messages, urgency)
    save_model(fitted.model, folder)
    return folder


@pytest.fixture(scope="session")
def table(messages: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CSV of 480 messages; row 7 has no text, row 12 a cell too many."""
    path = tmp_path_factory.mktemp("scoring") / "many.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "ward"])
        for n in range(1, 481):
            text = "" if n == 7 else messages[n % len(messages)].text
            extra = ["stray"] if n == 12 else []
            writer.writerow([f"m{n}", text, "AB"[n % 2], *extra])
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
