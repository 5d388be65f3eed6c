"""Coding: rows of a table, frequency buckets, evidence, and the pages under docs/results.

    python benchmarks/labels.py --data-root DATA                        # label files, first
    python benchmarks/coding.py run cantemist --data-root DATA          # one line a cell
    python benchmarks/coding.py run codiesp codiesp-all --data-root DATA
    python benchmarks/coding.py run codiesp-es --data-root DATA         # with evidence
    python benchmarks/coding.py page cantemist codiesp                  # writes docs/results

A cell (table, recipe, seed) is trained once and appended to benchmarks/results/TABLE.jsonl, so a
stopped run goes on where it was; without --only the rows that need no network are made. A
decision's threshold is fitted on a tenth of the training rows. Rows that are scored choose nothing.
Documents' codes that the label set lacks count as missed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attending.classifier import resolve_recipe
from attending.data.corpora import load_corpus
from attending.data.labels import load_labels
from attending.evaluation.multilabel.metrics import evaluate_multilabel
from attending.explain.evidence import evidence_spans, word_evidence
from attending.explain.plausibility import plausibility
from attending.models.base import Model
from attending.records import Document, Evidence, LabelSet, Prediction
from attending.training.fit import fit
from attending.training.progress import Event, Listener

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BUILT = HERE / "labels" / "built"
ATTENTION = "label-weights"
KEPT = 1000
"""Scores that a prediction keeps, so that rankings are whole."""


@dataclass(frozen=True)
class Table:
    """A corpus in two parts, its label set, and the rows of its table: recipe -> seeds."""

    file: str
    labels: str
    test: str
    columns: dict[str, str]
    rows: dict[str, tuple[int, ...]]
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    evidence: bool = False
    own_labels: dict[str, str] = field(default_factory=dict)
    """Rows that have another label set than the table's: recipe -> its name."""


ONE = (0,)
CARVED = "dictionary, threshold on a tenth"
LAME_CARVED = "lame-evidence, threshold on a tenth"
CHEAP = ("frequency", "tfidf-logistic", "dictionary", CARVED, "dictionary-tfidf")
_SHORT = {"encoder.layers": 3, "training.epochs": 8, "training.precision": "bfloat16"}
_WINDOW = {**_SHORT, "windows.max_tokens": 256}
_LAME = {**_WINDOW, "training.epochs": 5}
_NEW = {"label_states.refresh": 20, "label_states.sampled": 32}
_SAMPLED = {**_LAME, "training.sampled_labels": 256}
_LIGHT = {"windows.max_tokens": 1500, "training.patience": 4, "training.precision": "bfloat16"}
_NETWORKS = {
    "caml": {**_LIGHT, "training.epochs": 30},
    "laat": {**_LIGHT, "training.epochs": 20, "encoder.hidden": 128},
    "lame": {**_LAME, **_NEW},
    "lant": _WINDOW,
    "plant": _WINDOW,
    "plant-bilstm": {**_LIGHT, "training.epochs": 12, "encoder.hidden": 128},
    "lame-evidence": _LAME,
}
_OFF: dict[str, dict[str, Any]] = {
    "no words beside": {"lexical.weight": 0},
    "no marked words as synonyms": {"lexical.synonyms": 0},
    "no loss on evidence": {"training.evidence_loss": 0},
}
_OFF["none of the three"] = {key: value for off in _OFF.values() for key, value in off.items()}
_ABLATED = {
    "lame-evidence": _SAMPLED,
    **{f"lame-evidence, {name}": {**_SAMPLED, **off} for name, off in _OFF.items()},
}
"""`lame-evidence` without each of its ingredients."""
_SPANISH = ("caml", "laat", "plant", "plant-bilstm", "lame-evidence")
"""Networks of the Spanish table; what `lame` and `lant` find in so few documents, English shows."""
_CODIESP = {"file": "codiesp/codiesp.jsonl.gz", "test": "dev"}
TABLES = {
    "cantemist": Table(
        "cantemist/cantemist.jsonl.gz",
        "cantemist",
        "dev1",
        {"label": "codes", "spans": "mentions"},
        {
            **dict.fromkeys(CHEAP, ONE),
            "encoder-baseline": ONE,
            "label-description-as-published": ONE,
            "label-description": ONE,
            "lame-evidence": ONE,
            LAME_CARVED: ONE,
        },
        {
            "encoder-baseline": _WINDOW,
            "label-description-as-published": _SHORT,
            "label-description": {**_SHORT, "training.sampled_labels": 256},
            "lame-evidence": _SAMPLED,
            LAME_CARVED: {**_SAMPLED, "lexical.tune": "development"},
        },
        without=("8000/6",),
        own_labels={"label-description-as-published": "cantemist-train"},
    ),
    "codiesp": Table(
        **_CODIESP,
        labels="codiesp",
        columns={"text": "text_en_mt", "label": "codes_D"},
        rows={**dict.fromkeys(CHEAP, ONE), **dict.fromkeys(_NETWORKS, ONE)},
        settings=_NETWORKS,
    ),
    "codiesp-all": Table(
        **_CODIESP,
        labels="codiesp-all",
        columns={"text": "text_en_mt", "label": "codes_D"},
        rows={"dictionary": ONE, CARVED: ONE},
    ),
    "codiesp-es": Table(
        **_CODIESP,
        labels="codiesp",
        columns={"text": "text", "label": "codes_D", "spans": "evidence"},
        rows={"dictionary": ONE, CARVED: ONE, **dict.fromkeys(_SPANISH, ONE)},
        settings=_NETWORKS,
        evidence=True,
    ),
    "codiesp-ablation": Table(
        **_CODIESP,
        labels="codiesp",
        columns={"text": "text", "label": "codes_D", "spans": "evidence"},
        rows=dict.fromkeys(_ABLATED, ONE),
        settings=_ABLATED,
        evidence=True,
    ),
}


