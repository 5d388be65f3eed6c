"""Spans in JSON: our own lines, and what doccano and Label Studio export and import."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from attending.data.files import decode, read_bytes
from attending.data.label_cells import sound
from attending.data.readers import finite, mended
from attending.data.spans.corpus import (
    Faults,
    SpanCorpus,
    Written,
    in_text_order,
    spans_to_write,
    warn_of_repeats,
)
from attending.data.spans.exports import SPANS, UNITS, read_row
from attending.data.spans.json_rows import json_rows
from attending.data.spans.offsets import Counting, Ruler
from attending.data.spans.placing import counting_notes, place
from attending.data.tables import TableRow
from attending.data.wording import plural
from attending.errors import DataError, OutputError
from attending.outputs import new_file
from attending.records import Document, Prediction, Row, Source, Span, Unreadable

Form = Literal["jsonl", "doccano", "label-studio"]
"""Whose JSON is written."""

_PAIRED = ("tokens", "sentences")
_DATE = "date"
_OWN = ("id", "text", SPANS, "group", "labels")
_ONE = "document"


def read_span_jsonl(
    path: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    counting: Counting | None = None,
    strict: bool = True,
    encoding: str = "utf-8",
) -> SpanCorpus:
    """Read JSON lines or an array of JSON objects (also ``.gz``), from us or a tool's export.

    ``attending.data.spans.exports`` says which shapes are known. Every other key becomes an
    attribute. A row without a usable text stays in the corpus as ``Unreadable``.

    Args:
        path: The file.
        text: Key of the text; by its usual names where left out.
        id: Key of the id; by its usual names where left out, else ``row-N``.
        counting: What offsets count. Where left out: what the row declares (``offset_unit``:
            ``utf-16``, ``utf-8``, ``code-points``), else what fits the words that annotations
            repeat, else UTF-16 units for Label Studio and code points for the others.
        strict: Raise if anything can't be read; otherwise leave it out and list it.
        encoding: How the file's characters are stored.

    Raises:
        DataError: If the file can't be read, or ``strict`` and something in it can't.
    """
    path = Path(path)
    characters = decode(read_bytes(path), path.name, encoding)
    table = json_rows(characters.encode("utf-8", "surrogatepass"), characters, path.name)
    faults = Faults()
    rows: list[Row] = []
    ways = []
    for number, row in enumerate(table, start=1):
        made, way = _row(row, number, path.name, faults, text, id, counting)
        rows.append(made)
        ways.append(way)
    warn_of_repeats(rows, faults)
    settled = faults.settle(strict)
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return SpanCorpus(tuple(rows), stem, counting_notes(ways), {}, settled, "jsonl")


def _row(
    row: TableRow,
    number: int,
    file: str,
    faults: Faults,
    text: str | None,
    id: str | None,
    counting: Counting | None,
) -> tuple[Row, Counting]:
    source = Source(file, row.line)
    name = f"row-{number}"
    if row.cells is None:
        faults.error(file, row.line, row.problem or "can't be read")
        return Unreadable(name, row.problem or "can't be read", source), Counting()
    cells = mended(row.cells)
    # The text and the id are looked at as they are: mended, they would be others.
    found = read_row(row.cells, row.line, text=text, id=id)
    name = found.id if found.id and found.id.strip() and sound(found.id) else name
    problem = None
    if not isinstance(found.text, str):
        problem = "no text"
    elif not sound(found.text):
        problem = "the text holds half of a character (a lone surrogate)"
    if problem is not None:
        faults.error(file, row.line, problem)
        return Unreadable(name, problem, source), Counting()
    if cells != row.cells:
        faults.warn(file, row.line, "a value holds half of a character: read as U+FFFD")
        found = read_row(cells, row.line, text=text, id=id)
    for odd in found.odd:
        faults.error(file, row.line, odd)
    for warning in found.warnings:
        faults.warn(file, row.line, warning)
    spans, way = place(
        found.annotations,
        found.text,
        file,
        faults,
        counting=counting or found.declared,
        usual=found.usual,
    )
    document = _document(found.rest, name, found.text, source)
    return replace(document, spans=spans), way


def _document(rest: dict[str, Any], name: str, text: str, source: Source) -> Document:
    """Return the document of a row without its spans: our keys, and others as attributes."""
    group, labels = rest.pop("group", None), rest.get("labels")
    if isinstance(labels, list) and all(isinstance(x, str) for x in labels):
        del rest["labels"]
        labels = tuple(labels)
    else:
        labels = None
    for key in _PAIRED:
        value = rest.get(key)
        if isinstance(value, list) and all(isinstance(x, list) and len(x) == 2 for x in value):
            rest[key] = tuple(tuple(pair) for pair in value)
    when = _date(rest.get(_DATE))
    if when is not None:
        del rest[_DATE]
    return Document(
        name,
        text,
        labels=labels,
        group=None if group is None else str(group),
        when=when,
        attributes=rest,
        source=source,
    )


def _date(value: Any) -> datetime | None:
    """Return a date in ISO 8601; anything else stays an attribute."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def write_span_jsonl(
    documents: Sequence[Document],
    path: str | Path,
    *,
    predictions: Sequence[Prediction] | None = None,
    form: Form = "jsonl",
    force: bool = False,
) -> Written:
    """Write documents with their spans, or with predicted ones, as JSON.

    ``jsonl`` is our own form: it comes back the same, attributes included; every span repeats its
    words. ``doccano`` is what that tool imports, code points; ``label-studio`` is one JSON array of
    tasks in UTF-16 units, with predicted spans as predictions. The last two have no discontinuous
    spans: the pieces are written one by one, and counted. NaN and infinite numbers become null.

    Args:
        documents: What to write.
        path: File, also ``.gz``.
        predictions: One for every document, in order, to write instead of its own spans.
        form: Whose form.
        force: Write over an existing file.

    Raises:
        OutputError: If the file exists, can't be written, or an attribute is called as one of our
            keys.
        DataError: If there is no such form.
    """
    path = Path(path)
    writers = {"jsonl": _own, "doccano": _doccano, "label-studio": _label_studio}
    if form not in writers:
        raise DataError(f'there is no form "{form}"', allowed=", ".join(writers))
    spans = spans_to_write(documents, predictions)
    _require_free(documents, path)
    predicted = predictions is not None
    lines = (
        json.dumps(
            finite(writers[form](document, in_text_order(own), predicted)),
            ensure_ascii=False,
            default=str,
            allow_nan=False,
        )
        for document, own in zip(documents, spans, strict=True)
    )
    with new_file(path, force=force) as file:
        for part in _array(lines) if form == "label-studio" else (f"{line}\n" for line in lines):
            file.write(part.encode("utf-8"))
    broken = sum(len(s.pieces) > 1 for own in spans for s in own) if form != "jsonl" else 0
    notes = [f"{plural(broken, 'span')} in pieces: written piece by piece"] if broken else []
    return Written(len(documents), sum(map(len, spans)), tuple(notes))


