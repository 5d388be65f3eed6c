"""What a store gives back: messages with what is known of them, pages of them, corrections."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from attending.data.fhir.messages import UnreadMessage
from attending.records import Coverage, Document, Evidence, Prediction, Row, Unreadable
from attending.serve.placing import Reading

State = Literal["open", "done", "corrected", "all"]
"""Which messages: those to be worked on, those done, those with a correction, or all."""

UNSURE_BELOW = 0.7
"""A label with a lower probability counts as unsure in the filter."""

_OLDEST = 1900


class Audit(Protocol):
    """Who did what to which messages; ids only."""

    def record(self, action: str, who: str, ids: Sequence[object] = ()) -> object:
        """Write one line, for good; an error keeps what was to be recorded from happening."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which messages, in which order.

    Args:
        state: Open, done, corrected or all.
        label: Only those that stand under this label.
        person: Only those that a person has to read, whatever the label.
        unsure: Only those whose label has a probability below ``UNSURE_BELOW``.
        search: Words that the text, the patient or the id holds.
        order: Labels that stand apart, the first on top; the rest follow by age alone.
        page: From 1.
        size: Messages a page.
    """

    state: State = "open"
    label: str | None = None
    person: bool = False
    unsure: bool = False
    search: str = ""
    order: tuple[str, ...] = ()
    page: int = 1
    size: int = 50


@dataclass(frozen=True, slots=True)
class Change:
    """A correction of a message's labels; ``withdrawn`` is who took it back."""

    labels: tuple[str, ...]
    reviewer: str
    made_at: datetime
    note: str | None = None
    withdrawn: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A message in the store.

    ``row`` is the document or why there is none, ``prediction`` what the model said, ``labels``
    what holds now: the reviewer's, else the model's. ``standing`` is the label under which it is
    sorted, ``None`` where a person has to read it first.
    """

    id: int
    row: Row
    prediction: Prediction
    model: str
    reading: Reading
    standing: str | None
    moment: datetime
    received: datetime
    correction: Change | None = None
    done_at: datetime | None = None
    done_by: str | None = None
    history: tuple[Change, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that hold now."""
        return self.correction.labels if self.correction else self.prediction.labels

    @property
    def leading(self) -> str | None:
        """The label under which it is sorted; where a person has to read it, its first, if any."""
        return self.standing if self.standing in self.labels else next(iter(self.labels), None)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What else is known of the message."""
        return dict(getattr(self.row, "attributes", {}))


@dataclass(frozen=True, slots=True)
class Page:
    """Messages of one page.

    ``counts``: how many there are by the label they stand under, ``None`` where a person has to
    read them, whatever label the filters ask for.
    """

    entries: tuple[Entry, ...]
    counts: Mapping[str | None, int]
    filters: Filters

    @property
    def total(self) -> int:
        """How many messages there are on all pages."""
        if self.filters.person:
            return self.counts.get(None, 0)
        if self.filters.label is not None:
            return self.counts.get(self.filters.label, 0)
        return sum(self.counts.values())

    @property
    def pages(self) -> int:
        """How many pages there are; at least one."""
        return max(1, -(-self.total // self.filters.size))


@dataclass(frozen=True, slots=True)
class Upload:
    """What became of an uploaded file."""

    id: int
    name: str
    rows: int
    added: int
    unreadable: int
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A message with its labels as a person gave them: a training row."""

    message: int
    document: Document
    predicted: tuple[str, ...]
    change: Change
    source: str = field(default="")


def storable(text: str) -> bool:
    """Say whether every database can hold a text: no NUL, no half of a character."""
    return "\0" not in text and not any(0xD800 <= ord(c) <= 0xDFFF for c in text)


def printable(text: str | None) -> str | None:
    """Return a short text as every database can hold it; what it can't is spelled out."""
    return text if text is None or storable(text) else ascii(text)[1:-1]


