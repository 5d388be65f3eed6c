"""Fit a recipe: training rows in, a model with its decision out. Test rows never come here."""

import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attending import registry
from attending.data.corpora import Corpus
from attending.data.labels import infer_labels
from attending.data.splits import split
from attending.errors import TrainingError, TrainingInterrupted
from attending.evaluation.calibration import fit_temperature
from attending.models.base import Model
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.progress import Journal, Listener
from attending.training.score import answered, development_score

RUN_STATE = "run.json"
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
    ``run`` is a folder for checkpoints and the log; a run that was stopped there goes on, and
    ends bit for bit as if it hadn't been.

    Raises:
        TrainingError: If the rows can't train a model, or ``run`` holds another run.
        LabelError: If a row has a label that is not in the set.
        TrainingInterrupted: If the user stopped it; ``run`` can be resumed.
    """
    labels = infer_labels(Corpus(tuple(train))) if labels is None else labels
    rows = _single_label(train, labels)
    notes: tuple[str, ...] = ()
    if development is None:
        share = _development_share(recipe)
        rows, carved, notes = _carve(rows, share, seed)
        development = carved
    else:
        development = _single_label(development, labels)
    started = time.monotonic()
    facts = {
        "seed": seed,
        "training_rows": len(rows),
        "development_rows": len(development),
        "data_fingerprint": Corpus(tuple(rows)).fingerprint,
        "label_counts": _counts(rows, labels),
    }
    if recipe.family == "neural":
        model, more = _fit_neural(recipe, rows, labels, development, seed, run, listener, facts)
        facts |= more
    else:
        from attending.models.linear import fit_linear

        model = fit_linear(recipe, rows, labels, seed)
    facts["seconds"] = round(time.monotonic() - started, 1)
    decision, metrics, reason = _settle(model, development, recipe)
    model.decision, model.facts = decision, facts
    return Fitted(model, metrics, notes + ((reason,) if reason else ()))


def _single_label(documents: Sequence[Document], labels: LabelSet) -> tuple[Document, ...]:
    rows = tuple(d for d in documents if d.labels is not None)
    if not rows:
        raise TrainingError(
            "no row has a label", found=f"{len(documents)} rows", step="Name the label column."
        )
    several = [d for d in rows if len(d.labels or ()) != 1]
    if several:
        raise TrainingError(
            f"{len(several)} rows have no label or several; this recipe takes one a row",
            where=str(several[0].source or several[0].id),
        )
    for d in rows:
        labels.position(d.label or "")
    found = {d.label for d in rows}
    if len(found) < 2:
        raise TrainingError(
            f'all {len(rows)} rows have the label "{rows[0].label}"',
            allowed="at least two labels",
            step="Nothing can be learned from one label; check the label column.",
        )
    return rows


def _development_share(recipe: Recipe) -> float:
    training = recipe.get("training")
    return 0.1 if training is None else float(training.development)


def _carve(
    rows: tuple[Document, ...], share: float, seed: int
) -> tuple[tuple[Document, ...], tuple[Document, ...], tuple[str, ...]]:
    if not share:
        return rows, (), ()
    if len(rows) < 10:
        return rows, (), (f"{len(rows)} rows are too few to carve a development split from",)
    carved = split(rows, test=share, seed=seed)
    return (
        tuple(rows[i] for i in carved.train),
        tuple(rows[i] for i in carved.test),
        carved.notes,
    )


def _counts(rows: Sequence[Document], labels: LabelSet) -> dict[str, int]:
    counts = dict.fromkeys(labels.ids, 0)
    for d in rows:
        counts[d.label or ""] += 1
    return counts


def _fit_neural(
    recipe: Recipe,
    rows: Sequence[Document],
    labels: LabelSet,
    development: Sequence[Document],
    seed: int,
    run: Path | None,
    listener: Listener | None,
    facts: Mapping[str, Any],
) -> tuple[Model, dict[str, Any]]:
    from attending.training.run import train_network

    folder = Path(tempfile.mkdtemp(prefix="attending-")) if run is None else run
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "recipe": recipe.to_toml(),
        "labels": list(labels.ids),
        "label_set_hash": labels.hash,
        **facts,
    }
    resume = _claim(folder, state)
    try:
        journal = Journal(folder / LOG, listener)
        return train_network(
            recipe, rows, labels, development, seed, folder, journal, resume=resume
        )
    except TrainingInterrupted as stop:
        raise TrainingInterrupted(
            f"stopped on request at {stop.what}",
            where=str(folder),
            step="Run the same command again to go on from there.",
        ) from None
    finally:
        if run is None:
            shutil.rmtree(folder, ignore_errors=True)


def _claim(folder: Path, state: Mapping[str, Any]) -> bool:
    """Record what a run is made of; say whether to resume one; refuse to mix two."""
    path = folder / RUN_STATE
    if not path.is_file():
        path.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
        return False
    before = json.loads(path.read_text(encoding="utf-8"))
    if before["labels"] != state["labels"]:
        added = sorted(set(state["labels"]) - set(before["labels"]))
        removed = sorted(set(before["labels"]) - set(state["labels"]))
        raise TrainingError(
            "the unfinished run here has other labels",
            where=str(folder),
            found=f"added {added}, removed {removed}" if added or removed else "another order",
            step="Pass --force to start anew with a new head and optimizer.",
        )
    changed = [k for k in state if before.get(k) != json.loads(json.dumps(state[k]))]
    if changed:
        raise TrainingError(
            f"the unfinished run here differs in {', '.join(changed)}",
            where=str(folder),
            step="Pass --force to start anew, or choose another --out.",
        )
    return True


def _settle(
    model: Model, development: Sequence[Document], recipe: Recipe
) -> tuple[Decision, dict[str, float], str | None]:
    """Fit the temperature on development rows, and score them."""
    spec = recipe["decoder"]
    decision: Decision = registry.build(spec)
    scored = model.scores(development)
    logits, targets = answered(scored, development, model.labels)
    reason = None
    if spec.calibrate == "temperature":
        found = fit_temperature(logits, targets) if len(targets) else None
        if found is not None and found.reason is None:
            decision = registry.build(spec, temperature=found.value)
        else:
            why = "no development rows" if found is None else found.reason
            reason = f"probabilities are not calibrated: {why}"
            decision = replace(decision, note=reason)
    model.decision = decision
    return decision, development_score(scored, development, model.labels, decision), reason
