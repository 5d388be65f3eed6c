r"""Quality of taggers over seeds: the ablation on MACCROBAT, and two corpora with official splits.

    python benchmarks/tagging.py run maccrobat --data-root DATA [--only NAME ...] [--seeds 0 1]
    python benchmarks/tagging.py run ncbi --data-root DATA
    python benchmarks/tagging.py run bc5cdr --data-root DATA
    python benchmarks/tagging.py page maccrobat --data-root DATA   # its page in docs/results

Curves by epochs, documents and encoder, on MACCROBAT, are a table too; one of its encoders has
read medical abstracts first:

    attending pretrain DATA/ohsumed23/ohsumed_all.csv.gz --steps 900 \
        --set training.learning_rate=1e-4 --out benchmarks/results/.encoder
    python benchmarks/tagging.py run maccrobat-curve --data-root DATA

A cell (table, system, seed) is trained once and appended to
benchmarks/results/tagging-TABLE.jsonl.gz, so a stopped run goes on where it was. MACCROBAT's
documents are split 70/10/20 anew for each seed; the others have official parts. Every tagger trains
to the end of its schedule; no checkpoint is chosen, so that rows differ by what their names say
alone. Development documents are scored beside the test documents, once a cell; by them alone
settings were chosen, on the first seed. A tagger is scored with and without the vote of its
neighbours, which are gathered after training.
"""

import argparse
import gzip
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from attending.classifier import resolve_recipe
from attending.data.labels import load_labels
from attending.data.spans.formats import load_spans
from attending.data.spans.types import infer_types
from attending.data.splits import split
from attending.evaluation.spans.metrics import evaluate_spans
from attending.models.tagger import TaggerModel
from attending.records import Document, LabelSet
from attending.training.tagging import fit_tagger
from attending.training.tagging_neighbours import with_neighbours
from attending.training.tagging_rows import TaggedRows

HERE = Path(__file__).parent
RESULTS = HERE / "results"
FIVE = (0, 1, 2, 3, 4)
THREE = (0, 1, 2)
KNN, ALONE = "with neighbours", "alone"


