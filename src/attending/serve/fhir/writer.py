"""FHIR files of predictions: a transaction Bundle, or NDJSON."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from attending.errors import DataError
from attending.outputs import new_file
from attending.records import LabelSet, Prediction, Row
from attending.serve.fhir.coding import SYSTEMS, code_system
from attending.serve.fhir.releases import Release, Resource, checker, require_release
from attending.serve.fhir.resources import Frame, instant
from attending.serve.maker import Maker
from attending.serve.priorities import Priorities, load_priorities

ALLOWED = ".json (a Bundle), .ndjson, each also .gz"


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Args:
        resources: Type -> number.
        priorities: Priority -> number of Tasks.
        notes: What a person should look at again.
    """

    resources: Mapping[str, int]
    priorities: Mapping[str, int]
    notes: tuple[str, ...] = ()


def require_writable(
    path: Path,
    labels: LabelSet,
    *,
    release: str = "R4",
    priorities: Path | Priorities | None = None,
    codes: str | None = None,
) -> None:
    """Refuse what ``write_fhir`` would refuse, before the work that fills the file.

    Raises:
        DataError: If the name of the file or the release is unknown.
        LabelError: If the labels have no usable map, or the code system is unknown.
        MissingExtra: If ``fhir.resources`` is not installed.
    """
    _bundled(path)
    checker(require_release(release))
    _meaning(labels, priorities, codes)


def write_fhir(
    rows: Iterable[Row],
    predictions: Iterable[Prediction],
    path: str | Path,
    *,
    labels: LabelSet,
    maker: Maker,
    release: str = "R4",
    priorities: str | Path | Priorities | None = None,
    codes: str | None = None,
    recorded: datetime | None = None,
    force: bool = False,
) -> Written:
    """Write predictions as FHIR: in ``.json`` one transaction Bundle, in ``.ndjson`` a line each.

    Where labels say what to read first, every row gets a Task with priority and focus. Where labels
    are codes, every code becomes a provisional Condition, and a row without codes, or not read to
    its end, a Task. Each row has a Provenance that names the model, which is a Device. Every
    resource is checked against its release as it is written. The messages are not touched.

    Ids are the same whenever the same model says something of the same message: one of the same
    reference or id, text, patient and time. A server that gets the Bundle again makes no second
    Task, Condition or Device (``ifNoneExist``). What is said of a message with neither a reference
    nor a text has no identifier, since another message may look the same: it is made each time.

    Args:
        rows: What was read, such as ``Corpus.rows``.
        predictions: One for each row, in order.
        path: Where to.
        labels: The model's labels.
        maker: The model by name and version.
        release: ``R4`` or ``R5``.
        priorities: Label -> priority, or a file of it; the bundled map fits the bundled labels.
        codes: Code system of the labels, by name or URL; known from the label set's own name.
        recorded: When it was said; now if left out.
        force: Write over an existing file.

    Raises:
        DataError: If the name of the file or the release is unknown, rows and predictions don't
            fit, ``recorded`` has no zone, or a resource is not valid.
        LabelError: If there is no map for these labels or the code system is unknown.
        MissingExtra: If ``fhir.resources`` is not installed.
        OutputError: If the file exists or can't be written.
    """
    path = Path(path)
    bundled = _bundled(path)
    chosen, system = _meaning(labels, priorities, codes)
    said = datetime.now(UTC) if recorded is None else recorded
    if said.tzinfo is None:
        raise DataError("the time of recording has no zone")
    which = require_release(release)
    frame = Frame(which, labels, maker, instant(said), chosen, system, bundled)
    counts: Counter[str] = Counter()
    ranks: Counter[str] = Counter()
    with new_file(path, force=force) as file:
        stream = _counted(_checked(frame, which, rows, predictions), counts, ranks)
        (_write_bundle if bundled else _write_lines)(stream, frame, file)
    return Written(dict(counts), dict(ranks), chosen.notes if chosen else ())


def fhir_bundle(
    rows: Iterable[Row],
    predictions: Iterable[Prediction],
    *,
    labels: LabelSet,
    maker: Maker,
    release: str = "R4",
    priorities: str | Path | Priorities | None = None,
    codes: str | None = None,
    recorded: datetime | None = None,
) -> Resource:
    """Return the transaction Bundle that ``write_fhir`` writes, for answers that stay in memory.

    Raises:
        DataError: As ``write_fhir``; so do the others.
    """
    chosen, system = _meaning(labels, priorities, codes)
    said = datetime.now(UTC) if recorded is None else recorded
    if said.tzinfo is None:
        raise DataError("the time of recording has no zone")
    which = require_release(release)
    frame = Frame(which, labels, maker, instant(said), chosen, system, bundled=True)
    made = _checked(frame, which, rows, predictions)
    return _HEAD | {"entry": [_entry(resource, frame) for resource in made]}


def _meaning(
    labels: LabelSet, priorities: str | Path | Priorities | None, codes: str | None
) -> tuple[Priorities | None, str | None]:
    """Return the map of a queue, or the code system; what was named decides."""
    if codes is not None:
        return None, code_system(codes)
    if isinstance(priorities, Priorities):
        return priorities, None
    if priorities is None and labels.name in SYSTEMS:
        return None, SYSTEMS[labels.name]
    return load_priorities(priorities, labels), None


def _bundled(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith((".json", ".ndjson")):
        raise DataError("FHIR is not written under this name", where=str(path), allowed=ALLOWED)
    return name.endswith(".json")


def _checked(
    frame: Frame, release: Release, rows: Iterable[Row], predictions: Iterable[Prediction]
) -> Iterator[Resource]:
    check = checker(release)
    device = frame.device()
    check(device)
    yield device
    left = iter(predictions)
    for row in rows:
        prediction = next(left, None)
        if prediction is None or prediction.id != row.id:
            raise DataError(
                "rows and predictions don't belong together",
                where=str(row.source) if row.source else None,
            )
        for resource in frame.of(row, prediction):
            check(resource)
            yield resource
    if next(left, None) is not None:
        raise DataError("there are more predictions than rows")


def _counted(
    resources: Iterator[Resource], counts: Counter[str], ranks: Counter[str]
) -> Iterator[Resource]:
    for resource in resources:
        counts[resource["resourceType"]] += 1
        if "priority" in resource:
            ranks[resource["priority"]] += 1
        yield resource


_HEAD: Resource = {"resourceType": "Bundle", "type": "transaction"}


def _entry(resource: Resource, frame: Frame) -> Resource:
    kind = resource["resourceType"]
    request: dict[str, Any] = {"method": "POST", "url": kind}
    if "identifier" in resource:
        (own,) = resource["identifier"]
        request["ifNoneExist"] = f"identifier={own['system']}|{own['value']}"
    return {"fullUrl": frame.reference(resource), "resource": resource, "request": request}


def _write_bundle(resources: Iterator[Resource], frame: Frame, file: BinaryIO) -> None:
    """Write entry by entry, so that memory stays flat."""
    file.write(_json(_HEAD)[:-1] + b', "entry": [')
    for position, resource in enumerate(resources):
        file.write((b",\n" if position else b"\n") + _json(_entry(resource, frame)))
    file.write(b"\n]}\n")


def _write_lines(resources: Iterator[Resource], frame: Frame, file: BinaryIO) -> None:
    for resource in resources:
        file.write(_json(resource) + b"\n")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
