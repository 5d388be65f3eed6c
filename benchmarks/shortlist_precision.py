"""Two stages against one for a trained network: what a shortlist loses of the first eight codes.

    python benchmarks/labels.py --data-root DATA
    python benchmarks/shortlist_precision.py --data-root DATA [--documents 125] [--settings K=V ...]

``plant-bilstm`` learns all described ICD-10-CM codes, 98,201, from CodiEsp's training rows in
English, every code in every step; the words that are planted vote, since a network by itself has
not got beyond frequent codes after as many steps as two cores have time for. Then one process
scores its development rows, one by one, with all codes and with lists of several lengths: the same
weights, so that the lists make all the difference. Prints a line for each way as it comes, and one
JSON object at the end.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attending.classifier import resolve_recipe
from attending.data.labels import load_labels
from attending.evaluation.intervals import percentile_interval
from attending.models.neural import NeuralModel
from attending.records import Document, LabelSet
from attending.training.fit import fit
from attending.training.progress import Event
from shortlist import LABELS, SIZES, fitted, rows_of

RECIPE = "plant-bilstm"
SETTINGS: dict[str, Any] = {
    "encoder.hidden": 32,
    "windows.max_tokens": 700,
    "training.epochs": 0.5,
    "training.batch_size": 4,
    "training.precision": "bfloat16",
    "planting.vote": 6.0,
    "planting.held_out": 0.0,
    "planting.ranking_epochs": 10,
}
AT = (5, 8, 15)


def hits(model: NeuralModel, rows: Sequence[Document]) -> tuple[NDArray[np.bool_], float]:
    """Return which of each row's first codes are right, (B, 15), and documents a second."""
    right = np.zeros((len(rows), max(AT)), bool)
    started = time.perf_counter()
    for i, row in enumerate(rows):
        (scored,) = model.scores([row])
        first = np.argsort(-scored.logits, kind="stable")[: max(AT)]
        wanted = {model.labels.position(code) for code in row.labels or ()}
        right[i] = [code in wanted for code in first.tolist()]
    return right, len(rows) / (time.perf_counter() - started)


def difference(two: NDArray[np.bool_], one: NDArray[np.bool_], at: int) -> list[float]:
    """Return the 95 % bootstrap interval of the difference in precision, over documents."""
    each = two[:, :at].mean(axis=1) - one[:, :at].mean(axis=1)
    draws = np.random.default_rng(0).integers(0, len(each), (2000, len(each)))
    interval = percentile_interval(each[draws].mean(axis=1), 0.95)
    assert interval is not None
    return [round(interval.low, 4), round(interval.high, 4)]


def compare(
    model: NeuralModel, train: Sequence[Document], held: Sequence[Document], labels: LabelSet
) -> list[dict[str, Any]]:
    """Score the rows with all codes and with each list."""
    whole, speed = hits(model, held)
    report = []
    for size in (None, *SIZES):
        right, pace = whole, speed
        if size is not None:
            two = NeuralModel(
                model.recipe,
                labels,
                model.network,
                words=model.words,
                index=model.index,
                shortlist=fitted(size, train, labels),
            )
            right, pace = hits(two, held)
        row = {
            "size": size,
            **{f"p_at_{k}": round(float(right[:, :k].mean()), 4) for k in AT},
            "p_at_8_less": difference(right, whole, 8),
            "documents_a_second": round(pace, 2),
            "times": round(pace / speed, 1),
        }
        print(json.dumps(row), flush=True)
        report.append(row)
    return report


def tell(event: Event) -> None:
    """Print how far training is, every 20 steps."""
    if event.kind != "step" or event.step % 20 == 0:
        print(event.kind, event.step, event.total, event.seconds_left, event.metrics, flush=True)


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--settings", nargs="*", default=[])
    parser.add_argument("--documents", type=int, help="score the first so many rows alone")
    parser.add_argument("--run", type=Path, help="checkpoints, so that a stopped training goes on")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    settings = SETTINGS | {k: json.loads(v) for k, v in (s.split("=") for s in given.settings)}
    labels = load_labels(LABELS)
    train, held = (rows_of(given.data_root, part, labels) for part in ("train", "dev"))
    started = time.perf_counter()
    recipe = resolve_recipe(RECIPE, None, settings, "multi")
    trained = fit(recipe, train, labels, seed=0, run=given.run, listener=tell)
    seconds = time.perf_counter() - started
    print(f"trained in {seconds:.0f} s", flush=True)
    assert isinstance(trained.model, NeuralModel)
    rows = compare(trained.model, train, held[: given.documents], labels)
    print(json.dumps({
        "recipe": RECIPE, "settings": settings, "labels": len(labels), "train": len(train),
        "documents": len(held[: given.documents]), "seconds_to_train": round(seconds),
        "threads": given.threads, "torch": torch.__version__, "rows": rows,
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