def read(name: str) -> list[dict[str, Any]]:
    """Read the finished cells of a table."""
    path = RESULTS / f"{name}.jsonl"
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def parts(table: Table, root: Path) -> tuple[list[Document], list[Document]]:
    """Read the training rows and the rows to score."""

    def part(split: str) -> list[Document]:
        columns: dict[str, Any] = table.columns
        return list(load_corpus(root / table.file, where={"split": split}, **columns).documents)

    return part("train"), part(table.test)


def cells(table: Table, only: Sequence[str]) -> Iterator[tuple[str, int]]:
    """List the cells that are asked for."""
    for recipe, seeds in table.rows.items():
        if recipe in (only or CHEAP):
            yield from ((recipe, seed) for seed in seeds)


def run(name: str, root: Path, only: Sequence[str]) -> None:
    """Train and score the cells of a table that are not there yet."""
    table = TABLES[name]
    train, test = parts(table, root)
    print(f"{name}: {len(train)} training rows, {len(test)} to score")
    for recipe, seed in cells(table, only):
        if (recipe, seed) in {(c["recipe"], c["seed"]) for c in read(name)}:
            continue
        labels = load_labels(BUILT / f"{table.own_labels.get(recipe, table.labels)}.jsonl")
        cell = one(table, recipe, seed, train, test, labels)
        with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell) + "\n")
        figures = {k: round(cell["metrics"][k] or 0, 4) for k in ("map", "micro_f1", "p_at_5")}
        print(recipe, seed, figures, f"{cell['seconds']} s", flush=True)


def one(
    table: Table,
    recipe: str,
    seed: int,
    train: Sequence[Document],
    test: Sequence[Document],
    labels: LabelSet,
) -> dict[str, Any]:
    """Train one cell, score the test rows once, and return its line."""
    given = {"decoder.keep_scores": KEPT, **table.settings.get(recipe, {})}
    given |= {"estimator.tune": "development"} if recipe == CARVED else {}
    settled = resolve_recipe(recipe.partition(",")[0], None, given, "multi")
    started = time.monotonic()
    fitted = fit(settled, train, labels, seed=seed, listener=_told(recipe))
    trained = time.monotonic()
    model = fitted.model
    predictions = model.predict(test)
    scored = time.monotonic()
    result = evaluate_multilabel(
        test,
        predictions,
        labels,
        training_counts=model.facts["label_counts"],
        without=table.without,
        unknown="miss",
        resamples=1000,
    ).to_dict()
    methods = model.methods if table.evidence else ()
    kept = ("metrics", "diversity", "buckets", "most_frequent_removed", "without", "intervals")
    kept += ("notes", "label_set", "documents")
    facts = {k: v for k, v in model.facts.items() if k != "label_counts"}
    return {
        "recipe": recipe,
        "seed": seed,
        "settings": settled.to_table(),
        **{key: result[key] for key in kept},
        "threshold": model.decision.threshold,
        "development": dict(fitted.metrics),
        "balanced": balanced(predictions, test, model, train),
        "evidence": evidence(model, test) if table.evidence else None,
        "attention": evidence(model, test, ATTENTION) if ATTENTION in methods else None,
        "seconds": round(trained - started, 1),
        "documents_per_second": round(len(test) / (scored - trained), 1),
        "threads": torch.get_num_threads(),
        "facts": facts,
    }


