"""Time and memory of a multi-label evaluation of many documents against many labels.

    python benchmarks/evaluation.py [--documents 50000] [--labels 9000] [--scores 100]
                                    [--resamples 1000] [--objects]

The case is generated: about 15 true labels a document, label frequencies that fall as in coding
(Zipf), the best scores of each document kept. With --objects it goes through Document and
Prediction objects, as a program that reads files does; without, it starts from sparse matrices.
Prints one JSON object; processor seconds don't depend on what else the machine does.
"""

import argparse
import json
import platform
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from scipy.sparse import csr_array

from attending.evaluation.multilabel.metrics import (
    Choices,
    evaluate_multilabel,
    evaluate_multilabel_outcome,
)
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.records import Document, LabelSet, Prediction

TRUE = 15


def generate(documents: int, labels: int, kept: int, seed: int = 0) -> MultiLabelOutcome:
    """Make documents whose true labels are mostly, not always, among their best scores."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / (np.arange(labels) + 10.0)
    cumulative = np.cumsum(weight / weight.sum())

    def draw(size: int) -> np.ndarray:
        return np.minimum(np.searchsorted(cumulative, rng.random(size)), labels - 1)

    number = np.maximum(rng.poisson(TRUE, documents), 1)
    rows = np.repeat(np.arange(documents), number)
    columns = draw(rows.size)
    truth = csr_array((np.ones(rows.size, bool), (rows, columns)), shape=(documents, labels))
    ranked = rng.random(rows.size) < 0.9
    others = np.repeat(np.arange(documents), max(kept - TRUE, 1))
    all_rows = np.concatenate([rows[ranked], others])
    all_columns = np.concatenate([columns[ranked], draw(others.size)])
    strength = np.concatenate(
        [rng.normal(0.5, 1.5, int(ranked.sum())), rng.normal(-3, 1.5, others.size)]
    )
    cells, first = np.unique(all_rows * labels + all_columns, return_index=True)
    scores = csr_array(
        (1 / (1 + np.exp(-strength[first])), (cells // labels, cells % labels)),
        shape=(documents, labels),
    )
    assigned = scores.copy()
    assigned.data = scores.data >= 0.5
    return MultiLabelOutcome.of(truth, assigned, scores)


def as_objects(
    outcome: MultiLabelOutcome, labels: LabelSet
) -> tuple[list[Document], list[Prediction]]:
    """Return the case as documents and predictions."""
    documents, predictions = [], []
    for row, id_ in enumerate(outcome.ids):
        true, given = (
            tuple(labels.ids[k] for k in m.indices[m.indptr[row] : m.indptr[row + 1]])
            for m in (outcome.truth, outcome.assigned)
        )
        span = slice(outcome.scores.indptr[row], outcome.scores.indptr[row + 1])
        kept = outcome.scores.indices[span], outcome.scores.data[span].tolist()
        scores = {labels.ids[k]: v for k, v in zip(*kept, strict=True)}
        documents.append(Document(id_, "", true))
        predictions.append(Prediction(id_, "ok", given, scores))
    return documents, predictions


@contextmanager
def timed(report: dict[str, object], name: str) -> Iterator[None]:
    """Add the processor and wall seconds of a step to the report."""
    wall, own = time.monotonic(), time.process_time()
    yield
    report[name] = {
        "processor_seconds": round(time.process_time() - own, 1),
        "seconds": round(time.monotonic() - wall, 1),
        "peak_gib_so_far": peak(),
    }


def peak() -> float:
    """Return the most memory that this process has held, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 2)


def main() -> None:
    """Generate, evaluate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--labels", type=int, default=9_000)
    parser.add_argument("--scores", type=int, default=100, help="scores kept of a document")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--objects", action="store_true")
    given = parser.parse_args()
    report: dict[str, object] = {**vars(given), "gib_at_start": peak()}
    labels = LabelSet.from_ids([f"c{k}" for k in range(given.labels)])
    with timed(report, "generate"):
        outcome = generate(given.documents, given.labels, given.scores)
    counts: Mapping[str, int] = {
        labels.ids[k]: int(n) for k, n in enumerate(outcome.truth.sum(axis=0) // 3)
    }
    if given.objects:
        with timed(report, "make objects"):
            documents, predictions = as_objects(outcome, labels)
        del outcome
        with timed(report, "evaluate"):
            found = evaluate_multilabel(
                documents, predictions, labels, training_counts=counts, resamples=given.resamples
            )
    else:
        choices = Choices(resamples=given.resamples)
        with timed(report, "evaluate"):
            found = evaluate_multilabel_outcome(outcome, labels, counts, choices)
    with timed(report, "write as JSON"):
        size = len(json.dumps(found.to_dict(), allow_nan=False))
    report |= {
        "json_mib": round(size / 2**20, 1),
        "headline": found.headline,
        "processor": platform.processor() or platform.machine(),
        "numpy": np.__version__,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
