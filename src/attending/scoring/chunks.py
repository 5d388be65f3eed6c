"""What one worker does: some rows in, lines of predictions out. A faulty row spoils no other."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attending.models.base import Model
from attending.records import Prediction, Row, Unreadable

_PART, _DONE = "part-{:07d}.jsonl", "part-{:07d}.json"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of one file that follow each other; ``number`` counts chunks of the whole job."""

    number: int
    file: str
    rows: tuple[tuple[int, Row], ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of a chunk: its lines, its rows without an answer, and counts."""

    number: int
    lines: bytes
    errors: tuple[dict[str, Any], ...]
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.counts["rows"])


def score_chunk(model: Model, chunk: Chunk, evidence: bool = False) -> Scored:
    """Score a chunk. Every row has its line, in order, with its file and row number."""
    rows = [row for _, row in chunk.rows]
    predictions = _safely(model, rows, evidence)
    lines, errors = [], []
    for (number, row), prediction in zip(chunk.rows, predictions, strict=True):
        line = prediction.to_dict() | {"file": chunk.file, "row": number}
        lines.append(json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n")
        if prediction.status != "ok":
            source = row.source
            errors.append(
                {
                    "file": chunk.file,
                    "row": number,
                    "line": source.line if source else None,
                    "id": prediction.id,
                    "status": prediction.status,
                    "reason": prediction.reason,
                }
            )
    counts = {
        "rows": len(rows),
        "status": dict(Counter(p.status for p in predictions)),
        "labels": dict(Counter(label for p in predictions for label in p.labels)),
        "abstained": sum(p.abstained for p in predictions),
        "read_in_part": sum(p.status == "ok" and p.read.truncated for p in predictions),
    }
    return Scored(chunk.number, b"".join(lines), tuple(errors), counts)


def _safely(model: Model, rows: Sequence[Row], evidence: bool) -> list[Prediction]:
    """Return a prediction for each row; where the rows fail together, they are scored singly."""
    try:
        return _answered(model, rows, evidence)
    except Exception as error:  # whatever a text does to a model, the others are answered
        if len(rows) != 1:
            return [p for row in rows for p in _safely(model, [row], evidence)]
        # The name of the error alone: its message may hold text.
        reason = f"scoring failed ({type(error).__name__})"
        return model.predict([Unreadable(rows[0].id, reason, rows[0].source)])


def _answered(model: Model, rows: Sequence[Row], evidence: bool) -> list[Prediction]:
    predictions = model.predict(rows)
    if not evidence:
        return predictions
    from attending.explain.evidence import explain

    return list(explain(model, rows, predictions))


def write_part(folder: Path, scored: Scored) -> None:
    """Write the part of a chunk; it counts only once its second file stands under its name."""
    _write(folder / _PART.format(scored.number), scored.lines)
    done = {"counts": scored.counts, "errors": scored.errors}
    body = json.dumps(done, ensure_ascii=False).encode("utf-8")
    _write(folder / _DONE.format(scored.number), body)


def _write(path: Path, body: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with part.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_part(folder: Path, number: int) -> Scored | None:
    """Return what is known of a finished chunk, without its lines; ``None`` if it isn't done."""
    try:
        body = json.loads((folder / _DONE.format(number)).read_bytes())
        if not part_path(folder, number).is_file():
            return None
        return Scored(number, b"", tuple(body["errors"]), body["counts"])
    except (OSError, ValueError, KeyError):
        return None


def part_path(folder: Path, number: int) -> Path:
    """Return where the lines of a chunk lie."""
    return folder / _PART.format(number)


def add(total: dict[str, Any], counts: dict[str, Any]) -> dict[str, Any]:
    """Add the counts of a chunk to those of the chunks before it."""
    summed = dict(total)
    for key, value in counts.items():
        if isinstance(value, dict):
            summed[key] = dict(Counter(summed.get(key, {})) + Counter(value))
        else:
            summed[key] = summed.get(key, 0) + value
    return summed