def _array(lines: Iterator[str]) -> Iterator[str]:
    before = "[\n"
    for line in lines:
        yield before + line
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def _require_free(documents: Sequence[Document], path: Path) -> None:
    for document in documents:
        own = _OWN if document.when is None else (*_OWN, _DATE)
        taken = next((key for key in document.attributes if key in own), None)
        if taken is not None:
            raise OutputError(
                f'an attribute is called "{taken}" like a key of the documents',
                where=str(path),
                step="Rename the attribute.",
            )


def _own(document: Document, spans: Sequence[Span], predicted: bool) -> Mapping[str, Any]:
    row: dict[str, Any] = {"id": document.id, "text": document.text}
    row[SPANS] = [_span(span, document.text) for span in spans]
    if document.group is not None:
        row["group"] = document.group
    if document.when is not None:
        row[_DATE] = document.when.isoformat()
    if document.labels is not None:
        row["labels"] = list(document.labels)
    return row | dict(document.attributes)


def _span(span: Span, text: str) -> dict[str, Any]:
    row = span.to_dict() | {"text": " ".join(text[start:end] for start, end in span.pieces)}
    return row | ({"id": span.id} if span.id is not None else {})


def _doccano(document: Document, spans: Sequence[Span], predicted: bool) -> Mapping[str, Any]:
    label = [[start, end, span.label] for span in spans for start, end in span.pieces]
    return {"id": document.id, "text": document.text, "label": label}


def _label_studio(document: Document, spans: Sequence[Span], predicted: bool) -> Mapping[str, Any]:
    ruler = Ruler(document.text, UNITS["utf-16"])
    result: list[dict[str, Any]] = []
    for span in spans:
        for start, end in span.pieces:
            value = {
                "start": ruler.outward(start),
                "end": ruler.outward(end),
                "text": document.text[start:end],
                "labels": [span.label],
            }
            region = {"id": f"r{len(result) + 1}", "from_name": "label", "to_name": "text"}
            scored = {} if span.score is None else {"score": span.score}
            result.append({**region, "type": "labels", "value": value, **scored})
    kind = "predictions" if predicted else "annotations"
    return {"data": {"id": document.id, "text": document.text}, kind: [{"result": result}]}
