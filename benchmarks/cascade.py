r"""Quality of cascades over seeds: word counts first, an int8 encoder where they are unsure.

    attending train portal --recipe tfidf-logistic --holdout 0.2 --seeds 5 --out quick
    attending train portal --recipe lesa-bert --holdout 0.2 --seeds 5 --out thorough
    for s in 0 1 2 3 4; do
      attending export thorough/seed-$s --int8 --rows portal --tolerance rarest-recall=0.06 \
        --tolerance macro-f1=0.02 --out int8/seed-$s
    done
    python benchmarks/cascade.py quick int8 [--changed 0.02]
    python benchmarks/cascade.py quick thorough

Pairs are of one seed, whose development rows both models carved off alike; these choose the
margin. The rows held out of training are scored once: by each model alone and by both together.
Prints a JSON object a seed, then means, and the mean of the paired differences with an interval
that draws documents anew, the same for all seeds.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from attending.cli.console import Screen
from attending.cli.decide import development_part
from attending.data.corpora import load_corpus
from attending.evaluation.intervals import bootstrap_interval
from attending.evaluation.significance import mean_and_spread
from attending.models.base import Model
from attending.models.store import load_model
from attending.records import Document
from attending.training.cascade import CHANGED, make_cascade
from serving import held_out

RESAMPLES = 2000
FIRST, SECOND, BOTH = "first", "second", "both"


def answers(model: Model, documents: Sequence[Document]) -> list[str]:
    """Return the label of each document."""
    return [p.labels[0] if p.labels else "" for p in model.predict(documents)]


def macro_f1(truth: Sequence[str], given: Sequence[str]) -> float:
    """Return macro-F1 over the true labels."""
    return float(f1_score(truth, given, average="macro", labels=sorted(set(truth))))


def one(quick: Path, thorough: Path, changed: float) -> dict[str, Any]:
    """Join a pair, and score the rows held out of both."""
    test = held_out(quick)
    if held_out(thorough) != test:
        raise SystemExit(f"{quick} and {thorough} have other rows held out")
    corpus = load_corpus("portal")
    models = {folder: load_model(folder) for folder in (quick, thorough)}
    first, second = models.values()
    rows = development_part(Screen(True), models, "portal", corpus, "utf-8")
    both, margin = make_cascade(first, second, rows.documents, changed=changed)
    given = {n: answers(m, test) for n, m in ((FIRST, first), (SECOND, second), (BOTH, both))}
    truth = [d.label or "" for d in test]
    urgent = [i for i, x in enumerate(truth) if x == "urgent"]
    return {
        "seed": quick.name,
        "margin": round(margin.margin, 4),
        "first_on_development": round(margin.first / margin.rows, 4),
        "first_on_test": round(float(both.settled(both.first_scores(test)).mean()), 4),
        "changed_on_development": margin.changed / margin.rows,
        "changed_on_test": sum(map(str.__ne__, given[SECOND], given[BOTH])) / len(test),
        "macro_f1": {n: round(macro_f1(truth, x), 4) for n, x in given.items()},
        "recall_of_urgent": {
            n: round(sum(x[i] == "urgent" for i in urgent) / len(urgent), 4)
            for n, x in given.items()
        },
        "given": given,
        "truth": truth,
    }


def difference(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean difference of macro-F1 between both together and the second alone."""
    truth = np.array(found[0]["truth"])
    pairs = [tuple(np.array(f["given"][n]) for n in (BOTH, SECOND)) for f in found]

    def mean(rows: Any) -> float:
        gaps = [macro_f1(truth[rows], a[rows]) - macro_f1(truth[rows], b[rows]) for a, b in pairs]
        return float(np.mean(gaps))

    interval = bootstrap_interval(
        len(truth), lambda drawn: np.array([mean(rows) for rows in drawn]), resamples=RESAMPLES
    )
    by_seed = [f["macro_f1"][BOTH] - f["macro_f1"][SECOND] for f in found]
    return {
        "by_seed": [round(x, 4) for x in by_seed],
        "mean": round(mean(np.arange(len(truth))), 4),
        "interval": None if interval is None else [round(interval.low, 4), round(interval.high, 4)],
    }


def main() -> None:
    """Join, score and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("quick", type=Path)
    parser.add_argument("thorough", type=Path)
    parser.add_argument("--changed", type=float, default=CHANGED)
    given = parser.parse_args()
    found = []
    for folder in sorted(given.quick.glob("seed-*")):
        found.append(one(folder, given.thorough / folder.name, given.changed))
        told = {k: v for k, v in found[-1].items() if k not in ("given", "truth")}
        print(json.dumps(told), flush=True)

    def spread(values: Sequence[float]) -> list[float]:
        known = mean_and_spread(values)
        return [round(known.mean, 4), round(known.sd or 0.0, 4)]

    summary: dict[str, Any] = {
        key: {n: spread([f[key][n] for f in found]) for n in (FIRST, SECOND, BOTH)}
        for key in ("macro_f1", "recall_of_urgent")
    }
    summary["first_on_test"] = spread([f["first_on_test"] for f in found])
    summary["changed_on_test"] = spread([f["changed_on_test"] for f in found])
    summary["difference"] = difference(found)
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
