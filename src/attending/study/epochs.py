"""How networks came along: their development figures by epoch, from the logs of finished cells."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from attending.evaluation.significance import Spread, mean_and_spread
from attending.study.folders import StudyFolder
from attending.study.names import Figure
from attending.study.plan import Cell
from attending.training.fit import LOG

Scores = Mapping[float, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Progress:
    """A system's figure on development rows: (epoch, over seeds), where all its runs have one."""

    system: str
    points: tuple[tuple[float, Spread], ...]


@dataclass(frozen=True, slots=True)
class Epochs:
    """How the networks of a corpus came along by a figure."""

    corpus: str
    figure: Figure
    systems: tuple[Progress, ...]


def read_scores(path: Path) -> Scores:
    """Return the development figures of a training log by epoch.

    Of an epoch that was repeated after a stop, the last figures count. Empty where there is no
    log; lines that can't be read are passed over, as a log is no more than a picture's source.
    """
    found: dict[float, Mapping[str, float]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return found
    for line in lines:
        try:
            row = json.loads(line)
            if row["kind"] == "epoch":
                scores = {k: float(v) for k, v in row["metrics"].items()}
                found[float(row["epoch"])] = {k: v for k, v in scores.items() if isfinite(v)}
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def by_epoch(
    home: StudyFolder, corpus: str, size: int | None, figures: Sequence[Figure]
) -> Epochs | None:
    """Return the first of the figures that training logs have, by system and epoch.

    ``None`` where no system has two epochs, or logs have none of the figures.
    """
    logs = {name: _runs(home, corpus, name, size) for name in home.study.systems}
    for figure in figures:
        if figure.of is None:
            made = (_progress(name, runs, figure.key) for name, runs in logs.items())
            systems = tuple(found for found in made if len(found.points) > 1)
            if systems:
                return Epochs(corpus, figure, systems)
    return None


def _runs(home: StudyFolder, corpus: str, system: str, size: int | None) -> list[list[Scores]]:
    """Return the logs of a system's finished cells: by seed, then by fold."""
    found = []
    for seed in home.study.systems[system].seeds:
        cells = [Cell(corpus, system, seed, size, fold) for fold in home.study.folds(corpus)]
        folders = [home.cell(cell) for cell in cells]
        if all(folder.done for folder in folders):
            found.append([read_scores(folder.path / LOG) for folder in folders])
    return found


def _progress(system: str, runs: Sequence[Sequence[Scores]], key: str) -> Progress:
    values: dict[float, list[float]] = defaultdict(list)
    for folds in runs:
        shared = set.intersection(*(set(fold) for fold in folds))
        for epoch in shared:
            known = [fold[epoch][key] for fold in folds if key in fold[epoch]]
            if len(known) == len(folds):
                values[epoch].append(float(np.mean(known)))
    points = [(e, mean_and_spread(v)) for e, v in sorted(values.items()) if len(v) == len(runs)]
    return Progress(system, tuple(points))
