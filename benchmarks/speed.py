"""Speed of training, as ratios measured in one run.

    python benchmarks/speed.py [--rows 480] [--rounds 3]

Each round trains one epoch on the same rows of the bundled corpus with the same encoder: a plain
transformers Trainer at its defaults (float32, batch of 8, random batches padded to their longest),
then `bert` and `lesa-bert` as their recipes say. Ratios are per round; the median is quoted.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from attending.classifier import resolve_recipe
from attending.data.corpora import load_corpus
from attending.data.labels import load_labels
from attending.parts.sources import bundled_path
from attending.records import Document
from attending.training.fit import fit
from attending.training.progress import Event


def plain(documents: list[Document]) -> float:
    """Return documents a second of a plain Trainer at its defaults, over one epoch."""
    labels = load_labels("portal")
    source = str(bundled_path())
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForSequenceClassification.from_pretrained(source, num_labels=len(labels))
    rows = [
        {
            **tokenizer(d.text, truncation=True, max_length=256),
            "labels": labels.position(d.label or ""),
        }
        for d in documents
    ]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                num_train_epochs=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=not torch.cuda.is_available(),
            ),
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        started = time.monotonic()
        trainer.train()
        return len(rows) / (time.monotonic() - started)


def ours(
    recipe: str, documents: list[Document], settings: Mapping[str, Any] | None = None
) -> float:
    """Return documents a second of a recipe over one epoch, as its own events tell."""
    seconds: list[float] = []

    def listen(event: Event) -> None:
        if event.kind == "end":
            seconds.append(event.seconds)

    settled = resolve_recipe(recipe, None, {"training.epochs": 1, **(settings or {})})
    with tempfile.TemporaryDirectory() as folder:
        fit(
            settled,
            documents,
            load_labels("portal"),
            development=documents[:2],
            run=Path(folder) / "run",
            listener=listen,
        )
    return len(documents) / seconds[0]


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    transformers.utils.logging.set_verbosity_error()
    documents = list(load_corpus("portal").documents[: given.rows])
    systems = {
        "plain Trainer": lambda: plain(documents),
        "bert": lambda: ours("bert", documents),
        "lesa-bert": lambda: ours("lesa-bert", documents),
    }
    rounds = []
    for number in range(given.rounds):
        rates = {name: round(run(), 2) for name, run in systems.items()}
        print(number, rates, flush=True)
        rounds.append(rates)

    def median(top: str, bottom: str) -> float:
        return round(statistics.median(r[top] / r[bottom] for r in rounds), 3)

    report = {
        "documents_a_second": {n: statistics.median(r[n] for r in rounds) for n in systems},
        "lesa-bert over plain Trainer": median("lesa-bert", "plain Trainer"),
        "step time of lesa-bert over bert": median("bert", "lesa-bert"),
        "rows": given.rows,
        "rounds": given.rounds,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
