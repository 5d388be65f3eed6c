"""Several trainings that differ by seed alone, and the mean and spread of their figures."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attending.cli.origin import Origin
from attending.cli.progress import duration
from attending.cli.tables import table
from attending.errors import ModelError, OutputError

if TYPE_CHECKING:
    from rich.table import Table

    from attending.recipe import Recipe
    from attending.records import LabelSet

SUMMARY = "seeds.json"
_FOLDER = re.compile(r"seed-(\d+)")
_HEADS = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "strict_micro_f1": "strict micro-F1",
    "strict_macro_f1": "strict macro-F1",
    "partial_micro_f1": "partial micro-F1",
    "unweighted_accuracy": "unweighted accuracy",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A trained model: its seed, folder, development figures and facts."""

    seed: int
    folder: Path
    metrics: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def seed_folder(out: Path, seed: int) -> Path:
    """Return the folder of one of several models."""
    return out / f"seed-{seed}"


def seed_folders(folder: Path) -> list[Path]:
    """Return the model folders of ``train --seeds`` in a folder, by seed; none if it has none."""
    from attending.models.store import MANIFEST

    if not folder.is_dir():
        return []
    found = [(int(m[1]), p) for p in folder.iterdir() if (m := _FOLDER.fullmatch(p.name))]
    return [p for _, p in sorted(found) if (p / MANIFEST).is_file()]


def require_place(out: Path, force: bool, several: bool) -> None:
    """Make sure that training may write to a folder, before anything is read.

    Raises:
        OutputError: If it is in use and ``force`` is not set, or holds something that training
            did not write, which not even ``force`` replaces.
    """
    from attending.models.store import RUN, require_free

    if not several:
        require_free(out, force or (out / RUN).is_dir())
        return
    if out.is_file():
        raise OutputError("is a file, not a folder", where=str(out))
    names = [p.name for p in out.iterdir()] if out.is_dir() else []
    strange = [name for name in names if name != SUMMARY and not _FOLDER.fullmatch(name)]
    if strange:
        raise OutputError(
            "the folder holds something else than models by seed",
            where=str(out),
            step="Choose another --out.",
        )


def finished(
    folder: Path, recipe: "Recipe", labels: "LabelSet", origin: Origin, seed: int
) -> Run | None:
    """Return the run whose model is in a folder already, if it is the one that is wanted."""
    from attending.models.contents import content_of
    from attending.models.store import MANIFEST, as_trained

    try:
        if Origin.read(folder) != origin:
            return None
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        written_recipe = (folder / "recipe.toml").read_text(encoding="utf-8")
    except (ModelError, OSError, ValueError):
        return None
    names = ("label_set_hash", "seed", "encoder_content")
    same = (written_recipe, *(manifest.get(name) for name in names))
    if same != (as_trained(recipe).to_toml(), labels.hash, seed, content_of(recipe)):
        return None
    return Run(seed, folder, metrics, manifest)


def require_same(out: Path, recipe: "Recipe", labels: "LabelSet", origin: Origin) -> list[Run]:
    """Make sure that the models of a folder, of whatever seed, differ by their seeds alone.

    Returns:
        These models, which belong to the summary also where fewer seeds are asked for now.

    Raises:
        OutputError: If one is of another recipe, encoder, label set or file.
    """
    runs: list[Run] = []
    for folder in seed_folders(out):
        seed = int(folder.name.rpartition("-")[2])
        run = finished(folder, recipe, labels, origin, seed)
        if run is None:
            raise OutputError(
                "the folder holds a model of another recipe, encoder, label set or file",
                where=str(folder),
                step="Choose another --out, or pass --force to replace all of them.",
            )
        runs.append(run)
    return runs


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Return runs by seed; of one seed, the last."""
    return [run for _, run in sorted({run.seed: run for run in runs}.items())]


def drop_others(out: Path, runs: Sequence[Run]) -> None:
    """Remove models of seeds that an earlier run had and this one, which replaces it, has not."""
    for folder in seed_folders(out):
        if folder not in [run.folder for run in runs]:
            shutil.rmtree(folder)


def spread_table(rows: Mapping[str, Mapping[str, float]], seconds: Sequence[float] = ()) -> "Table":
    """Return a table of figures by run, with their mean and standard deviation below."""
    names = _in_all(rows)
    heads = ["", *(_HEADS.get(name, name) for name in names)]
    body = [[run, *(written(n, figures[n]) for n in names)] for run, figures in rows.items()]
    if seconds:
        heads.append("time")
        for row, spent in zip(body, seconds, strict=True):
            row.append(duration(spent))
    for label, kind in (("mean", "mean"), ("sd", "sd")):
        values = [spread(rows)[name][kind] for name in names]
        cells = [
            written(n, v) if v is not None else "–" for n, v in zip(names, values, strict=True)
        ]
        body.append([label, *cells, *([""] if seconds else [])])
    return table(heads, body)


def spread(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Return mean, standard deviation (n - 1), number, least and greatest of each figure."""
    from dataclasses import asdict

    from attending.evaluation.significance import mean_and_spread

    names = _in_all(rows)
    return {n: asdict(mean_and_spread([figures[n] for figures in rows.values()])) for n in names}


def _in_all(rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the figures that every run has, in the order of the first."""
    first = next(iter(rows.values()), {})
    return [name for name in first if all(name in figures for figures in rows.values())]


def write_summary(out: Path, runs: Sequence[Run]) -> None:
    """Write the development figures of all runs and their spread."""
    rows = {str(run.seed): dict(run.metrics) for run in runs}
    body = {"seeds": [run.seed for run in runs], "development": rows, "spread": spread(rows)}
    text = json.dumps(body, indent=2, allow_nan=False) + "\n"
    (out / SUMMARY).write_text(text, encoding="utf-8")


def written(name: str, value: float) -> str:
    """Write a figure in the way of its kind: shares in per cent, others as decimals."""
    shares = ("accuracy", "recall", "precision")
    return f"{value:.1%}" if name.rpartition(" ")[2] in shares else f"{value:.3f}"
