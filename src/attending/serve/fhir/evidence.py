"""Extensions: the labels of a message, and the words that spoke for them, as offsets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attending.data.fhir.messages import PAYLOADS, RESOURCE
from attending.records import Document, Evidence, LabelSet, Prediction, Row
from attending.serve.placing import attributes_of

LABEL_URL = "urn:attending:label"
"""A label that the model gave: ``code`` and ``probability``."""
EVIDENCE_URL = "urn:attending:evidence"
"""Words that spoke for it: ``label``, ``payload``, ``start``, ``end``, ``score``, ``method``."""
_DIGITS = 6

Extension = dict[str, Any]


def label_system(labels: LabelSet) -> str:
    """Return the system of a label set's codes: its labels cannot change without it."""
    return f"urn:attending:labels:{labels.hash[:16]}"


def coding(label: str, labels: LabelSet) -> dict[str, str]:
    """Return a label as a coding; its id is its code."""
    return {"system": label_system(labels), "code": label, "display": labels[label].name}


def label_extensions(
    row: Row, prediction: Prediction, labels: LabelSet, only: str | None = None
) -> list[Extension]:
    """Return a prediction's labels and evidence as extensions.

    Args:
        row: What was read.
        prediction: What the model says of it.
        labels: The model's labels.
        only: The only label to tell of; all that it gave if left out.
    """
    wanted = prediction.labels if only is None else (only,)
    found: list[Extension] = []
    for label in wanted:
        parts: list[Extension] = [{"url": "code", "valueCoding": coding(label, labels)}]
        if label in prediction.scores:
            score = round(prediction.scores[label], _DIGITS)
            parts.append({"url": "probability", "valueDecimal": score})
        found.append({"url": LABEL_URL, "extension": parts})
    pieces = _pieces(row)
    for item in prediction.evidence:
        if item.label in wanted or (item.label is None and only is None):
            found += (_evidence(item, *place) for place in _places(item, pieces))
    return found


def _pieces(row: Row) -> Sequence[Sequence[int]]:
    """Return where each payload stands in a FHIR message's text; nothing for other documents."""
    attributes = attributes_of(row)
    if RESOURCE not in attributes or not isinstance(row, Document):
        return []
    pieces = attributes.get(PAYLOADS)
    return pieces if isinstance(pieces, list) else [[0, 0, len(row.text)]]


def _places(
    item: Evidence, pieces: Sequence[Sequence[int]]
) -> Iterator[tuple[int | None, int, int]]:
    """Yield (payload, start, end) within each payload that evidence touches."""
    if not pieces:
        yield None, item.start, item.end
    for payload, start, end in pieces:
        left, right = max(item.start, start), min(item.end, end)
        if left < right:
            yield payload, left - start, right - start


def _evidence(item: Evidence, payload: int | None, start: int, end: int) -> Extension:
    values: Mapping[str, Any] = {
        "label": ("valueString", item.label),
        "payload": ("valueInteger", payload),
        "start": ("valueInteger", start),
        "end": ("valueInteger", end),
        "score": ("valueDecimal", round(item.score, _DIGITS)),
        "method": ("valueString", item.method),
    }
    parts = [{"url": url, key: value} for url, (key, value) in values.items() if value is not None]
    return {"url": EVIDENCE_URL, "extension": parts}
