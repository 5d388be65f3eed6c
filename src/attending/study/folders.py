"""Where a study keeps what it made: a folder a cell, with one file that says that it is whole.

``cells/CORPUS/SYSTEM/ROWS/seed-N-DIGEST/`` holds ``recipe.toml``, ``metrics.json`` (test figures),
``predictions.jsonl`` (ids, labels and scores; no text) and, last, ``cell.json``. The digest is
that of the recipe, what its encoder's files hold, the data, the labels and the teachers, so a
changed study file or encoder never takes an old cell for a new one.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attending.data.corpora import Corpus
from attending.errors import OutputError, StudyError
from attending.models.contents import content_of
from attending.models.store import as_trained
from attending.outputs import write_text
from attending.records import Coverage, Document, Prediction
from attending.study.plan import Cell, Study

CELLS, STUDY = "cells", "study.json"
DONE, FAILED, PREDICTIONS, METRICS, MODEL, RUN = (
    "cell.json", "failed.json", "predictions.jsonl", "metrics.json", "model", "run",
)  # fmt: skip
_FORMAT = 1
_LOCK = ".lock"
_STRANGE = re.compile(r"[^\w.+-]+")


class StudyFolder:
    """The output folder of a study.

    Args:
        study: The study.
        path: The folder.
        cells: Where cells are kept, if not in it; studies that share a folder share the cells
            that they have in common.
    """

    def __init__(self, study: Study, path: Path, cells: Path | None = None) -> None:
        self.study, self.path = study, path
        self.shared = cells is not None
        self.cells = path / CELLS if cells is None else cells
        self._digests: dict[Cell, str] = {}
        self._prints: dict[Cell, dict[str, str | None]] = {}

    def claim(self, force: bool) -> None:
        """Make the folder, or make sure that it is this study's.

        Raises:
            OutputError: If it is a file, or holds something else.
            StudyError: If it is another study's; with ``force``, too.
        """
        if self.path.is_file():
            raise OutputError("is a file, not a folder", where=str(self.path))
        marker = self.path / STUDY
        if marker.is_file():
            name = _read_json(marker).get("name")
            if name != self.study.file.name:
                raise StudyError(
                    "the folder holds another study",
                    where=str(self.path),
                    found=f'"{name}"',
                    step="Choose another --out.",
                )
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise OutputError(
                "the folder holds something else than a study",
                where=str(self.path),
                step="Choose another --out.",
            )
        self.path.mkdir(parents=True, exist_ok=True)
        body = {"format": _FORMAT, "name": self.study.file.name}
        write_text(marker, json.dumps(body) + "\n", force=True)
        if force:
            for cell in self.study.cells():
                self.cell(cell).forget()

    def cell(self, cell: Cell) -> "CellFolder":
        """Return the folder of a cell."""
        rows = "all-rows" if cell.size is None else f"{cell.size}-rows"
        fold = "" if cell.fold is None else f"-fold-{cell.fold + 1}"
        last = f"seed-{cell.seed}{fold}-{self.digest(cell)[:8]}"
        return CellFolder(
            self.cells / plain_name(cell.corpus) / plain_name(cell.system) / rows / last
        )

    def digest(self, cell: Cell) -> str:
        """Return what a cell is made of, as one number."""
        if cell not in self._digests:
            corpus, recipe = self.study.corpora[cell.corpus], self.study.recipe(cell)
            content = content_of(recipe)
            made_of = {
                "format": _FORMAT,
                "recipe": as_trained(recipe).to_table(),
                **({"content": content} if content else {}),
                "labels": corpus.labels.hash,
                "seed": cell.seed,
                "data": self.fingerprints(cell),
                **({"spans": corpus.table.spans} if corpus.table.spans else {}),
                "teachers": [self.digest(t) for t in self.study.teachers(cell)],
            }
            body = json.dumps(made_of, sort_keys=True, ensure_ascii=False)
            self._digests[cell] = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        return self._digests[cell]

    def fingerprints(self, cell: Cell) -> dict[str, str | None]:
        """Return the fingerprints of what a cell trains on, chooses by and is scored on."""
        key = replace(cell, system="")
        if key not in self._prints:
            corpus = self.study.corpora[cell.corpus]
            parts = corpus.parts(cell.seed, cell.fold, cell.size)
            self._prints[key] = {
                "train": Corpus(parts.train).fingerprint,
                "development": None
                if parts.development is None
                else Corpus(parts.development).fingerprint,
                "test": Corpus(parts.test).fingerprint,
            }
        return self._prints[key]

    def left_over(self) -> int:
        """Count finished cells that the study file, as it is now, doesn't ask for.

        Cells that are shared may be of other studies, so none of them counts.
        """
        if self.shared:
            return 0
        wanted = {self.cell(cell).path for cell in self.study.cells()}
        return sum(f.parent not in wanted for f in self.cells.glob(f"*/*/*/*/{DONE}"))


@dataclass(frozen=True)
class CellFolder:
    """The folder of one cell."""

    path: Path

    @property
    def done(self) -> bool:
        """Whether the cell is finished."""
        return (self.path / DONE).is_file()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is known of a finished cell.

        Raises:
            StudyError: If it can't be read.
        """
        return _read_json(self.path / DONE)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All figures of a finished cell.

        Raises:
            StudyError: If they can't be read.
        """
        return _read_json(self.path / METRICS)

    @property
    def failure(self) -> str | None:
        """Why an attempt at the cell failed, or ``None``."""
        path = self.path / FAILED
        return str(_read_json(path).get("reason")) if path.is_file() else None

    @property
    def model(self) -> Path:
        """Where its model is, if it was kept."""
        return self.path / MODEL

    def forget(self) -> None:
        """Remove what says that the cell is finished or failed, and an unfinished run."""
        import shutil

        (self.path / DONE).unlink(missing_ok=True)
        (self.path / FAILED).unlink(missing_ok=True)
        shutil.rmtree(self.path / RUN, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Take the cell for this process; gives whether it could be taken.

        The lock is the operating system's and ends with the process, however it ends.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / _LOCK)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def write(
        self,
        facts: Mapping[str, Any],
        recipe: str,
        metrics: Mapping[str, Any],
        documents: Sequence[Document],
        predictions: Sequence[Prediction],
    ) -> None:
        """Write a finished cell; the file that says so comes last."""
        write_text(self.path / "recipe.toml", recipe, force=True)
        self._json(METRICS, metrics)
        rows = [
            json.dumps(_row(d, p), ensure_ascii=False)
            for d, p in zip(documents, predictions, strict=True)
        ]
        _write(self.path / PREDICTIONS, "\n".join(rows) + "\n")
        (self.path / FAILED).unlink(missing_ok=True)
        self._json(DONE, facts)

    def write_failure(self, reason: str) -> None:
        """Write why the cell failed."""
        self._json(FAILED, {"reason": reason})

    def answers(self) -> tuple[list[Document], list[Prediction]]:
        """Return the test documents, without their texts, and what was predicted.

        Raises:
            StudyError: If they can't be read.
        """
        path = self.path / PREDICTIONS
        try:
            # Not splitlines(): ids and labels may hold line ends that only Unicode has.
            lines = path.read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line) for line in lines if line]
            documents = [Document(r["id"], "", _labels(r["truth"])) for r in rows]
            return documents, [_prediction(r) for r in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _damaged(path, error) from None

    def _json(self, name: str, value: Mapping[str, Any]) -> None:
        body = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        _write(self.path / name, body + "\n")


def _row(document: Document, prediction: Prediction) -> dict[str, Any]:
    labels = document.labels
    return {
        "id": prediction.id,
        "truth": None if labels is None else list(labels),
        "status": prediction.status,
        "labels": list(prediction.labels),
        "abstained": prediction.abstained,
        "scores": {i: float(f"{score:.6g}") for i, score in prediction.scores.items()},
        "read": [prediction.read.tokens, prediction.read.of, prediction.read.windows],
    }


def _labels(found: list[str] | None) -> tuple[str, ...] | None:
    return None if found is None else tuple(found)


def _prediction(row: Mapping[str, Any]) -> Prediction:
    return Prediction(
        id=row["id"],
        status=row["status"],
        labels=tuple(row["labels"]),
        scores=dict(row["scores"]),
        abstained=row["abstained"],
        read=Coverage(*row["read"]),
    )


def plain_name(name: str) -> str:
    """Turn a name into a folder's name; names that would meet there keep a digest each."""
    plain = _STRANGE.sub("-", name).strip(".-")
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def _write(path: Path, text: str) -> None:
    # Lone surrogates, which a JSON file may hold in an id, have no UTF-8 form.
    write_text(path, text.encode("utf-8", "backslashreplace").decode(), force=True)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
    if not isinstance(value, dict):
        raise _damaged(path, TypeError())
    return value


def read_if_whole(path: Path) -> dict[str, Any]:
    """Return what a file of facts holds; nothing where it is missing or damaged."""
    try:
        return _read_json(path)
    except StudyError:
        return {}


def _damaged(path: Path, error: Exception) -> StudyError:
    return StudyError(
        f"can't be read ({type(error).__name__})",
        where=str(path),
        step="Remove the folder that it is in; the same command makes it anew.",
    )
