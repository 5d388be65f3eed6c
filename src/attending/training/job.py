"""A training job: a fit whose outcome is a model folder, and which can be stopped and resumed.

While it runs, the folder holds ``run/`` (state, checkpoints, log), and beside it the old model if
one is to be replaced; when it ends, it is a model folder with the log beside it.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from attending.errors import TrainingInterrupted
from attending.models.store import RUN, require_free, save_model
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.fit import LOG, Fitted, fit
from attending.training.lesson import Lesson
from attending.training.progress import Listener
from attending.training.tagging import FittedTagger, fit_tagger

_Made = TypeVar("_Made", Fitted, FittedTagger)


def train_into(
    folder: str | Path,
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    seed: int = 0,
    force: bool = False,
    listener: Listener | None = None,
    lesson: Lesson | None = None,
) -> Fitted:
    """Fit a recipe and write the model folder; see ``fit`` for the rest.

    An unfinished run in ``folder`` goes on if it is the same run. ``force`` starts anew and, at
    the end, replaces the model that is there.

    Raises:
        OutputError: If the folder holds a finished model and ``force`` is not set, or anything
            that is no model.
        TrainingError: If the unfinished run there is another one, or the rows can't train.
        TrainingInterrupted: If the user stopped it.
    """
    return _into(
        Path(folder),
        force,
        lambda run: fit(
            recipe,
            train,
            labels,
            development=development,
            seed=seed,
            run=run,
            listener=listener,
            lesson=lesson,
        ),
    )


def train_tagger_into(
    folder: str | Path,
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    seed: int = 0,
    force: bool = False,
    listener: Listener | None = None,
) -> FittedTagger:
    """Fit a recipe that tags and write the model folder; see ``fit_tagger`` and ``train_into``.

    Raises:
        OutputError: As ``train_into``; so do the others.
    """
    return _into(
        Path(folder),
        force,
        lambda run: fit_tagger(
            recipe,
            train,
            labels,
            development=development,
            seed=seed,
            run=run,
            listener=listener,
        ),
    )


def _into(folder: Path, force: bool, job: Callable[[Path], _Made]) -> _Made:
    """Run a fit in the folder of its model, and write the model there when it is done."""
    claim(folder, force)
    run = folder / RUN
    try:
        fitted = job(run)
    except TrainingInterrupted as stop:
        if not force:
            raise
        step = "Run the same command again, without --force, to go on from there."
        raise TrainingInterrupted(stop.what, where=stop.where, step=step) from None
    log = run / LOG
    journal = log.read_bytes() if log.is_file() else None
    save_model(fitted.model, folder, metrics=fitted.metrics, force=True)
    if isinstance(fitted, Fitted) and fitted.development is not None:
        fitted.development.write(folder)
    if journal is not None:
        (folder / LOG).write_bytes(journal)
    return fitted


def claim(folder: Path, force: bool) -> None:
    """Make sure that a job may write to a folder; with ``force``, drop an unfinished run there.

    Without ``force``, an unfinished run is left to go on, also one beside the model that it is to
    replace.

    Raises:
        OutputError: If the folder is in use, or holds something that is no model.
    """
    unfinished = (folder / RUN).is_dir()
    require_free(folder, force or unfinished)
    if force and unfinished:
        shutil.rmtree(folder / RUN)
