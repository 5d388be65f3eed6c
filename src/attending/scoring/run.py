"""Score files into a folder: predictions in the order of the rows, and rows without an answer."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from attending.errors import DataError
from attending.models.base import require_method
from attending.models.precision import resolve
from attending.outputs import new_file
from attending.scoring.chunks import Chunk, Scored, add, part_path, read_part
from attending.scoring.cluster import run_on_ray
from attending.scoring.job import (
    ERRORS,
    PREDICTIONS,
    Job,
    Place,
    Reading,
    chunks,
    cores,
    name_of,
    plan,
)
from attending.scoring.local import run_here

Engine = Literal["local", "ray"]
CHUNK_ROWS = 2000
Progress = Callable[[int, int, float | None], None]
"""Called with rows done, rows in all, and the seconds left, if that is known."""
_SECONDS_TO_KNOW = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to: counts, and how many of its rows an earlier run had done."""

    counts: dict[str, Any]
    resumed: int
    seconds: float
    done_before: bool = False


def score_files(
    model: str | Path,
    files: Sequence[str | Path],
    out: str | Path,
    *,
    reading: Reading | None = None,
    engine: Engine = "local",
    workers: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    evidence: bool = False,
    precision: str = "float32",
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Score the rows of files and write ``predictions.jsonl``, ``errors.jsonl``, ``score.json``.

    Each file is looked at once before the first row is scored. Rows are then scored in chunks,
    of which few are in memory; each becomes a part on disk. The same call in the same folder goes
    on from there, whatever ended the last one, and gives the same files byte for byte.

    Args:
        model: A model folder, exported or not.
        files: CSV, TSV, JSON lines (each also ``.gz``), Parquet, or FHIR (read whole).
        out: The folder to write.
        reading: Columns, conditions and encoding.
        engine: This machine, or a Ray cluster.
        workers: Processes, or actors; one a core if unset, fewer for few rows.
        chunk_rows: Rows of a chunk: what a crash loses, and what is held for each worker. Texts of
            like length are scored together within a chunk.
        evidence: Whether the words behind each label are wanted.
        precision: What a network answers in, see ``attending.models.precision.answer_in``.
        force: Start anew, whatever the folder holds of a job.
        progress: Told how far it is.

    Raises:
        DataError: If a file can't be read.
        OutputError: If the folder holds something else, or another run is at work there.
        ModelError: If the model can't be loaded, has no evidence that is wanted, or a worker was
            killed.
        MissingExtra: If the engine is Ray and Ray isn't installed.
    """
    folder, paths = Path(model).resolve(), [Path(file) for file in files]
    if not paths:
        raise DataError("no file was named", step="Name a file of rows to score.")
    if chunk_rows < 1:
        raise DataError("a chunk has no rows", found=str(chunk_rows), allowed="1 or more")
    if evidence:
        _require_evidence(folder)
    precision = resolve(precision)
    place = Place(Path(out))
    place.claim()
    try:
        job = plan(folder, paths, reading or Reading(), chunk_rows, evidence, precision)
        if not job.rows:
            raise DataError(
                "there are no rows to score", where=", ".join(name_of(p) for p in paths)
            )
        if force:  # not before: what is there stays where the new job can't begin
            place.clear()
        if place.begin(job):
            found = place.result()
            return Outcome(found["counts"], job.rows, found["seconds"], True)
        return _run(_Work(job, place, folder, paths, progress), engine, workers)
    finally:
        place.release()


def _require_evidence(folder: Path) -> None:
    """Make sure that a model says why, before all rows fail for it.

    Raises:
        ModelError: If it has no method of evidence, or can't be loaded.
    """
    from attending.models.store import load_model

    model = load_model(folder)
    require_method(None, model.methods, model.recipe.name)


class _Work:
    """A job at work: which chunks are to do, and how far it is."""

    def __init__(
        self,
        job: Job,
        place: Place,
        model: Path,
        files: Sequence[Path],
        progress: Progress | None,
    ) -> None:
        self.job, self.place, self.model = job, place, model
        self._files, self._progress = files, progress
        self.started = time.monotonic()
        self.resumed = self.scored = self.chunks = 0

    def todo(self) -> Iterator[Chunk]:
        """Yield the chunks that no earlier run has done."""
        for chunk in chunks(self.job, self._files):
            self.chunks = chunk.number + 1
            if read_part(self.place.parts, chunk.number) is None:
                yield chunk
            else:
                self.resumed += len(chunk.rows)
                self._tell()

    def done(self, scored: Scored) -> None:
        """Count a chunk."""
        self.scored += scored.rows
        self._tell()

    def left(self) -> int:
        """Return how many rows are left."""
        return self.job.rows - self.resumed - self.scored

    def _tell(self) -> None:
        if self._progress is None:
            return
        spent, done = time.monotonic() - self.started, self.resumed + self.scored
        known = self.scored and spent > _SECONDS_TO_KNOW
        left = spent / self.scored * (self.job.rows - done) if known else None
        self._progress(done, self.job.rows, left)


def _run(work: _Work, engine: Engine, workers: int | None) -> Outcome:
    from attending.models.store import load_model

    parts, evidence = work.place.parts, work.job.evidence
    load = partial(load_model, work.model, precision=work.job.precision)
    if engine == "ray":
        run_on_ray(load, work.todo(), parts, evidence, workers, work.done)
    else:
        many = workers if workers or cores() > 1 else 1
        run_here(load, work.todo(), parts, evidence, many, work.done, work.left)
    counts = _assemble(work)
    seconds = time.monotonic() - work.started
    work.place.finish(
        {
            "model": work.job.model,
            "files": [source.name for source in work.job.sources],
            "counts": counts,
            "seconds": round(seconds, 1),
            "engine": engine,
        }
    )
    return Outcome(counts, work.resumed, seconds)


def _assemble(work: _Work) -> dict[str, Any]:
    """Write the parts as one file, in order, and return the counts of all."""
    folder, parts = work.place.folder, work.place.parts
    counts: dict[str, Any] = {}
    with (
        new_file(folder / PREDICTIONS, force=True) as lines,
        new_file(folder / ERRORS, force=True) as errors,
    ):
        for number in range(work.chunks):
            part = read_part(parts, number)
            if part is None:
                raise DataError(
                    f"part {number} is missing", where=str(parts), step="Run the command again."
                )
            with part_path(parts, number).open("rb") as file:
                shutil.copyfileobj(file, lines)
            for error in part.errors:
                errors.write(json.dumps(error, ensure_ascii=False).encode("utf-8") + b"\n")
            counts = add(counts, part.counts)
    return counts
