"""Two stages against one: speed at 98,000 codes, and what a shortlist loses.

    python benchmarks/labels.py --data-root DATA
    python benchmarks/shortlist.py --data-root DATA [--recipe lame] [--documents 4] [--threads 1]

Real documents and all described ICD-10-CM codes: CodiEsp's training rows fit the first stage, its
development rows are scored. Time is that of a network with the bundled encoder whose weights are
random, as if it were loaded: values change nothing there. One run asks both ways about the same
documents; all labels are asked first and last. What a list loses is counted on all development
rows: codes that annotators gave and that are not on it, apart for codes that training rows have.
Prints one JSON object.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from attending.data.corpora import load_corpus
from attending.data.labels import load_labels
from attending.models.neural import NeuralModel
from attending.parts.shortlist import Shortlist
from attending.records import Document, LabelSet
from attending.specs import WordShortlist
from label_memory import as_if_loaded

CORPUS = "codiesp/codiesp.jsonl.gz"
LABELS = Path(__file__).parent / "labels" / "built" / "codiesp-all.jsonl"
SIZES = (100, 200, 500, 1000, 2000)


def rows_of(root: Path, part: str, labels: LabelSet) -> list[Document]:
    """Return the documents of a part, with their codes that are in the label set."""
    found = load_corpus(root / CORPUS, text="text_en_mt", label="codes_D", where={"split": part})
    known = set(labels.ids)
    return [replace(d, labels=tuple(i for i in d.labels or () if i in known)) for d in found]


def fitted(size: int, train: Sequence[Document], labels: LabelSet) -> Shortlist:
    """Fit a first stage; a fifth of each list, 100 labels at most, is the most frequent labels."""
    return Shortlist.fit(WordShortlist(size=size, common=min(100, size // 5)), train, labels)


def kept(
    picked: NDArray[np.int64], rows: Sequence[Document], labels: LabelSet, seen: frozenset[str]
) -> dict[str, float]:
    """Return which share of the given codes is on the lists."""
    pairs = [
        (code in seen, labels.position(code) in own)
        for row, own in zip(rows, map(frozenset, picked.tolist()), strict=True)
        for code in row.labels or ()
    ]
    return {
        "of_all": round(statistics.mean(found for _, found in pairs), 4),
        "of_seen": round(statistics.mean(found for was, found in pairs if was), 4),
        "of_unseen": round(statistics.mean(found for was, found in pairs if not was), 4),
    }


def speed(model: NeuralModel, rows: Sequence[Document]) -> float:
    """Return documents a second, one by one."""
    started = time.perf_counter()
    for row in rows:
        model.scores([row])
    return len(rows) / (time.perf_counter() - started)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--recipe", default="lame")
    parser.add_argument("--documents", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    labels = load_labels(LABELS)
    train, held = (rows_of(given.data_root, part, labels) for part in ("train", "dev"))
    seen = frozenset(code for row in train for code in row.labels or ())
    whole = as_if_loaded(given.recipe, labels)
    asked = held[: given.documents]
    full = [speed(whole, asked)]
    report = []
    for size in SIZES:
        started = time.perf_counter()
        first = fitted(size, train, labels)
        fitting = time.perf_counter() - started
        started = time.perf_counter()
        picked = first.pick(held)
        picking = (time.perf_counter() - started) / len(held)
        two = NeuralModel(whole.recipe, labels, whole.network, shortlist=first)
        speed(two, asked[:1])
        row = {
            "size": size,
            **kept(picked, held, labels, seen),
            "seconds_to_fit": round(fitting, 1),
            "milliseconds_to_pick": round(1000 * picking, 1),
            "documents_a_second": round(speed(two, asked), 2),
        }
        print(json.dumps(row), flush=True)
        report.append(row)
    full.append(speed(whole, asked))
    for row in report:
        row["times"] = round(float(row["documents_a_second"]) / statistics.mean(full), 1)
    lengths = [w.length for w in whole.windower([d.text for d in asked])]
    print(json.dumps({
        "recipe": given.recipe, "labels": len(labels), "tokens": lengths, "threads": given.threads,
        "processor": platform.processor() or platform.machine(), "torch": torch.__version__,
        "documents_a_second_of_all_labels": [round(x, 3) for x in full], "rows": report,
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
