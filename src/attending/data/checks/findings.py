"""What a check returns: findings with their places, and what each corpus is like."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from attending.data.checks.several import Frequency, LabelsPerDocument
from attending.records import Document, Unreadable

Severity = Literal["error", "warning", "note"]


class Place(NamedTuple):
    """A row of a corpus, by id, file and line; never by its text."""

    corpus: str
    id: str
    file: str | None
    line: int | None

    @classmethod
    def of(cls, corpus: str, row: Document | Unreadable) -> "Place":
        """Return the place of a row."""
        source = row.source
        if source is None:
            return cls(corpus, row.id, None, None)
        return cls(corpus, row.id, source.file, source.line)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know.

    Args:
        code: Stable name of the kind of finding.
        severity: ``error`` must be put right, ``warning`` changes what results mean, ``note``.
        message: One line with counts.
        counts: The numbers of the message by name, and what was found by label.
        where: Rows; rows of one group (the same text, say) stand together.
    """

    code: str
    severity: Severity
    message: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[tuple[Place, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for JSON, with every place."""
        where = [[place._asdict() for place in group] for group in self.where]
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "counts": dict(self.counts),
            "where": where,
        }


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the documents are.

    ``histogram`` has (from, up to but without, documents); ``limit`` is the number of units that
    a model reads, ``over`` the documents that are longer, ``unread`` the share of all units that
    lies beyond the limit.
    """

    unit: Literal["words", "tokens"]
    total: int
    mean: float
    median: float
    p95: float
    largest: int
    histogram: tuple[tuple[int, int, int], ...]
    limit: int | None = None
    over: int = 0
    unread: float = 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """What one corpus is like; ``types`` counts the spans of each entity type."""

    name: str
    documents: int
    unreadable: int
    labels: Mapping[str, int]
    unlabelled: int
    columns: Mapping[str, str]
    lengths: tuple[Lengths, ...]
    labels_per_document: LabelsPerDocument | None = None
    frequencies: tuple[Frequency, ...] = ()
    types: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        row = {key: getattr(self, key) for key in ("name", "documents", "unreadable", "unlabelled")}
        row["labels"] = dict(self.labels)
        row["types"] = dict(self.types)
        row["columns"] = dict(self.columns)
        row["lengths"] = [asdict(x) for x in self.lengths]
        each = self.labels_per_document
        row["labels_per_document"] = None if each is None else asdict(each)
        row["frequencies"] = [asdict(x) for x in self.frequencies]
        return row


def singles(places: Iterable[Place]) -> tuple[tuple[Place, ...], ...]:
    """Return places that stand alone in the form that ``Finding.where`` has."""
    return tuple((place,) for place in places)
