"""Documents with entities and what a tagger found in them, matched and checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from attending.errors import DataError, LabelError
from attending.evaluation.multilabel.outcome import Unknown, why_no_labels
from attending.evaluation.outcome import check_match, coverage_of, position_of, where_of
from attending.records import Document, Label, LabelSet, Prediction, Row, Span, Unreadable
from attending.tokens import own_words

Offsets = tuple[int, int]
"""Half-open code points into a document's text."""
Words = Callable[[Document], Sequence[Offsets]]
"""The words of a document, in text order and apart from each other."""


class Entity(NamedTuple):
    """A span as it is compared: two are the same entity if all four fields are equal.

    start and end are code points; type is a position in the label set; pieces are the stretches
    that it covers, in text order: one, or more for a discontinuous span.
    """

    start: int
    end: int
    type: int
    pieces: tuple[Offsets, ...]

    @property
    def length(self) -> int:
        """How many code points it covers."""
        if len(self.pieces) == 1:
            return self.end - self.start
        return sum(end - start for start, end in self.pieces)


@dataclass(frozen=True, slots=True, eq=False)
class SpanOutcome:
    """Annotated documents and what a tagger found in them.

    Attributes:
        labels: The types, those that only documents have at the end.
        documents: The documents.
        gold: Their entities in text order, each once.
        given: What was found in them, the same way; empty where there is no answer.
        reasons: Why a document has no answer, ``None`` where it has one.
        unreadable: Ids of the rows that are no documents.
        repeated: How many gold entities, and how many found ones, stood there more than once.
        coverage: Counts of every row given, whatever became of it.
    """

    labels: LabelSet
    documents: tuple[Document, ...]
    gold: tuple[tuple[Entity, ...], ...]
    given: tuple[tuple[Entity, ...], ...]
    reasons: tuple[str | None, ...]
    unreadable: tuple[str, ...] = ()
    repeated: tuple[int, int] = (0, 0)
    coverage: Mapping[str, int] = field(default_factory=dict)


def match_spans(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    unknown: Unknown = "error",
) -> SpanOutcome:
    """Match predictions to documents by order and id, and check every span.

    Every document counts as annotated; rows that are none are listed. A document without an answer
    (nothing to read, too long, failed, abstained) stays, and nothing was found in it. An entity
    that stands there twice counts once. ``unknown="miss"`` adds types of documents that the label
    set lacks at its end: a tagger can't find them, so each counts as missed.

    Raises:
        DataError: If ids or numbers of rows differ, a span lies outside its text, has no type or
            broken fragments, a prediction holds no spans, or there is no document.
        LabelError: If a predicted type, or with ``unknown="error"`` a document's type, is not in
            the label set.
    """
    check_match(documents, predictions)
    kept = [i for i, row in enumerate(documents) if isinstance(row, Document)]
    rows = tuple(row for row in documents if isinstance(row, Document))
    if not rows:
        raise DataError("there is nothing to evaluate", found="no document")
    known = _extended(labels, rows) if unknown == "miss" else labels
    reasons = tuple(why_no_labels(predictions[i]) for i in kept)
    gold = [entities_of(row.spans, row, known, where_of(row)) for row in rows]
    given = [
        () if reason else _found(predictions[i], row, labels)
        for i, row, reason in zip(kept, rows, reasons, strict=True)
    ]
    many = sum(len(row.spans) for row in rows) - sum(map(len, gold))
    found = sum(
        len(predictions[i].spans or ()) for i, r in zip(kept, reasons, strict=True) if not r
    )
    cover = coverage_of(documents, predictions, kept, reasons)
    return SpanOutcome(
        labels=known,
        documents=rows,
        gold=tuple(gold),
        given=tuple(given),
        reasons=reasons,
        unreadable=tuple(row.id for row in documents if isinstance(row, Unreadable)),
        repeated=(many, found - sum(map(len, given))),
        coverage=cover | {"unlabelled": 0},
    )


def _extended(labels: LabelSet, documents: Sequence[Document]) -> LabelSet:
    types = {s.label for d in documents for s in d.spans if s.label is not None}
    more = sorted(types - set(labels.ids))
    if not more:
        return labels
    above = {x.id: x for x in labels.broader}
    added = tuple(above.pop(i, Label(i)) for i in more)
    return LabelSet((*labels.labels, *added), labels.name, labels.ordered, tuple(above.values()))


def _found(prediction: Prediction, document: Document, labels: LabelSet) -> tuple[Entity, ...]:
    where = f'prediction of document "{prediction.id}"'
    if prediction.spans is None:
        raise DataError(
            "a prediction holds no spans",
            where=where,
            step="Entities are evaluated for taggers; a classifier is evaluated by its labels.",
        )
    return entities_of(prediction.spans, document, labels, where)


def entities_of(
    spans: Sequence[Span], document: Document, labels: LabelSet, where: str
) -> tuple[Entity, ...]:
    """Return spans as entities, each once, in text order (start, end, type, pieces).

    Raises:
        DataError: If a span lies outside the text, is empty, has no type or broken fragments.
        LabelError: If a type is not in the label set.
    """
    length = len(document.text)
    places = {i: k for k, i in enumerate(labels.ids)}
    found = set()
    for span in spans:
        start, end = span.start, span.end
        if span.fragments or not 0 <= start < end <= length:
            _check(span, length, where)
        place = places.get(span.label or "")
        if place is None:
            place = _position(span, labels, where)
        found.add(Entity(start, end, place, span.pieces))
    return tuple(sorted(found))


def apart(entities: Sequence[Entity]) -> bool:
    """Say whether entities in text order lie apart, outer ends and all."""
    return all(a.end <= b.start for a, b in pairwise(entities))


def _check(span: Span, length: int, where: str) -> None:
    pieces = span.pieces
    ordered = all(a[1] <= b[0] for a, b in pairwise(pieces))
    whole = pieces[0][0] == span.start and pieces[-1][1] == span.end
    if (
        not 0 <= span.start < span.end <= length
        or not ordered
        or not whole
        or any(start >= end for start, end in pieces)
    ):
        raise DataError(
            "a span does not fit its text",
            where=where,
            found=f"{span.start} to {span.end} in {len(pieces)} piece(s)",
            allowed=f"stretches that are not empty, in text order, within 0 to {length}",
            step="Offsets count code points of the text as it was given.",
        )


def _position(span: Span, labels: LabelSet, where: str) -> int:
    if span.label is None:
        raise DataError("a span has no type", where=where, found=f"span {span.start} to {span.end}")
    try:
        return position_of(span.label, labels, where)
    except LabelError as error:
        raise LabelError(
            error.what.replace("label ", "type ", 1), where=where, step=error.step
        ) from None


def words_of(document: Document, words: Words | None = None) -> Sequence[Offsets]:
    """Return a document's words: its source's own tokens, else by ``words``, else by white space.

    Raises:
        DataError: If they overlap or are out of order.
    """
    own = own_words(document)
    if own is not None:
        return own
    if words is None:
        return _between_spaces(document.text)
    found = [(start, end) for start, end in words(document)]
    if any(a[1] > b[0] for a, b in pairwise(found)):
        raise DataError(
            "words overlap or are out of order",
            where=where_of(document),
            allowed="stretches in text order, apart from each other",
        )
    return found


def _between_spaces(text: str) -> list[Offsets]:
    found, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        found.append((start, at))
    return found
