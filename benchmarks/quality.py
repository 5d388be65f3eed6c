"""Quality of every recipe over seeds, on fixed splits; the pages under docs/results come from here.

    python benchmarks/quality.py run portal            # trains what is missing, one line a cell
    python benchmarks/quality.py run disease5 --data-root DIR
    python benchmarks/quality.py page triage           # writes docs/results/triage.md

A cell (study, recipe, seed) is trained once and appended to benchmarks/results/STUDY.jsonl, so a
stopped run goes on where it was. Each seed also carves its own development rows from the training
rows; test rows are scored once per cell and choose nothing.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from attending.classifier import resolve_recipe
from attending.data.corpora import Corpus, load_corpus
from attending.data.labels import infer_labels, load_labels
from attending.data.splits import split
from attending.evaluation.metrics import evaluate
from attending.records import Document, LabelSet
from attending.training.fit import fit

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SPLIT_SEED = 2020


@dataclass(frozen=True)
class Study:
    """A corpus, a split of it, and the rows of its table: recipe -> seeds."""

    corpus: str
    by: str
    rows: dict[str, tuple[int, ...]]
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: tuple[str, ...] | None = None


FIVE = (0, 1, 2, 3, 4)
THREE = (0, 1, 2)
_BASELINES = {"frequency": (0,), "tfidf-svm": FIVE, "tfidf-logistic": FIVE}
_ROWS = {**_BASELINES, "lesa-bert": FIVE, "bert": FIVE}
_BY_WRITER = {**_BASELINES, "lesa-bert": THREE, "bert": THREE}
_LONG = {"windows.max_tokens": 320, "training.epochs": 2}
STUDIES = {
    "portal": Study("portal", "label", {**_ROWS, "bert-mean": THREE}),
    "portal-writer": Study("portal", "group", _BY_WRITER, groups=("telehealth", "veterans-clinic")),
    "ktas": Study("ktas", "label", _ROWS),
    "disease5": Study(
        "disease5",
        "label",
        {**_BASELINES, "lesa-bert": THREE, "bert": THREE},
        settings={"lesa-bert": _LONG, "bert": _LONG},
    ),
}


def corpus_of(name: str, root: Path | None) -> tuple[Corpus, LabelSet]:
    """Load a corpus and its labels; all but portal need a data root."""
    if name == "portal":
        return load_corpus("portal"), load_labels("portal")
    if root is None:
        raise SystemExit(f"{name} needs --data-root")
    if name == "ktas":
        corpus = load_corpus(
            root / "ktas/ktas.csv.gz", text="chief_complain", label="ktas_expert", group=""
        )
    else:
        corpus = load_corpus(
            root / "disease5/disease5.csv.gz", label="label_name", where={"copies": "1"}
        )
    return corpus, infer_labels(corpus)


def cells(study: Study) -> Iterator[tuple[str, int]]:
    """List the cells, seed by seed, so that a stopped run has whole rows of seeds."""
    for seed in sorted({s for seeds in study.rows.values() for s in seeds}):
        for recipe, seeds in study.rows.items():
            if seed in seeds:
                yield recipe, seed


def read(name: str) -> list[dict[str, Any]]:
    """Read the finished cells of a study."""
    path = RESULTS / f"{name}.jsonl"
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run(name: str, root: Path | None, only: Sequence[str], seeds: Sequence[int]) -> None:
    """Train and score the cells of a study that are not there yet."""
    study = STUDIES[name]
    corpus, labels = corpus_of(study.corpus, root)
    documents = corpus.documents
    made = split(documents, by=study.by, test=0.2, seed=SPLIT_SEED, groups=study.groups)
    train = [documents[i] for i in made.train]
    test = [documents[i] for i in made.test]
    print(f"{name}: {len(train)} training rows, {len(test)} test rows", flush=True)
    RESULTS.mkdir(exist_ok=True)
    for recipe, seed in cells(study):
        done = {(c["recipe"], c["seed"]) for c in read(name)}
        claim = RESULTS / f".{name}-{recipe}-{seed}"
        if (recipe, seed) in done or (only and recipe not in only) or claim.exists():
            continue
        if seeds and seed not in seeds:
            continue
        claim.touch()
        try:
            cell = one(study, recipe, seed, train, test, labels)
        finally:
            claim.unlink()
        with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell) + "\n")
        print(recipe, seed, f"{cell['macro_f1']:.4f}", f"{cell['seconds']} s", flush=True)


def one(
    study: Study,
    recipe: str,
    seed: int,
    train: list[Document],
    test: list[Document],
    labels: LabelSet,
) -> dict[str, Any]:
    """Train one cell, score the test rows once, and return its line."""
    settled = resolve_recipe(recipe, None, study.settings.get(recipe))
    started = time.monotonic()
    fitted = fit(settled, train, labels, seed=seed)
    seconds = time.monotonic() - started
    predictions = fitted.model.predict(test)
    result = evaluate(test, predictions, labels, resamples=0).to_dict()
    figures = result["metrics"]
    return {
        "recipe": recipe,
        "seed": seed,
        "settings": settled.to_table(),
        "macro_f1": figures["macro_f1"],
        "accuracy": figures["accuracy"],
        "ece": figures.get("ece"),
        "per_label": result["per_label"],
        "development": dict(fitted.metrics),
        "seconds": round(seconds, 1),
        "threads": torch.get_num_threads(),
        "facts": {k: v for k, v in fitted.model.facts.items() if k != "label_counts"},
        "predicted": [p.labels[0] if p.labels else "" for p in predictions],
        "truth": [d.label for d in test],
    }


def main() -> None:
    """Run or render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("name")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seeds", nargs="*", type=int, default=[])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.what == "run":
        run(given.name, given.data_root, given.only, given.seeds)
    else:
        from quality_page import write

        write(given.name)


if __name__ == "__main__":
    main()
