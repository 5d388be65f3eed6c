"""One cell: train a recipe, score the test rows once, write the folder."""

import os
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attending.errors import TrainingError
from attending.evaluation.task import evaluate_task
from attending.models.base import Model
from attending.models.store import as_trained, load_model, portable, save_model, versions
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.study.corpora import Parts
from attending.study.folders import RUN, CellFolder, StudyFolder
from attending.study.plan import Cell, Study
from attending.training.fit import LOG, Fitted, fit
from attending.training.progress import Listener


def make_cell(home: StudyFolder, cell: Cell, listener: Listener | None = None) -> dict[str, Any]:
    """Train and score a cell and write its folder; an unfinished run there goes on.

    Raises:
        AttendingError: If it can't be trained.
        TrainingInterrupted: If the user stopped it; the same call goes on.
    """
    study, folder = home.study, home.cell(cell)
    corpus, recipe = study.corpora[cell.corpus], study.recipe(cell)
    parts = corpus.parts(cell.seed, cell.fold, cell.size)
    run = folder.path / RUN
    resumed = run.is_dir()
    started, processor = time.monotonic(), time.process_time()
    teachers = [home.cell(t).model for t in study.teachers(cell)]
    try:
        fitted = _fit(recipe, parts, corpus.labels, cell.seed, run, listener, teachers)
    except TrainingError:
        if not resumed:
            raise
        # What is left of a run that was stopped can be of another version, or damaged.
        shutil.rmtree(run)
        resumed = False
        fitted = _fit(recipe, parts, corpus.labels, cell.seed, run, listener, teachers)
    trained = time.monotonic()
    predictions = fitted.model.predict(parts.test)
    scored = time.monotonic()
    counts = fitted.model.facts.get("label_counts")
    figures = evaluate_task(
        corpus.task,
        parts.test,
        predictions,
        corpus.labels,
        training_counts=counts,
        resamples=0,
        unknown=corpus.unknown,
    )
    facts = {
        "study": study.file.name,
        "corpus": cell.corpus,
        "system": cell.system,
        "seed": cell.seed,
        "fold": cell.fold,
        "size": cell.size,
        "digest": home.digest(cell),
        "teachers": [home.digest(t) for t in study.teachers(cell)],
        **_about(fitted, parts, recipe),
        "fingerprints": home.fingerprints(cell),
        "development": dict(fitted.metrics),
        "training": _on_training_rows(home, cell, fitted.model, parts),
        "seconds": {
            "training": round(trained - started, 3),
            "predicting": round(scored - trained, 3),
            "processor": round(time.process_time() - processor, 3),
        },
        "resumed": resumed,
        "environment": environment(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if wants_model(home, cell):
        save_model(fitted.model, folder.model, metrics=fitted.metrics, force=True)
    recipe_text = as_trained(fitted.model.recipe).to_toml()
    folder.write(facts, recipe_text, figures.to_dict(), parts.test, predictions)
    _tidy(folder, run)
    drop_models(home, study.teachers(cell))
    return facts


def wants_model(home: StudyFolder, cell: Cell) -> bool:
    """Say whether the model of a cell is needed once it is scored.

    That is for timing and pictures, where it is its system's first, or for students.
    """
    study = home.study
    shown = (study.head.timing or study.head.pictures) and cell == first_cell(
        study, cell.corpus, cell.system
    )
    if study.head.keep_models or shown:
        return True
    return any(not home.cell(student).done for student in study.students(cell))


def first_cell(study: Study, corpus: str, system: str) -> Cell:
    """Return the cell that stands for a system: its first seed, most rows, the first fold."""
    seed = study.systems[system].seeds[0]
    return Cell(corpus, system, seed, study.largest, study.folds(corpus)[0])


def first_cells(home: StudyFolder, corpus: str) -> dict[str, Cell]:
    """Return the cell that stands for each system, as far as its model is there."""
    cells = {name: first_cell(home.study, corpus, name) for name in home.study.systems}
    return {
        name: cell
        for name, cell in cells.items()
        if is_made(home, cell) and home.cell(cell).model.is_dir()
    }


def drop_models(home: StudyFolder, cells: Sequence[Cell]) -> None:
    """Remove models that nothing needs any more; shared ones may be of use to another study."""
    for cell in cells:
        if not home.shared and not wants_model(home, cell):
            shutil.rmtree(home.cell(cell).model, ignore_errors=True)


def is_made(home: StudyFolder, cell: Cell) -> bool:
    """Say whether a cell is finished, with its model and training figures where needed."""
    folder = home.cell(cell)
    if not folder.done or (wants_model(home, cell) and not folder.model.is_dir()):
        return False
    return not home.study.head.score_train or folder.facts["training"] is not None


def _fit(
    recipe: Recipe,
    parts: Parts,
    labels: LabelSet,
    seed: int,
    run: Path,
    listener: Listener | None,
    teachers: Sequence[Path],
) -> Fitted:
    """Train a recipe, with the help of teachers where it has any."""
    more: dict[str, Any] = {
        "development": parts.development,
        "seed": seed,
        "run": run,
        "listener": listener,
    }
    if not teachers:
        return fit(recipe, parts.train, labels, **more)
    from attending.training.distil import distil

    return distil([load_model(folder) for folder in teachers], recipe, parts.train, labels, **more)


def _about(fitted: Fitted, parts: Parts, recipe: Recipe) -> dict[str, Any]:
    facts = fitted.model.facts
    encoder = portable(recipe).get("encoder")
    return {
        "recipe": recipe.name,
        "encoder": None if encoder is None else getattr(encoder, "name", encoder.kind),
        "rows": {
            "train": facts.get("training_rows", len(parts.train)),
            "development": facts.get("development_rows"),
            "test": len(parts.test),
        },
        "parameters": parameters_of(fitted.model),
        "precision": facts.get("precision"),
        "notes": [*parts.notes, *fitted.notes],
    }


def _on_training_rows(
    home: StudyFolder, cell: Cell, model: Model, parts: Parts
) -> Mapping[str, Any] | None:
    """Score the rows that were trained on, where the study asks for it."""
    if not home.study.head.score_train:
        return None
    corpus = home.study.corpora[cell.corpus]
    rows: Sequence[Document] = parts.train
    found = evaluate_task(corpus.task, rows, model.predict(rows), corpus.labels, resamples=0)
    return {
        "metrics": dict(found.metrics),
        "per_label": {label: dict(row) for label, row in found.per_label.items()},
    }


def parameters_of(model: Model) -> int | None:
    """Return how many numbers a model has learnt; ``None`` where it isn't known."""
    network = getattr(model, "network", None)
    if network is not None:
        return sum(int(p.numel()) for p in network.parameters())
    weights = getattr(model, "weights", None)
    if weights is not None:
        return int(weights.coefficients.size + weights.intercepts.size)
    return None


def environment() -> dict[str, Any]:
    """Return what a result depends on besides recipe and data; no name of machine or user."""
    import torch

    return {
        "versions": versions(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "processor",
    }


def _tidy(folder: CellFolder, run: Path) -> None:
    """Keep the log of a run and drop its checkpoints."""
    log = run / LOG
    if log.is_file():
        shutil.copyfile(log, folder.path / LOG)
    shutil.rmtree(run, ignore_errors=True)
