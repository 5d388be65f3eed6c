"""Fit a recipe: training rows in, a model with its decision out. Test rows never come here."""

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attending.data.corpora import Corpus
from attending.data.labels import infer_labels
from attending.errors import TrainingInterrupted
from attending.models.base import Model
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.progress import Journal, Listener
from attending.training.rows import Rows, choose_rows, label_counts, with_label, without_examples
from attending.training.settle import settle
from attending.training.state import as_begun, claim

LOG = "train.jsonl"


@dataclass(frozen=True)
class Fitted:
    """A fitted model, its development figures, and what a person should know of the fit."""

    model: Model
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


def fit(
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    seed: int = 0,
    run: Path | None = None,
    listener: Listener | None = None,
) -> Fitted:
    """Fit a recipe on labelled documents.

    ``labels`` default to the sorted ids found. Without ``development``, a share of the training
    rows (``training.development``) is carved off, stratified by label, one text on one side. The
    development rows choose the checkpoint and the temperature, nothing else is fitted on them.
    ``run`` is a folder for checkpoints and the log; a run that was stopped there goes on, with
    its labels in the order that they had, and ends bit for bit as if it hadn't been.

    Raises:
        TrainingError: If the rows can't train a model, or ``run`` holds another run.
        LabelError: If a row has a label that is not in the set.
        TrainingInterrupted: If the user stopped it; ``run`` can be resumed.
    """
    labels = infer_labels(Corpus(tuple(train))) if labels is None else labels
    labels, reordered = as_begun(run, labels)
    rows = choose_rows(recipe, train, labels, development, seed)
    started = time.monotonic()
    counts = label_counts(rows.train, labels)
    facts = {
        "seed": seed,
        "training_rows": len(rows.train),
        "development_rows": len(rows.development),
        "data_fingerprint": Corpus(rows.train).fingerprint,
        "development_fingerprint": Corpus(rows.development).fingerprint,
        "label_counts": counts,
    }
    unseen = without_examples(counts, labels)
    notes = [*reordered, *rows.notes, *([unseen] if unseen and recipe.task == "multi" else [])]
    if recipe.family == "neural":
        model, more = _fit_neural(recipe, rows, labels, seed, run, listener, facts)
        facts |= more
    else:
        from attending.models.linear import fit_linear

        model = fit_linear(recipe, rows.train, labels, seed)
    facts["seconds"] = round(time.monotonic() - started, 1)
    model.facts = facts
    settled = settle(model, rows.development, recipe, counts, with_label(rows.train))
    decision, metrics, reason = settled
    model.decision = decision
    return Fitted(model, metrics, (*notes, reason) if reason else tuple(notes))


def _fit_neural(
    recipe: Recipe,
    rows: Rows,
    labels: LabelSet,
    seed: int,
    run: Path | None,
    listener: Listener | None,
    facts: Mapping[str, Any],
) -> tuple[Model, dict[str, Any]]:
    from attending.training.run import train_network

    folder = Path(tempfile.mkdtemp(prefix="attending-")) if run is None else run.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "recipe": recipe.to_toml(),
        "labels": list(labels.ids),
        "label_set_hash": labels.hash,
        **facts,
    }
    resume = claim(folder, state)
    try:
        journal = Journal(folder / LOG, listener)
        return train_network(recipe, rows, labels, seed, folder, journal, resume=resume)
    except TrainingInterrupted as stop:
        raise TrainingInterrupted(
            f"stopped on request at {stop.what}",
            where=None if run is None else str(run),
            step="Nothing was kept: no folder for the run was given."
            if run is None
            else "Run the same command again to go on from there.",
        ) from None
    finally:
        if run is None:
            shutil.rmtree(folder, ignore_errors=True)
