"""A corpus of documents with spans, and what was wrong with its files."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from attending.data.corpora import Corpus
from attending.data.wording import plural
from attending.errors import DataError
from attending.records import Document, Row, Source, Span

Severity = Literal["error", "warning"]

MOST = 20
"""How many problems one error names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a file, by file and line; never with a document's words.

    An ``error`` cost a span or a document; a ``warning`` was read by a rule that is named.
    """

    source: Source
    what: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.source}: {self.what}"


class Faults:
    """Collects what is wrong while files are read to their end."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def error(self, file: str, line: int, what: str) -> None:
        """Note something that costs a span or a document."""
        self.found.append(Fault(Source(file, line), what))

    def warn(self, file: str, line: int, what: str) -> None:
        """Note something that was read by a rule."""
        self.found.append(Fault(Source(file, line), what, "warning"))

    def settle(self, strict: bool) -> tuple[Fault, ...]:
        """Return what was found, in the order of the files and of their lines.

        Raises:
            DataError: If ``strict`` and there is an error; one line names the first ``MOST``.
        """
        files_met = list(dict.fromkeys(fault.source.file for fault in self.found))
        order = {file: place for place, file in enumerate(files_met)}
        self.found.sort(key=lambda fault: (order[fault.source.file], fault.source.line))
        errors = [fault for fault in self.found if fault.severity == "error"]
        if strict and errors:
            files = len({fault.source.file for fault in errors})
            shown = "; ".join(str(fault) for fault in errors[:MOST])
            more = f"; and {len(errors) - MOST:,} more" if len(errors) > MOST else ""
            head = plural(len(errors), "problem") + (f" in {files:,} files" if files > 1 else "")
            raise DataError(
                f"{head}: {shown}{more}",
                step="Mend them, or read leniently to leave out what can't be read "
                "(strict=False, --lenient).",
            )
        return tuple(self.found)


@dataclass(frozen=True)
class SpanCorpus(Corpus):
    """Documents whose ``spans`` are entities, as an annotation tool wrote them.

    Args:
        faults: What was wrong with the files, errors and warnings; empty after a strict reading
            but for warnings.
        format: How it was written: ``brat``, ``conll`` or ``jsonl``.
    """

    faults: tuple[Fault, ...] = ()
    format: str = "jsonl"

    @property
    def errors(self) -> tuple[Fault, ...]:
        """What cost a span or a document."""
        return tuple(fault for fault in self.faults if fault.severity == "error")

    @cached_property
    def type_counts(self) -> dict[str, int]:
        """How many spans there are of each type, by sorted type."""
        return count_types(self.documents)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over id, text and spans of all documents in order."""
        digest = hashlib.sha256()
        for d in self.documents:
            spans = [[s.start, s.end, s.label, [list(f) for f in s.fragments]] for s in d.spans]
            line = json.dumps([d.id, d.text, spans], ensure_ascii=False) + "\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def warn_of_repeats(rows: Iterable[Row], faults: Faults) -> None:
    """Note ids that several documents have; all are kept."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen and row.source is not None:
            faults.warn(row.source.file, row.source.line, "its id is that of a document before it")
        seen.add(row.id)


def count_types(documents: Iterable[Document]) -> dict[str, int]:
    """Return how many spans documents have of each type, by sorted type."""
    counts = Counter(s.label for d in documents for s in d.spans if s.label is not None)
    return dict(sorted(counts.items()))


def in_text_order(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans as they stand in the text, the outer before the inner."""
    return tuple(sorted(spans, key=lambda s: (s.start, -s.end, s.label or "", s.pieces)))


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer wrote, and what its format could not hold; ``notes`` are for a person."""

    documents: int
    spans: int
    notes: tuple[str, ...] = ()


def spans_to_write(
    documents: Sequence[Document], predictions: Sequence[object] | None
) -> list[tuple[Span, ...]]:
    """Return the spans of every document: its own, or those of its prediction."""
    if predictions is None:
        return [d.spans for d in documents]
    if len(predictions) != len(documents):
        raise DataError(
            f"{plural(len(documents), 'document')} and {plural(len(predictions), 'prediction')} "
            "don't belong together"
        )
    return [tuple(getattr(p, "spans", None) or ()) for p in predictions]