def _told(recipe: str, every: float = 60.0) -> Listener:
    """Return what says on the error stream how far a training is, once in ``every`` seconds."""
    last = time.monotonic()

    def tell(event: Event) -> None:
        nonlocal last
        if event.kind != "step" or time.monotonic() - last < every:
            return
        last = time.monotonic()
        left = "" if event.seconds_left is None else f", {event.seconds_left / 60:.0f} min left"
        print(f"{recipe}: step {event.step} of {event.total}{left}", file=sys.stderr, flush=True)

    return tell


def balanced(
    predictions: Sequence[Prediction],
    test: Sequence[Document],
    model: Model,
    train: Sequence[Document],
) -> dict[str, Any]:
    """Work out what answers would be, had the same probabilities been learned by a balanced loss.

    Balanced cross-entropy weighs a document's right codes alpha = (C - n) / n times, n of C codes
    being right. Where the truth is p it learns q = alpha p / (alpha p + 1 - p): a cut at q = 1/2 is
    one at p = 1 / (1 + alpha) = n / C, while p = 1/2 is at q = alpha / (1 + alpha). C are the
    codes of the training rows, as in the paper. A model whose loss leaves its probabilities
    uncorrected says q itself.
    """
    codes = {x for d in train for x in d.labels or ()}
    mean = float(np.mean([len(d.labels or ()) for d in train]))
    alpha = (len(codes) - mean) / mean
    found: dict[str, Any] = {"codes": len(codes), "alpha": alpha}
    as_they_are = getattr(model.recipe["loss"], "corrected", True) is False
    for name, on_p, on_q in (
        ("half", 1 / (1 + alpha), 0.5),
        ("corrected", 0.5, alpha / (1 + alpha)),
    ):
        cut = on_q if as_they_are else on_p
        answers = [
            {x for x, p in row.scores.items() if p >= cut and x in codes} for row in predictions
        ]
        right = sum(len(a & set(d.labels or ())) for a, d in zip(answers, test, strict=True))
        given, true = sum(map(len, answers)), sum(len(d.labels or ()) for d in test)
        found[name] = {
            "cut_on_p": on_p,
            "cut_on_q": on_q,
            "precision": right / given if given else None,
            "recall": right / true,
            "f1": 2 * right / (given + true),
            "given": given / len(answers),
            "unique": len(set().union(*answers)),
        }
    return found


def evidence(
    model: Model, test: Sequence[Document], method: str | None = None
) -> Mapping[str, Any] | None:
    """Compare a model's words for each true code that it knows with those that people marked.

    By its first method, if none is named.
    """
    counts = model.facts["label_counts"]
    documents: list[Document] = []
    words: list[Sequence[Evidence]] = []
    spans: list[Sequence[Evidence]] = []
    if method is None:
        if not model.methods:
            return None
        method = model.methods[0]
    for document in test:
        marked = {s.label for s in document.spans}
        wanted = [x for x in document.labels or () if counts.get(x) and x in marked]
        if not wanted:
            continue
        scores = model.token_scores([document], method=method, labels=wanted)[0]
        for label in wanted:
            own = tuple(s for s in document.spans if s.label == label)
            documents.append(replace(document, spans=own))
            words.append(word_evidence(document, scores, label, method))
            spans.append(evidence_spans(document, words[-1]))
    found = plausibility(documents, words, spans)
    return {
        "method": method,
        "pairs": found.documents,
        "mean": None if found.mean is None else asdict(found.mean),
    }


def main() -> None:
    """Run or render."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="recipes, networks too")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for name in given.names:
        if given.what == "run":
            if given.data_root is None:
                raise SystemExit("run needs --data-root")
            run(name, given.data_root, given.only)
        else:
            from coding_page import write

            write(name)


if __name__ == "__main__":
    main()
