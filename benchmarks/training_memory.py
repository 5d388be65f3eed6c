"""Peak memory of training with many labels.

    python benchmarks/training_memory.py [--labels 1000,70000] [--tokens 700] [--threads 1]

Each figure is of a process of its own: ``plant-bilstm`` with votes (64 wide) learns so many
described labels from sixteen documents of so many words, four a batch, every label in every step,
and says how much memory it ever held (the operating system's own count), before the first step and
in all. Words are those of the bundled corpus. Writes benchmarks/results/training-memory.json and
the page.
"""

import argparse
import json
import random
from pathlib import Path

import torch

from attending.classifier import resolve_recipe
from attending.records import Document
from attending.training.fit import fit
from attending.training.progress import Event
from label_memory import bundled_words, described, gib, in_processes, write_report

RESULT = Path(__file__).parent / "results" / "training-memory.json"
RECIPE = "plant-bilstm"
DOCUMENTS, BATCH, CODES = 16, 4, 5
SETTINGS = {
    "encoder.hidden": 32,
    "windows.max_tokens": 4000,
    "training.epochs": 1,
    "training.batch_size": BATCH,
    "training.precision": "bfloat16",
    "planting.vote": 6.0,
    "planting.held_out": 0.0,
    "planting.ranking_epochs": 1,
}


def child(count: int, tokens: int) -> dict[str, object]:
    """Train with so many labels on documents of so many words; returns what it took."""
    words, draw = bundled_words(), random.Random(0)
    labels = described(count, words, draw)
    texts = [" ".join(draw.choices(words, k=tokens)) for _ in range(DOCUMENTS)]
    rows = [Document(str(k), t, tuple(draw.sample(labels.ids, CODES))) for k, t in enumerate(texts)]
    seen: dict[str, float] = {}

    def listen(event: Event) -> None:
        if event.kind in ("start", "end"):
            seen[event.kind] = gib()
            seen["seconds"] = event.seconds

    recipe = resolve_recipe(RECIPE, None, SETTINGS, "multi")
    fit(recipe, rows, labels, development=(), listener=listen)
    return {
        "labels": count,
        "tokens": tokens,
        "gib_before": round(seen["start"], 3),
        "gib": round(seen["end"], 3),
        "seconds_a_step": round(seen["seconds"] * BATCH / DOCUMENTS, 2),
    }


def main() -> None:
    """Measure in processes of their own, print, and write the figures and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", default="1000,10000,30000,70000")
    parser.add_argument("--tokens", type=int, default=700)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.child:
        print(json.dumps(child(int(given.labels), given.tokens)))
        return
    more = ["--tokens", str(given.tokens), "--threads", str(given.threads)]
    asked = [["--child", "--labels", count, *more] for count in given.labels.split(",")]
    rows = in_processes(__file__, asked)
    write_report(RESULT, rows, recipe=RECIPE, batch=BATCH, threads=given.threads)


if __name__ == "__main__":
    main()
