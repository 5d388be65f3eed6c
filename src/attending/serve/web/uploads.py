"""Files that a person uploads: read within bounds, as the readers of every other verb read them."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from attending.data.corpora import Corpus, load_corpus
from attending.errors import DataError
from attending.records import Document, Prediction
from attending.serve.entries import Upload
from attending.serve.placing import by_urgency
from attending.serve.predictor import Predictor
from attending.serve.store import Store

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
MOST_ROWS = 20_000
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What a person is told of an upload."""

    upload: Upload
    again: int
    problems: tuple[tuple[str, str], ...]
    more: int
    notes: tuple[str, ...]


def take_upload(
    data: bytes, name: str, predictor: Predictor, store: Store, who: str, zone: str | None
) -> Uploaded:
    """Read a file of messages, predict them and keep them.

    Args:
        data: The file's content, no larger than the service allows.
        name: What it was called; its ending says what it is.
        predictor: What reads the messages.
        store: Where they are kept.
        who: Who uploads.
        zone: Zone of FHIR times that name none.

    Raises:
        DataError: If it can't be read, or holds more rows than ``MOST_ROWS``.
    """
    corpus = read_upload(data, name, zone)
    if len(corpus.rows) > MOST_ROWS:
        raise DataError(
            "the file holds too many messages",
            where=_safe(name),
            found=f"{len(corpus.rows):,}",
            allowed=f"{MOST_ROWS:,}",
            step="Split it, or use attending score.",
        )
    predictions = predictor.predict(corpus.rows, evidence=True)
    upload = store.add_upload(
        _safe(name), corpus.rows, predictions,
        who=who, model=str(predictor.maker), order=by_urgency(predictor.labels),
    )  # fmt: skip
    problems = [
        (str(row.source or row.id), _why(p))
        for row, p in zip(corpus.rows, predictions, strict=True)
        if p.status != "ok"
    ]
    notes = list(corpus.notes)
    if any(isinstance(row, Document) and row.labels for row in corpus.rows):
        notes.append("The file has labels of its own; they are not shown, so that they sway nobody")
    again = upload.rows - upload.added
    shown = tuple(problems[:_SHOWN])
    return Uploaded(upload, again, shown, len(problems) - len(shown), tuple(notes))


def _why(prediction: Prediction) -> str:
    if prediction.status == "empty_text":
        return "no text in it"
    return prediction.reason or "not read"


def read_upload(data: bytes, name: str, zone: str | None = None) -> Corpus:
    """Read the rows of an uploaded file; it is on disk for as long as that takes, for us alone.

    Raises:
        DataError: If it is empty, of another kind, or can't be read.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in KINDS:
        raise DataError(
            "this kind of file can't be uploaded",
            found=f'ending "{suffix[:10]}"' if suffix else "no ending",
            allowed="CSV, TSV, JSON lines, FHIR (JSON or NDJSON)",
        )
    if not data.strip():
        raise DataError("the file is empty", where=_safe(name))
    with tempfile.TemporaryDirectory(prefix="attending-upload-") as folder:
        path = Path(folder) / _safe(name)
        path.write_bytes(data)
        try:
            return load_corpus(path, zone=zone)
        except DataError as error:
            where = (error.where or "").replace(f"{folder}/", "")
            raise DataError(
                error.what,
                where=where,
                found=error.found,
                allowed=error.allowed,
                step=error.step if "--" not in (error.step or "") else None,
            ) from None


def _safe(name: str) -> str:
    """Return a file's name without folders and odd characters, and not over-long."""
    path = Path(name.replace("\\", "/"))
    stem = _ODD.sub("_", Path(path.name).stem).lstrip(".")[:80]
    return f"{stem or 'upload'}{path.suffix.lower()}"
