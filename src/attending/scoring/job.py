"""A job on disk: what is scored with what, so that a run can go on where another was killed."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attending.data.corpora import load_corpus
from attending.data.fhir.loading import fhir_files
from attending.data.streams import stream_rows
from attending.errors import OutputError
from attending.models.contents import files_of
from attending.outputs import write_text
from attending.records import Row
from attending.scoring.chunks import Chunk

JOB, RESULT = "job.json", "score.json"
PREDICTIONS, ERRORS, PARTS = "predictions.jsonl", "errors.jsonl", "parts"
_OWN = (JOB, RESULT, PREDICTIONS, ERRORS, PARTS)
_LOCK = ".lock"
FORMAT = 1
_USUAL = "float32"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: columns by role, conditions, encoding."""

    named: Mapping[str, str | None] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"

    def rows(self, path: Path) -> Iterator[tuple[int, Row]]:
        """Yield number and document of each row of a file; FHIR is read whole, the rest as needed.

        Raises:
            DataError: If the file can't be read.
        """
        if not fhir_files([path], None):
            yield from stream_rows(path, self.named, self.where, self.encoding)
            return
        corpus = load_corpus(path, label="", where=self.where, encoding=self.encoding)
        yield from enumerate(corpus.rows, start=1)


@dataclass(frozen=True, slots=True)
class Source:
    """A file to score, by content: name, SHA-256 and how many rows of it are wanted."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done; two jobs that are equal write the same files, byte for byte."""

    model: str
    sources: tuple[Source, ...]
    reading: Reading
    chunk_rows: int
    evidence: bool
    precision: str = _USUAL

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(source.rows for source in self.sources)

    def to_dict(self) -> dict[str, Any]:
        """Return its on-disk form."""
        body: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        named = body["reading"]["named"]
        body["reading"]["named"] = {k: v for k, v in named.items() if v is not None}
        return {"format": FORMAT, **body}


def plan(
    model: Path,
    files: Sequence[Path],
    reading: Reading,
    chunk_rows: int,
    evidence: bool,
    precision: str = _USUAL,
) -> Job:
    """Look at all files once, before anything is scored: each must be readable to its end.

    Raises:
        DataError: If one can't be read; says where.
    """
    sources = []
    for path in files:
        rows = sum(1 for _ in reading.rows(path))  # says what is wrong, if something is
        sources.append(Source(name_of(path), _digest([path]), rows))
    digest = model_digest(model)
    return Job(digest, tuple(sources), reading, chunk_rows, evidence, precision)


def chunks(job: Job, files: Sequence[Path]) -> Iterator[Chunk]:
    """Yield the chunks of a job in order; none has rows of two files."""
    number = 0
    for path in files:
        rows = job.reading.rows(path)
        while found := tuple(islice(rows, job.chunk_rows)):
            yield Chunk(number, name_of(path), found)
            number += 1


def name_of(path: Path) -> str:
    """Return a file's name as it can be written: bytes that are no characters are spelled out."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def model_digest(folder: Path) -> str:
    """Return a fingerprint of all that a model's answers depend on."""
    paths = [path for _, path in files_of(folder)]
    return _digest(paths, folder)


def _digest(paths: Iterable[Path], folder: Path | None = None) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if folder is not None:
            digest.update(str(path.relative_to(folder)).encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


class Place:
    """The output folder of a job, held by one run at a time.

    Args:
        folder: Where to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.parts = folder, folder / PARTS
        self._lock = FileLock(folder / _LOCK)

    def claim(self) -> None:
        """Take the folder for this run.

        Raises:
            OutputError: If it is a file, holds something else, or another run is at work there.
        """
        if self.folder.is_file():
            raise OutputError("is a file, not a folder", where=str(self.folder))
        held = {p.name for p in self.folder.iterdir()} if self.folder.is_dir() else set()
        if held - {_LOCK} and not held & {JOB, RESULT}:
            raise OutputError(
                "the folder holds something that is no scoring job",
                where=str(self.folder),
                step="Choose another --out.",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise OutputError(
                "another run is at work in this folder", where=str(self.folder)
            ) from None

    def clear(self) -> None:
        """Remove what jobs wrote, and nothing else."""
        for name in _OWN:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def begin(self, job: Job) -> bool:
        """Note the job, or go on with it; says whether it is done already.

        Raises:
            OutputError: If the folder holds another job.
        """
        wanted = job.to_dict()
        path = self.folder / JOB
        if path.is_file():
            differs = _differences(_read(path), wanted)
            if differs:
                raise OutputError(
                    "the folder holds another job",
                    where=str(self.folder),
                    found=f"other {', '.join(differs)}",
                    step="Choose another --out, or pass --force to start anew.",
                )
            if (self.folder / RESULT).is_file():
                return True
        else:
            write_text(path, json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", force=True)
        self.parts.mkdir(exist_ok=True)
        return False

    def finish(self, result: Mapping[str, Any]) -> None:
        """Note that all is done, and remove the parts."""
        body = json.dumps(result, indent=2, ensure_ascii=False)
        write_text(self.folder / RESULT, body + "\n", force=True)
        shutil.rmtree(self.parts, ignore_errors=True)

    def result(self) -> dict[str, Any]:
        """Return what the job came to."""
        return _read(self.folder / RESULT)

    def release(self) -> None:
        """Let other runs in."""
        self._lock.release()
        (self.folder / _LOCK).unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return body
    except (OSError, ValueError):
        raise OutputError(
            "can't be read", where=str(path), step="Pass --force to start anew."
        ) from None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = {
        "format": "version of attending", "model": "model", "sources": "files",
        "reading": "columns or conditions", "chunk_rows": "--chunk", "evidence": "--evidence",
        "precision": "--precision",
    }  # fmt: skip
    before = {"precision": _USUAL, **old}  # jobs of earlier versions name none
    return [word for key, word in names.items() if before.get(key) != new.get(key)]


def cores() -> int:
    """Return how many processors this process may use."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1
