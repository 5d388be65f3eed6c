"""Fit a recipe: training rows in, a model with its decision out. Test rows never come here."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attending.data.corpora import Corpus
from attending.data.labels import infer_labels
from attending.errors import TrainingInterrupted
from attending.models.base import Model, Scored
from attending.models.development import DevelopmentScores
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.lesson import Lesson, require_teacher
from attending.training.progress import Journal, Listener
from attending.training.rows import (
    Rows,
    choose_rows,
    label_counts,
    left_out,
    with_label,
    without_examples,
)
from attending.training.settle import settle
from attending.training.state import as_begun, claim

LOG = "train.jsonl"


@dataclass(frozen=True)
class Fitted:
    """A fitted model, its development figures, and what a person should know of the fit."""

    model: Model
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    development: DevelopmentScores | None = None


def fit(
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    seed: int = 0,
    run: Path | None = None,
    listener: Listener | None = None,
    lesson: Lesson | None = None,
) -> Fitted:
    """Fit a recipe on labelled documents.

    ``labels`` default to the sorted ids found. Without ``development``, a share of the training
    rows (``training.development``) is carved off, stratified by label, one text on one side. The
    development rows choose the checkpoint and the temperature, nothing else is fitted on them.
    ``run`` is a folder for checkpoints and the log; a run that was stopped there goes on, with
    its labels in the order that they had, and ends bit for bit as if it hadn't been.
    ``lesson`` is what a recipe with ``distillation`` learns from; see ``distil``.

    Raises:
        RecipeError: If the recipe tags spans, for which there is ``fit_tagger``.
        TrainingError: If the rows can't train a model, or ``run`` holds another run.
        LabelError: If a row has a label that is not in the set.
        TrainingInterrupted: If the user stopped it; ``run`` can be resumed.
    """
    if recipe.task == "spans":
        recipe.for_task("single")  # says that it gives no labels
    require_teacher(recipe, lesson is not None)
    labels = infer_labels(Corpus(tuple(train))) if labels is None else labels
    labels, reordered = as_begun(run, labels)
    crossed = development is None and _cross_fits(recipe)
    rows = choose_rows(recipe, train, labels, () if crossed else development, seed)
    rows = rows if lesson is None else lesson.rows(rows, recipe, seed)
    started = time.monotonic()
    counts = label_counts(rows.train, labels)
    facts: dict[str, Any] = {
        "seed": seed,
        "training_rows": len(rows.train),
        "development_rows": len(rows.development),
        "data_fingerprint": Corpus(rows.train).fingerprint,
        "development_fingerprint": Corpus(rows.development).fingerprint,
        "label_counts": counts,
    }
    if lesson is not None:
        facts |= lesson.facts(rows)
    unseen = without_examples(counts, labels)
    notes = [*reordered, *rows.notes, *([unseen] if unseen and recipe.task == "multi" else [])]
    notes += [] if lesson is None else lesson.notes(facts)
    if recipe.family == "neural":
        model, more = _fit_neural(recipe, rows, labels, seed, run, listener, facts, lesson)
        facts |= more
    else:
        from attending.models.linear import fit_linear

        model = fit_linear(recipe, rows.train, labels, seed)
    facts["seconds"] = round(time.monotonic() - started, 1)
    model.facts = facts
    if crossed:
        chosen, scored = _held(model, facts)
    else:
        chosen, scored = rows.development, model.scores(rows.development)
    decision, metrics, reason = settle(
        model, chosen, recipe, counts, with_label(rows.train), scored=scored
    )
    if recipe.family == "neural":
        from attending.training.carved import undo_carving

        carved = rows if development is None else None
        decision, why = undo_carving(model, decision, carved, scored, recipe, seed, facts)
        notes += [why] if why else []
    model.decision = decision
    known = DevelopmentScores.of(
        chosen, scored, labels, decision, str(facts["development_fingerprint"])
    )
    notes += [note for note in (left_out(facts, recipe), reason) if note]
    return Fitted(model, metrics, tuple(notes), known)


def _cross_fits(recipe: Recipe) -> bool:
    """Say whether all training rows choose thresholds, by scores of models that never saw them."""
    return getattr(recipe.get("estimator"), "tune", None) == "cross-fitted"


def _held(model: Any, facts: dict[str, Any]) -> tuple[Sequence[Document], Sequence[Scored]]:
    """Take a model's cross-fitted training rows, and tell that they chose."""
    chosen, scored = model.held
    model.held = None
    facts["development_rows"] = len(chosen)
    facts["development_fingerprint"] = Corpus(chosen).fingerprint
    facts["development"] = "training rows, each scored by a model that had not seen it"
    return chosen, scored


def _fit_neural(
    recipe: Recipe,
    rows: Rows,
    labels: LabelSet,
    seed: int,
    run: Path | None,
    listener: Listener | None,
    facts: Mapping[str, Any],
    lesson: Lesson | None,
) -> tuple[Model, dict[str, Any]]:
    from attending.training.run import train_network

    with in_run(recipe, labels, run, listener, facts) as (folder, journal, resume):
        return train_network(
            recipe, rows, labels, seed, folder, journal, resume=resume, lesson=lesson
        )


@contextmanager
def in_run(
    recipe: Recipe,
    labels: LabelSet,
    run: Path | None,
    listener: Listener | None,
    facts: Mapping[str, Any],
) -> Iterator[tuple[Path, Journal, bool]]:
    """Give the folder of a run, its log, and whether an unfinished run there goes on.

    Without ``run`` the folder is one for the while, from which nothing can go on.

    Raises:
        TrainingError: If ``run`` holds another run.
        TrainingInterrupted: If what is done within was stopped; says how to go on.
    """
    folder = Path(tempfile.mkdtemp(prefix="attending-")) if run is None else run.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "recipe": recipe.to_toml(),
        "labels": list(labels.ids),
        "label_set_hash": labels.hash,
        **facts,
    }
    resume = run is not None and claim(folder, state)
    try:
        yield folder, Journal(folder / LOG, listener), resume
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
