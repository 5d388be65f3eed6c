"""Speed of serving: exported models against the teacher in torch and against a usual pipeline.

    attending train portal --holdout 0.2 --out teacher
    attending distil teacher portal --layers 3 --out student
    attending export student --int8 --rows portal --out exported
    python benchmarks/serving.py teacher exported [--rounds 5] [--threads 1]

    attending train portal --holdout 0.2 --recipe tfidf-logistic --out quick
    attending export teacher --int8 --rows portal --out thorough
    attending cascade quick thorough portal --out both
    python benchmarks/serving.py teacher thorough --cascade both

All answer the messages that were held out of training, one at a time, in turns: each round asks
every system all messages. The exported model, a student or the teacher itself, also gets them all
at once, as under load in a service or in ``score``: it still reads one by one, but every core one
of its own. So does the cascade, where one is given. Ratios are per round; the median is quoted. The
pipeline is transformers' own for text classification on the same encoder as the teacher's,
untrained, since only its speed counts.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnxruntime
import torch
import transformers

from attending.cli.origin import Origin
from attending.data.corpora import load_corpus
from attending.evaluation.metrics import evaluate
from attending.export.runtime import THREADS
from attending.models.base import Model
from attending.models.store import load_model
from attending.parts.sources import bundled_path
from attending.records import Document

TEACHER, EXPORTED, PIPELINE = "teacher in torch", "exported model", "transformers pipeline"
TOGETHER = "exported model, a message on each core"
CASCADE, CASCADE_TOGETHER = "cascade", "cascade, a message on each core"
_WARM = 20
_MOST_TOKENS = 256

Ask = Callable[[Document], Any]


def pipeline(labels: int) -> Ask:
    """Return transformers' pipeline on the bundled encoder."""
    source = str(bundled_path())
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        source, num_labels=labels
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    made = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    return lambda d: made(d.text, truncation=True, max_length=_MOST_TOKENS)


def one_by_one(model: Model) -> Ask:
    """Return a function that predicts a single message."""
    return lambda d: model.predict([d])


def at_once(model: Model, documents: Sequence[Document]) -> float:
    """Return messages a second of a model that is given all of them."""
    started = time.perf_counter()
    model.predict(documents)
    return len(documents) / (time.perf_counter() - started)


def rate(ask: Ask, documents: Sequence[Document]) -> float:
    """Return messages a second."""
    started = time.perf_counter()
    for document in documents:
        ask(document)
    return len(documents) / (time.perf_counter() - started)


def macro_f1(model: Model, documents: Sequence[Document]) -> float:
    """Return macro-F1 on the messages."""
    found = evaluate(documents, model.predict(documents), model.labels, resamples=0)
    return round(float(found.metrics["macro_f1"] or 0.0), 4)


def held_out(folder: Path) -> list[Document]:
    """Return the messages that were held out of a model's training."""
    origin = Origin.read(folder)
    if origin is None or origin.holdout is None or origin.file != "portal":
        raise SystemExit(f"{folder}: train it with: attending train portal --holdout 0.2")
    return list(load_corpus("portal").subset(origin.holdout.positions).documents)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("exported", type=Path)
    parser.add_argument("--cascade", type=Path, help="a quick model, then the teacher's export")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    os.environ[THREADS] = str(given.threads)
    transformers.utils.logging.set_verbosity_error()
    documents = held_out(given.teacher)
    teacher, exported = load_model(given.teacher), load_model(given.exported)
    systems = {
        TEACHER: one_by_one(teacher),
        PIPELINE: pipeline(len(teacher.labels)),
        EXPORTED: one_by_one(exported),
    }
    together = {TOGETHER: exported}
    if given.cascade is not None:
        together[CASCADE_TOGETHER] = load_model(given.cascade)
        systems[CASCADE] = one_by_one(together[CASCADE_TOGETHER])
    for ask in systems.values():
        rate(ask, documents[:_WARM])
    for model in together.values():
        model.predict(documents[:_WARM])
    rounds = []
    for number in range(given.rounds):
        rates = {name: round(rate(ask, documents), 1) for name, ask in systems.items()}
        rates |= {name: round(at_once(model, documents), 1) for name, model in together.items()}
        print(number, rates, flush=True)
        rounds.append(rates)

    def median(top: str, bottom: str) -> float:
        return round(statistics.median(r[top] / r[bottom] for r in rounds), 2)

    report = {
        "messages_a_second": {n: statistics.median(r[n] for r in rounds) for n in rounds[0]},
        **{
            f"{top} over {bottom}": median(top, bottom)
            for top in rounds[0]
            if top not in (TEACHER, PIPELINE)
            for bottom in (TEACHER, PIPELINE)
        },
        "macro_f1": {
            name: macro_f1(model, documents)
            for name, model in {TEACHER: teacher, **together}.items()
        },
        "messages": len(documents),
        "rounds": given.rounds,
        "threads": given.threads,
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "onnxruntime": onnxruntime.__version__,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
