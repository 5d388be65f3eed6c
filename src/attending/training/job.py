"""A training job: a fit whose outcome is a model folder, and which can be stopped and resumed.

While it runs, the folder holds ``run/`` (state, checkpoints, log) and nothing else; when it ends,
it is a model folder with the log beside it.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from attending.errors import OutputError
from attending.models.store import save_model
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.fit import LOG, Fitted, fit
from attending.training.progress import Listener

RUN = "run"


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
) -> Fitted:
    """Fit a recipe and write the model folder; see ``fit`` for the rest.

    An unfinished run in ``folder`` goes on if it is the same run. ``force`` starts anew and
    replaces what is there.

    Raises:
        OutputError: If the folder holds anything but an unfinished run and ``force`` is not set.
        TrainingError: If the unfinished run there is another one, or the rows can't train.
        TrainingInterrupted: If the user stopped it.
    """
    folder = Path(folder)
    claim(folder, force)
    run = folder / RUN
    fitted = fit(
        recipe,
        train,
        labels,
        development=development,
        seed=seed,
        run=run,
        listener=listener,
    )
    log = run / LOG
    journal = log.read_bytes() if log.is_file() else None
    save_model(fitted.model, folder, metrics=fitted.metrics, force=True)
    if journal is not None:
        (folder / LOG).write_bytes(journal)
    return fitted


def claim(folder: Path, force: bool) -> None:
    """Make sure that a job may write to a folder; say whether it goes on there by leaving it.

    Raises:
        OutputError: If it is in use and ``force`` is not set.
    """
    if folder.is_file():
        raise OutputError("is a file, not a folder", where=str(folder))
    held = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    if held and force:
        shutil.rmtree(folder)
    elif held and held != [RUN]:
        raise OutputError(
            "the output folder exists and is not empty",
            where=str(folder),
            step="Choose another --out, or pass --force to replace it.",
        )
