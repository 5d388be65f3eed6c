"""Size and time of systems, measured in turns in one process: one message at a time."""

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from attending.models.base import Model
from attending.models.store import load_model
from attending.outputs import write_text
from attending.records import Document
from attending.study.folders import StudyFolder, plain_name, read_if_whole
from attending.study.plan import Cell
from attending.study.train import first_cells

_FOLDER = "timing"
_ROUNDS = 3
_WARM = 5


@dataclass(frozen=True, slots=True)
class Timed:
    """Size and time of a system.

    parameters: numbers learnt. megabytes: weights and all else in the model folder.
    milliseconds: wall time of a message by itself, the median over messages of the median over
    rounds. cpu_seconds: processor time of all threads for the whole test part, one message at a
    time, scaled from those measured; the median over rounds.
    """

    parameters: int | None
    megabytes: float
    milliseconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of the systems of a corpus, on ``measured`` of ``documents`` test documents."""

    systems: Mapping[str, Timed]
    documents: int
    measured: int
    rounds: int
    threads: int
    cores: int | None


def time_study(home: StudyFolder, progress: Callable[[str], None] | None = None) -> None:
    """Measure the systems of every corpus whose models are there, unless that is done already.

    The systems take turns, round by round, so that what else the machine does hits all alike.
    ``progress`` is told which system is measured.
    """
    if not home.study.head.timing:
        return
    for corpus in home.study.corpora:
        cells = first_cells(home, corpus)
        digests = {system: home.digest(cell) for system, cell in cells.items()}
        path = _path(home, corpus)
        if not cells or (path.is_file() and read_if_whole(path).get("digests") == digests):
            continue
        timing = _measure(home, corpus, cells, progress or (lambda _: None))
        path.parent.mkdir(parents=True, exist_ok=True)
        body = {"digests": digests, **asdict(timing)}
        write_text(path, json.dumps(body, indent=2) + "\n", force=True)


def read_timing(home: StudyFolder, corpus: str) -> Timing | None:
    """Return what was measured on a corpus for the cells as they are now, or ``None``."""
    path = _path(home, corpus)
    if not home.study.head.timing or not path.is_file():
        return None
    body = read_if_whole(path)
    digests = body.pop("digests", {})
    cells = first_cells(home, corpus)
    systems = {
        name: Timed(**row)
        for name, row in body.pop("systems", {}).items()
        if name in cells and digests.get(name) == home.digest(cells[name])
    }
    return Timing(systems=systems, **body) if systems else None


def _measure(
    home: StudyFolder, corpus: str, cells: Mapping[str, Cell], progress: Callable[[str], None]
) -> Timing:
    import torch

    first = next(iter(cells.values()))
    test = home.study.corpora[corpus].parts(first.seed, first.fold).test
    documents = test[: home.study.head.timing_documents]
    rounds: dict[str, list[tuple[list[float], float]]] = {name: [] for name in cells}
    for number in range(_ROUNDS):
        for name, cell in cells.items():
            progress(f"{name}, round {number + 1} of {_ROUNDS}")
            model = load_model(home.cell(cell).model)
            rounds[name].append(one_by_one(model, documents))
    systems = {
        name: _summary(home, cell, rounds[name], len(test) / len(documents))
        for name, cell in cells.items()
    }
    return Timing(
        systems, len(test), len(documents), _ROUNDS, torch.get_num_threads(), os.cpu_count()
    )


def one_by_one(model: Model, documents: Sequence[Document]) -> tuple[list[float], float]:
    """Return the wall time of each document by itself, and the processor time of all, in seconds.

    A few documents go first, unmeasured: the first call of a model sets things up.
    """
    for document in documents[:_WARM]:
        model.predict([document])
    processor, each = time.process_time(), []
    for document in documents:
        started = time.perf_counter()
        model.predict([document])
        each.append(time.perf_counter() - started)
    return each, time.process_time() - processor


def _summary(
    home: StudyFolder, cell: Cell, rounds: Sequence[tuple[list[float], float]], scale: float
) -> Timed:
    folder = home.cell(cell)
    size = sum(f.stat().st_size for f in folder.model.rglob("*") if f.is_file())
    walls = [statistics.median(times) for times in zip(*(each for each, _ in rounds), strict=True)]
    return Timed(
        parameters=folder.facts["parameters"],
        megabytes=round(size / 1e6, 3),
        milliseconds=round(1000 * statistics.median(walls), 4),
        cpu_seconds=round(scale * statistics.median(cpu for _, cpu in rounds), 6),
    )


def _path(home: StudyFolder, corpus: str) -> Path:
    return home.path / _FOLDER / f"{plain_name(corpus)}.json"
