"""What tells one message from another, for ids that others keep."""

import hashlib
import json
from typing import Any

from attending.data.fhir.messages import RESOURCE, UnreadMessage
from attending.records import Document, Row, is_blank
from attending.serve.placing import attributes_of


def reference_of(row: Row) -> str | None:
    """Return a message's FHIR reference; ``None`` where it has none or is no message of FHIR."""
    return attributes_of(row).get(RESOURCE) or None


def identity(row: Row) -> str:
    """Return what is the same for the same message and another for any other one.

    That is its reference or id, and a digest of text, patient and time: ids such as ``row-1`` occur
    in every file. No text can be read from it.
    """
    attributes = attributes_of(row)
    sent = attributes.get("sent_utc") or attributes.get("sent")
    if isinstance(row, Document):
        when = sent if row.when is None else row.when.isoformat()
        content: list[Any] = [row.text, row.group, when]
    else:
        content = [None, attributes.get("subject"), sent, row.reason]
    digest = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
    return f"{reference_of(row) or row.id}\x1f{digest}"


def is_told_apart(row: Row) -> bool:
    """Say whether two messages of one identity are one: that takes a reference or a text."""
    return bool(reference_of(row)) or (isinstance(row, Document) and not is_blank(row.text))


def is_from_fhir(row: Row) -> bool:
    """Say whether a row was a FHIR message, also one without an id."""
    attributes = attributes_of(row)
    if RESOURCE in attributes or isinstance(row, UnreadMessage):
        return True
    group = row.group if isinstance(row, Document) else None
    # Readers of FHIR name the patient after one of these, readers of tables after a column.
    return bool(group) and group in (attributes.get("subject"), attributes.get("sender"))
