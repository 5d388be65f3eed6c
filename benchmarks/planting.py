"""What planting gives before anything is trained, by how heavily the relevance is planted.

    python benchmarks/labels.py --data-root DATA
    python benchmarks/planting.py codiesp --data-root DATA

Words are ranked on four fifths of the training rows; the last fifth is looked at. For the true
codes of a document: the share of a label's attention that its five best tokens get (by nothing but
the planted scores), and the mean average precision of codes ranked by their best token's score plus
the logarithm of their share of the rows ranked on. Codes without an example can't be ranked and
count as missed. Rows that are scored elsewhere have no part in it. Prints a JSON object.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from attending.data.labels import load_labels
from attending.parts.planting.planted import Planted
from attending.records import LabelSet
from attending.specs.planting import PlantedScores
from attending.training.planting import Ranked, learn, rank_words
from coding import BUILT, TABLES, parts

WEIGHTS = ((1, 0), (1, 1), (1, 3), (1, 5), (1, 8), (1, 20), (3, 6), (0, 1))
_BEST = 5
_SHARE = 0.8


def average_precision(scores: NDArray[Any], true: set[int], wanted: int) -> float:
    """Return the average precision of a ranking; what isn't ranked counts as missed."""
    found = np.isin(np.arange(len(scores)), list(true))
    return float(average_precision_score(found, scores)) * len(true) / wanted


def measure(name: str, root: Path) -> dict[str, Any]:
    """Rank words and look at the rows that were left."""
    table = TABLES[name]
    train, _ = parts(table, root)
    cut = int(_SHARE * len(train))
    labels = load_labels(BUILT / f"{table.labels}.jsonl")
    spec = PlantedScores()
    ranked = rank_words(spec, train[:cut], labels)
    ranker, quality = learn(spec, ranked)
    planted = Planted(spec, len(ranked.index), len(labels))
    planted.plant(ranker, ranked.relevance)
    found: dict[str, list[float]] = defaultdict(list)
    for document in train[cut:]:
        look(document, labels, ranked, planted, cut, found)
    return {
        "corpus": name,
        "ranked_on": cut,
        "looked_at": len(train) - cut,
        "tokens": round(float(np.mean(found.pop("tokens"))), 1),
        **{k: round(v, 3) for k, v in quality.items()},
        **{k: round(float(np.mean(v)), 3) for k, v in found.items()},
    }


@torch.no_grad()
def look(
    document: Any,
    labels: LabelSet,
    ranked: Ranked,
    planted: Planted,
    rows: int,
    found: dict[str, list[float]],
) -> None:
    """Add what planted scores say of one document."""
    counts = np.array(ranked.examples)
    known = np.flatnonzero(counts)
    place = {int(label): i for i, label in enumerate(known)}
    own = [labels.position(x) for x in document.labels or () if x in labels.ids]
    true = {place[x] for x in own if x in place}
    if not true:
        return
    words = torch.as_tensor(ranked.index.ids([document.text])[0], dtype=torch.long)[None]
    which = torch.as_tensor(known)
    prior = np.log(counts[known] / rows)
    wanted = len(document.labels or ())
    found["tokens"].append(words.shape[1])
    found["map by shares alone"].append(average_precision(prior, true, wanted))
    for weight, static_weight in WEIGHTS:
        planted.weight.fill_(weight)
        planted.static_weight.fill_(static_weight)
        scores = planted(words, which)[0]
        best = scores[sorted(true)].softmax(1).topk(min(_BEST, words.shape[1]), 1).values
        name = f"{weight}/{static_weight}"
        found[f"attention on five tokens {name}"].append(float(best.sum(1).mean()))
        ranking = scores.max(1).values.numpy() + prior
        found[f"map by best token and share {name}"].append(
            average_precision(ranking, true, wanted)
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=tuple(TABLES))
    parser.add_argument("--data-root", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(json.dumps(measure(given.name, given.data_root), indent=2))


if __name__ == "__main__":
    main()