@dataclass(frozen=True)
class System:
    """A row of a table: a recipe, its settings, its seeds, and whether neighbours vote besides.

    With ``documents``, it learns from the first so many training documents alone. Where rows are
    not tested in pairs (``paired``), the spans that it found are not kept.
    """

    recipe: str
    settings: dict[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = FIVE
    votes: bool = True
    documents: int | None = None
    paired: bool = True

    @property
    def neural(self) -> bool:
        """Whether it has an encoder to train."""
        return self.recipe != "features-ner"


def _weights(recipe: str, **more: Any) -> dict[str, System]:
    return {
        f"{recipe}, weights {w}": System(recipe, {"loss.class_weights": w, **more})
        for w in ("none", "published", "inverse")
    }


def _point(documents: int | None = None, settings: dict[str, Any] | None = None) -> System:
    return System(
        "atl-ner",
        {"loss.class_weights": "inverse", **(settings or {})},
        seeds=(0,),
        documents=documents,
        paired=False,
    )


TABLES: dict[str, dict[str, System]] = {
    "maccrobat": {
        **_weights("atl-ner"),
        **_weights("btl-ner"),
        "atl-ner, focal": System("atl-ner", {"loss.gamma": 2.0}),
        "atl-ner, capitals seen": System("atl-ner", {"surface.kind": "capitals"}, seeds=THREE),
        "btl-ner, others ignored": System("btl-ner", {"loss.other": "ignore"}, seeds=THREE),
        "lame-ner": System("lame-ner", seeds=THREE),
        "lame-ner, meaning unread": System(
            "lame-ner",
            {
                "label_states.kind": "learned",
                "label_states.init": "random",
                "label_states.scale": "input",
            },
            seeds=THREE,
        ),
        "encoder-crf-ner": System("encoder-crf-ner", seeds=THREE),
        # A pass for every type of a batch takes fourteen times as long, so it is for one epoch; the
        # same in one pass stands beside it.
        "btl-ner, one epoch": System("btl-ner", {"training.epochs": 1}, seeds=(0,), paired=False),
        "btl-ner, one epoch, a pass a copy": System(
            "btl-ner",
            {"training.epochs": 1, "loss.step": "per_copy"},
            seeds=(0,),
            paired=False,
        ),
        "features-ner": System("features-ner", votes=False, seeds=(0,)),
    },
    # Points of curves through "atl-ner, weights inverse" of the table above, on one seed.
    "maccrobat-curve": {
        "2 epochs": _point(settings={"training.epochs": 2}),
        "4 epochs": _point(settings={"training.epochs": 4}),
        "16 epochs": _point(settings={"training.epochs": 16}),
        "35 documents": _point(35),
        "70 documents": _point(70),
        "2 layers": _point(settings={"encoder.layers": 2}),
        "4 layers": _point(settings={"encoder.layers": 4}),
        "abstracts read first": _point(settings={"encoder.name": "./benchmarks/results/.encoder"}),
    },
    # With one type there is one copy of a batch, so BTL is no system of its own there.
    "ncbi": {
        "encoder-crf-ner": System("encoder-crf-ner", seeds=THREE),
        "atl-ner": System("atl-ner", seeds=THREE),
        "features-ner": System("features-ner", votes=False, seeds=(0,)),
    },
    "bc5cdr": {
        "encoder-crf-ner": System("encoder-crf-ner", seeds=THREE),
        "atl-ner": System("atl-ner", seeds=(0,)),
        "btl-ner": System("btl-ner", seeds=(0,)),
        "features-ner": System("features-ner", votes=False, seeds=(0,)),
    },
}
_CASES = {"training.batch_size": 4, "windows.overlap": 32}
COMMON: dict[str, dict[str, Any]] = {"maccrobat": _CASES, "maccrobat-curve": _CASES}
"""Settings of all networks of a table."""
_FILES = {"ncbi": "NCBI-disease", "bc5cdr": "BC5CDR"}


@dataclass(frozen=True)
class Parts:
    """Documents to train on, to choose by and to score, and the types."""

    train: tuple[Document, ...]
    development: tuple[Document, ...]
    test: tuple[Document, ...]
    labels: LabelSet


def maccrobat(root: Path) -> tuple[Document, ...]:
    """Read MACCROBAT, which holds BRAT's files in rows."""
    with (
        gzip.open(root / "maccrobat2020/maccrobat2020.jsonl.gz", "rt", encoding="utf-8") as file,
        tempfile.TemporaryDirectory() as folder,
    ):
        for row in map(json.loads, file):
            for ending, content in (("txt", row["text"]), ("ann", row["ann"])):
                path = Path(folder) / f"{row['id']}.{ending}"
                path.write_bytes(content.encode("utf-8"))
        return load_spans(folder, "brat", strict=False).documents


def parts_of(table: str, root: Path, seed: int) -> Parts:
    """Return the parts of a corpus for a seed."""
    if table.startswith("maccrobat"):
        documents = maccrobat(root)
        made = split(documents, by="random", test=0.2, seed=seed)
        test, rest = ([documents[i] for i in part] for part in (made.test, made.train))
        carved = split(rest, by="random", test=0.125, seed=seed)  # a tenth of all
        train, development = ([rest[i] for i in p] for p in (carved.train, carved.test))
        labels = load_labels(HERE / "labels" / "maccrobat.toml")
    else:
        train, development, test = (
            list(
                load_spans(unzipped(root / f"ner/{_FILES[table]}.{part}.tsv.gz"), "conll").documents
            )
            for part in ("train", "devel", "test")
        )
        labels = infer_types(train)
    return Parts(tuple(train), tuple(development), tuple(test), labels)


def unzipped(path: Path) -> Path:
    """Unpack a file beside the system's temporary files."""
    target = Path(tempfile.gettempdir()) / path.name.removesuffix(".gz")
    target.write_bytes(gzip.decompress(path.read_bytes()))
    return target


def read(table: str) -> list[dict[str, Any]]:
    """Read the finished cells of a table."""
    path = cells_of(table)
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cells_of(table: str) -> Path:
    """Return where the finished cells of a table are."""
    return RESULTS / f"tagging-{table}.jsonl.gz"


def cells(table: str) -> Iterator[tuple[str, int]]:
    """List the cells, seed by seed, so that a stopped run has whole rows of seeds."""
    systems = TABLES[table]
    for seed in sorted({s for system in systems.values() for s in system.seeds}):
        for name, system in systems.items():
            if seed in system.seeds:
                yield name, seed


def run(
    table: str, root: Path, only: Sequence[str], seeds: Sequence[int], epochs: float | None
) -> None:
    """Train and score the cells of a table that are not there yet."""
    RESULTS.mkdir(exist_ok=True)
    known: dict[int, Parts] = {}
    for name, seed in cells(table):
        done = {(c["system"], c["seed"]) for c in read(table)}
        claim = RESULTS / f".tagging-{table}-{name.replace(' ', '-')}-{seed}"
        if (name, seed) in done or (only and name not in only) or claim.exists():
            continue
        if seeds and seed not in seeds:
            continue
        if seed not in known:
            known = {seed: parts_of(table, root, seed)}
        claim.touch()
        try:
            cell = one(table, name, seed, known[seed], epochs)
        finally:
            claim.unlink()
        with gzip.open(cells_of(table), "at", encoding="utf-8") as file:
            file.write(json.dumps(cell) + "\n")
        told = {way: round(f["figures"]["strict_micro_f1"], 4) for way, f in cell["found"].items()}
        print(name, seed, told, f"{cell['seconds']} s", flush=True)


def one(
    table: str, name: str, seed: int, parts: Parts, epochs: float | None = None
) -> dict[str, Any]:
    """Train one cell, score the documents once with and once without neighbours."""
    system = TABLES[table][name]
    settings = COMMON.get(table, {}) if system.neural else {}
    settings = settings | ({} if epochs is None else {"training.epochs": epochs}) | system.settings
    recipe = resolve_recipe(system.recipe, None, settings, "spans")
    started = time.monotonic()
    train = parts.train[: system.documents]
    fitted = fit_tagger(recipe, train, parts.labels, development=(), seed=seed)
    seconds = time.monotonic() - started
    model = fitted.model
    found, held = {}, {}
    if system.votes:
        if model.neighbours is None:
            model.recipe = recipe.override({"neighbours.kind": "logits"})
            with_neighbours(model, TaggedRows.of(train, model.scheme))
        found[KNN] = outcome(model, parts.test, parts.labels)
        held[KNN] = outcome(model, parts.development, parts.labels)
    model.neighbours = None
    found[ALONE] = outcome(model, parts.test, parts.labels)
    held[ALONE] = outcome(model, parts.development, parts.labels)
    for way in () if system.paired else found.values():
        del way["spans"]
    return {
        "system": name,
        "seed": seed,
        "settings": recipe.to_table(),
        "found": found,
        "development": {way: told["figures"] for way, told in held.items()},
        "seconds": round(seconds, 1),
        "threads": torch.get_num_threads(),
        "facts": dict(model.facts),
        "notes": list(fitted.notes),
    }


def outcome(model: TaggerModel, documents: Sequence[Document], labels: LabelSet) -> dict[str, Any]:
    """Score a tagger; keeps what it found as places and types, without text."""
    predictions = model.predict(documents)
    result = evaluate_spans(
        documents, predictions, labels, counts=model.facts["label_counts"], resamples=0,
        unknown="miss",
    ).to_dict()  # fmt: skip
    return {
        "figures": result["metrics"],
        "per_type": result["per_type"],
        "groups": result["by_training_frequency"],
        "spans": {p.id: [[s.start, s.end, s.label] for s in p.spans or ()] for p in predictions},
    }


def main() -> None:
    """Run a table, or write its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("table", choices=tuple(TABLES))
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seeds", nargs="*", type=int, default=[])
    parser.add_argument("--epochs", type=float, help="train otherwise than the recipe says")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.what == "page":
        from tagging_page import write

        write(given.table.removesuffix("-curve"), given.data_root)
        return
    torch.set_num_threads(given.threads)
    run(given.table, given.data_root, given.only, given.seeds, given.epochs)


if __name__ == "__main__":
    main()