def dump(value: Any) -> str:
    """Write a structure as JSON in ASCII."""
    return json.dumps(value, default=str)


def message_values(row: Row) -> dict[str, Any]:
    """Return the columns that a row gives its message."""
    reason = None
    if isinstance(row, Unreadable):
        reason = f"{row.source}: {row.reason}" if row.source else row.reason
    text = row.text if isinstance(row, Document) else None
    if text is not None and not storable(text):
        text, reason = None, "the text holds a character that can't be stored"
    when = row.when if isinstance(row, Document) else None
    group = (
        row.group if isinstance(row, Document) else getattr(row, "attributes", {}).get("subject")
    )
    return {
        "document": printable(row.id),
        "text": text,
        "reason": printable(reason),
        "patient": printable(group),
        "sent": None if when is None else when.isoformat(),
        "attributes": dump(dict(getattr(row, "attributes", {}))),
        "fingerprint": fingerprint(row),
    }


def fingerprint(row: Row) -> str:
    """Return what tells whether a message is there already: SHA-256 over all that is known."""
    if isinstance(row, Unreadable):
        content: list[Any] = [row.id, None, row.reason, dict(getattr(row, "attributes", {}))]
    else:
        when = None if row.when is None else row.when.isoformat()
        content = [row.id, row.text, row.group, when]
    return hashlib.sha256(dump(content).encode()).hexdigest()


def moment_of(row: Row, received: datetime) -> datetime:
    """Return since when a message waits: when it was sent, but never later than now.

    A time without a zone is one of this machine's zone. One before ``_OLDEST`` is what programs
    write that know of none, so the message waits since it came.
    """
    when = row.when if isinstance(row, Document) else None
    if when is None or when.year < _OLDEST:
        return received
    try:
        return min(when.astimezone(UTC), received)
    except (OverflowError, ValueError, OSError):
        return received


def prediction_values(prediction: Prediction) -> dict[str, Any]:
    """Return the columns of a prediction."""
    read = prediction.read
    evidence = [[e.start, e.end, e.score, e.label, e.method] for e in prediction.evidence]
    return {
        "status": prediction.status,
        "labels": dump(prediction.labels),
        "scores": dump(dict(prediction.scores)),
        "evidence": dump(evidence),
        "coverage": dump([read.tokens, read.of, read.windows, read.end]),
        "abstained": int(prediction.abstained),
        "reason": printable(prediction.reason),
    }


def entry_of(row: Any, correction: Change | None, history: Sequence[Change] = ()) -> Entry:
    """Return a message from its row of the tables ``messages`` and ``predictions``."""
    return Entry(
        id=row.id,
        row=row_of(row),
        prediction=Prediction(
            id=row.document,
            status=row.status,
            labels=tuple(json.loads(row.labels)),
            scores=json.loads(row.scores),
            abstained=bool(row.abstained),
            evidence=tuple(Evidence(*e) for e in json.loads(row.evidence)),
            read=Coverage(*json.loads(row.coverage)),
            reason=row.prediction_reason,
        ),
        model=row.model,
        reading=row.reading,
        standing=row.standing,
        moment=row.moment,
        received=row.received,
        correction=correction,
        done_at=row.done_at,
        done_by=row.done_by,
        history=tuple(history),
    )


def row_of(row: Any) -> Row:
    """Return the document of a stored message, or why there is none."""
    attributes = json.loads(row.attributes)
    if row.text is None:
        return UnreadMessage(row.document, row.reason or "can't be read", None, attributes)
    return Document(
        id=row.document,
        text=row.text,
        group=row.patient,
        when=None if row.sent is None else datetime.fromisoformat(row.sent),
        attributes=attributes,
    )


def change_of(row: Any) -> Change:
    """Return a correction from its row."""
    return Change(
        labels=tuple(json.loads(row.labels)),
        reviewer=row.reviewer,
        made_at=row.made_at,
        note=row.note,
        withdrawn=row.withdrawn_by,
    )
