"""Peak memory of scoring one long document against many labels.

    python benchmarks/label_memory.py [--tokens 4000] [--labels 1000,70000] [--threads 1]

Each figure is of a process of its own, which builds a model with the bundled encoder, predicts one
document of 4,000 tokens and says how much memory it ever held (the operating system's own count).
Weights that training would have made are random, and so are the encodings of labels that training
would have saved: their values change nothing in memory or time. Writes
benchmarks/results/label-memory.json and docs/results/coding-cost.md with its picture.
"""

import argparse
import json
import platform
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from attending.data.corpora import load_corpus
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from label_page import write_page

RESULT = Path(__file__).parent / "results" / "label-memory.json"
RECIPES = ("label-description", "plm-icd", "lame")
"""Labels read from descriptions, learned labels, and attention with many heads and layers."""


def gib() -> float:
    """Return the most memory that this process has held, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def bundled_words() -> list[str]:
    """Return the words of the bundled corpus."""
    return sorted({w for d in load_corpus("portal").documents for w in d.text.lower().split()})


def described(count: int, words: list[str], draw: random.Random) -> LabelSet:
    """Make so many labels, each described by eight words."""
    return LabelSet(
        tuple(Label(f"c{i}", "", " ".join(draw.choices(words, k=8))) for i in range(count))
    )


def in_processes(script: str, asked: Iterable[Sequence[str]]) -> list[dict[str, Any]]:
    """Run a script once for each list of words, which prints one row; print and return the rows."""
    rows = []
    for words in asked:
        command = [sys.executable, script, *words]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(made.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    return rows


def write_report(path: Path, rows: Sequence[dict[str, Any]], **facts: object) -> None:
    """Write rows with what they were measured on, and the page."""
    report = {
        **facts,
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "rows": rows,
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    write_page()


def model_of(name: str, count: int, words: list[str]) -> NeuralModel:
    """Make a model of so many described labels, as if it were trained and loaded."""
    return as_if_loaded(name, described(count, words, random.Random(0)))


def as_if_loaded(name: str, labels: LabelSet) -> NeuralModel:
    """Make a model of described labels as if it were loaded, with random weights."""
    torch.manual_seed(0)
    recipe = Recipe.load(name).with_encoder(None)
    network = Network(recipe, labels)
    network.eval()
    if hasattr(network.label_states, "kept"):
        network.label_states.kept.normal_()
        network.label_states.ready.fill_(True)
    return NeuralModel(recipe, labels, network)


def document_of(model: NeuralModel, tokens: int, words: list[str]) -> Document:
    """Make a document of so many tokens."""
    draw = random.Random(1)
    text = " ".join(draw.choices(words, k=2 * tokens))
    (windowed,) = model.windower([text])
    return Document("long", text[: windowed.offsets[tokens - 1][1]])


def child(name: str, count: int, tokens: int) -> dict[str, object]:
    """Score one document in this process; returns what it took."""
    words = bundled_words()
    model = model_of(name, count, words)
    document = document_of(model, tokens, words)
    before, started = gib(), time.process_time()
    (prediction,) = model.predict([document])
    assert prediction.status == "ok" and prediction.read.tokens == tokens, prediction.read
    return {
        "recipe": name,
        "labels": count,
        "tokens": prediction.read.of,
        "windows": prediction.read.windows,
        "scores_kept": len(prediction.scores),
        "gib_before": round(before, 3),
        "gib": round(gib(), 3),
        "processor_seconds": round(time.process_time() - started, 1),
    }


def main() -> None:
    """Measure in processes of their own, print, and write the figures and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--labels", default="1000,10000,30000,70000")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.child is not None:
        print(json.dumps(child(given.child, int(given.labels), given.tokens)))
        return
    more = ["--tokens", str(given.tokens), "--threads", str(given.threads)]
    asked = [
        ["--child", name, "--labels", count, *more]
        for name in given.recipes.split(",")
        for count in given.labels.split(",")
    ]
    write_report(RESULT, in_processes(__file__, asked), threads=given.threads)


if __name__ == "__main__":
    main()
