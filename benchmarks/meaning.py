"""What `lame-cosine` knows before any training, by how sharply labels attend.

    python benchmarks/labels.py --data-root DATA
    python benchmarks/meaning.py --data-root DATA          # writes docs/results/meaning.md

No network is trained here. Of each corpus up to 200 documents are drawn; each label is scored by
the cosine of its name and description with what it attends to, less that cosine's mean over 200
other documents, whose labels only the ranking by frequency looks at. Mean average precision of the
ranking of all labels. CodiEsp's documents are of its training part; the studies of the other
corpora draw their test rows by seed, so theirs may be among these.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score

from attending.classifier import resolve_recipe
from attending.data.corpora import load_corpus
from attending.data.labels import load_labels
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.records import Document, LabelSet, is_blank
from attending.training.centre import centre
from attending.training.score import truth_of

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "meaning.md"
TEMPERATURES = (None, 0.4, 0.2, 0.1, 0.05, 0.025)
"""``None``: all tokens alike, which is the mean."""
ROWS = 200


def corpora(root: Path) -> dict[str, tuple[Sequence[Document], LabelSet]]:
    """Load documents with labels, and what the labels mean."""
    own = HERE / "labels"
    hoc = load_corpus(root / "hoc/hoc.jsonl.gz", id="pmid", label="labels")
    abstracts = load_corpus(own / "built/abstracts.jsonl", label="labels")
    codiesp = load_corpus(
        root / "codiesp/codiesp.jsonl.gz",
        where={"split": "train"},
        text="text_en_mt",
        label="codes_D",
    )
    return {
        "bundled messages (3 labels)": (load_corpus("portal").documents, load_labels("portal")),
        "medical abstracts (5)": (abstracts.documents, load_labels(own / "abstracts.toml")),
        "hallmarks of cancer (10)": (hoc.documents, load_labels(own / "hoc.toml")),
        "CodiEsp, English (1,767)": (codiesp.documents, load_labels(own / "built/codiesp.jsonl")),
    }


def untrained(labels: LabelSet) -> NeuralModel:
    """Build the recipe's network as it is before training, without shares of labels."""
    settings = {"encoder.frozen": True, "windows.max_tokens": 256}
    recipe = resolve_recipe("lame-cosine", None, settings, "multi")
    return NeuralModel(recipe, labels, Network(recipe, labels))


def by_nothing(truth: NDArray[np.bool_], others: NDArray[np.bool_]) -> list[float]:
    """Return the precision of rankings that read no text: drawn, and by frequency in others."""
    random = np.random.default_rng(0)
    drawn = [
        label_ranking_average_precision_score(truth, random.random(truth.shape)) for _ in range(20)
    ]
    counts = np.broadcast_to(others.sum(axis=0), truth.shape)
    return [float(np.mean(drawn)), float(label_ranking_average_precision_score(truth, counts))]


def row(documents: Sequence[Document], labels: LabelSet) -> list[float]:
    """Measure one corpus at each temperature."""
    wanted = [d for d in documents if d.labels and not is_blank(d.text)]
    order = np.random.default_rng(0).permutation(len(wanted))
    scored = [wanted[i] for i in order[:ROWS]]
    others = [wanted[i] for i in order[ROWS : 2 * ROWS]]
    truth = truth_of(scored, labels)
    found = by_nothing(truth, truth_of(others, labels))
    model = untrained(labels)
    with model.network.encoder.remembering():
        for temperature in TEMPERATURES:
            model.network.label_attention.scale = 0.0 if temperature is None else 1 / temperature
            centre(model, others)
            scores = np.stack([s.logits for s in model.scores(scored) if s.logits is not None])
            found.append(float(label_ranking_average_precision_score(truth, scores)))
    return found


def main() -> None:
    """Measure, print a line a corpus, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    heads = [
        "drawn",
        "most frequent first",
        "all tokens alike",
        *(f"{t:g}" for t in TEMPERATURES if t is not None),
    ]
    lines = ["| Corpus | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name, (documents, labels) in corpora(given.data_root).items():
        found = row(documents, labels)
        lines.append(f"| {name} | " + " | ".join(f"{x:.3f}" for x in found) + " |")
        print(lines[-1], flush=True)
    text = (HERE / "pages" / "meaning.md").read_text(encoding="utf-8")
    PAGE.write_text(text.replace("{table}", "\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
