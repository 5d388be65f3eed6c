"""From a Communication or DocumentReference to a row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from attending.data.fhir.bounds import Bounds
from attending.data.fhir.elements import (
    code,
    codes,
    concept_text,
    entered_in_error,
    items,
    reference,
    resource_id,
)
from attending.data.fhir.moments import Moment, read_moment
from attending.data.fhir.parts import in_words
from attending.data.fhir.payloads import Content, Resolve, read_document, read_payloads
from attending.records import Document, Row, Source, Unreadable

MESSAGE, NOTE = "Communication", "DocumentReference"
READ = (MESSAGE, NOTE)
"""The types of resources that become rows."""

RESOURCE, UNREAD, PAYLOADS = "fhir_resource", "fhir_unread", "fhir_payloads"
"""Attributes of a message: its reference, flags of what could not be read, and where each payload
stands in the text, as (payload, start, end), if it isn't the only one."""

_STATUS = frozenset(
    {
        "preparation", "in-progress", "not-done", "on-hold", "stopped", "completed",
        "entered-in-error", "unknown", "current", "superseded",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnreadMessage(Unreadable):
    """A message that could not be read; ``attributes`` as those of a document, without texts."""

    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A resource where it was found: its line, from 1, and its URL in the bundle."""

    resource: Mapping[str, Any]
    line: int
    full_url: Any = None


@dataclass(frozen=True, slots=True)
class Manner:
    """How messages are read: within which bounds, in which zone times without one are."""

    bounds: Bounds
    zone: tzinfo | None = None


def read_message(
    found: Found, kind: str, fallback: str, file: str, resolve: Resolve, manner: Manner
) -> Row:
    """Return the row of a message.

    Args:
        found: The resource.
        kind: ``Communication`` or ``DocumentReference``.
        fallback: Id of a message that has none.
        file: Name of the file.
        resolve: Finds what a payload refers to.
        manner: Bounds and zone.
    """
    resource = found.resource
    own = resource_id(resource, found.full_url)
    id_ = own or fallback
    id_ = f"{kind}/{id_}" if kind == NOTE and own and ":" not in own else id_
    content = _content(resource, kind, resolve, manner.bounds)
    attributes = _attributes(resource, kind, own, content.flags)
    moment = _moment(resource, manner.zone)
    attributes |= _time(moment)
    source = Source(file, found.line)
    if content.text is None or entered_in_error(resource):
        flags = content.flags if content.text is None else ("entered_in_error",)
        attributes[UNREAD] = list(flags)
        return UnreadMessage(id_, "; ".join(map(in_words, flags)), source, attributes)
    attributes |= _words(resource)
    if len(content.pieces) != 1 or content.pieces[0][0] != 0:
        attributes[PAYLOADS] = [list(piece) for piece in content.pieces]
    return Document(
        id=id_,
        text=content.text,
        group=attributes.get("subject") or _patient(attributes.get("sender")),
        when=moment.when,
        attributes=attributes,
        source=source,
    )


def _content(resource: Mapping[str, Any], kind: str, resolve: Resolve, bounds: Bounds) -> Content:
    if kind == MESSAGE:
        content = read_payloads(resource, resolve, bounds)
    else:
        content = read_document(resource, bounds)
    if not resource.get("modifierExtension"):
        return content
    return Content(content.text, content.pieces, (*content.flags, "modifier_extension"))


def _attributes(
    resource: Mapping[str, Any], kind: str, own: str | None, flags: tuple[str, ...]
) -> dict[str, Any]:
    """Return what is known of a message besides its text: codes and references, no words."""
    status = resource.get("status")
    # R5 says "reason" (concept or reference) where R4 says "reasonCode" and "reasonReference".
    reasons = codes([*items(resource.get("reasonCode")), *items(resource.get("reason"))])
    about = resource.get("inResponseTo")
    values: dict[str, Any] = {
        RESOURCE: own and (own if ":" in own else f"{kind}/{own}"),
        "status": status if status is None or _known(status) else "unknown",
        "subject": reference(resource.get("subject")),
        "sender": reference(resource.get("sender")),
        "recipient": [r for x in items(resource.get("recipient")) if (r := reference(x))],
        "priority": code(resource.get("priority")),
        "category": codes(resource.get("category")),
        "reason": reasons,
        "in_response_to": [r for x in items(about) if (r := reference(x))],
        UNREAD: list(flags),
    }
    return {key: value for key, value in values.items() if value}


def _known(status: Any) -> bool:
    return isinstance(status, str) and status in _STATUS


def _moment(resource: Mapping[str, Any], zone: tzinfo | None) -> Moment:
    for key in ("sent", "received", "date"):
        if resource.get(key) is not None:
            return read_moment(resource[key], zone)
    return Moment()


def _time(moment: Moment) -> dict[str, Any]:
    values = {"sent": moment.written, "sent_utc": moment.utc, "sent_remark": moment.remark}
    return {key: value for key, value in values.items() if value}


def _words(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subject line, which is a text: only of a message that could be read."""
    topic = concept_text(resource.get("topic"))
    return {"topic": topic} if topic else {}


def _patient(sender: str | None) -> str | None:
    """Return the sender as whom the message is about, if a patient wrote it."""
    return sender if sender and "Patient" in sender.split("/")[:-1] else None
