"""The text of a message: its payloads in order, joined by line breaks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attending.data.fhir.attachments import is_text, media_type, read_attachment
from attending.data.fhir.bounds import Bounds
from attending.data.fhir.elements import (
    concept_text,
    entered_in_error,
    items,
    of_another,
    resource_type,
)
from attending.data.fhir.parts import Part
from attending.data.label_cells import sound

JOINT = "\n"
"""What stands between two payloads."""

Resolve = Callable[[str], Mapping[str, Any] | None]
"""From a reference to the resource of the same file that it names."""

_PREFERRED = ("text/plain", "text/markdown", "text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class Content:
    """Text of a message.

    Args:
        text: All payloads that could be read; ``None`` if there was none.
        pieces: (position among the payloads, start, end in ``text``) of each.
        flags: What could not be read, without repeats.
    """

    text: str | None
    pieces: tuple[tuple[int, int, int], ...] = ()
    flags: tuple[str, ...] = ()


def read_payloads(message: Mapping[str, Any], resolve: Resolve, bounds: Bounds) -> Content:
    """Read the payloads of a Communication, R4 and R5 alike.

    R4 has ``contentString``, ``contentAttachment``, ``contentReference``; R5 has
    ``contentCodeableConcept`` in place of the string. All four are read wherever they stand. A
    payload may hold only one of them; one that holds several is read in this order. A document
    about somebody else than the message is not read.
    """
    found = items(message.get("payload"))
    if not found:
        return Content(None, flags=("no_payload",))
    about = message.get("subject")
    parts = [
        (position, part)
        for position, payload in enumerate(found[: bounds.payloads])
        for part in _parts(payload, about, resolve, bounds)
    ]
    flags = ("payloads_left_out",) if len(found) > bounds.payloads else ()
    return join(parts, bounds, flags)


def references(payloads: Any, bounds: Bounds) -> Iterator[str]:
    """Yield what the payloads refer to, of those that are read."""
    for payload in items(payloads)[: bounds.payloads]:
        name = _name(payload.get("contentReference")) if isinstance(payload, Mapping) else None
        if name is not None:
            yield name


def read_document(resource: Mapping[str, Any], bounds: Bounds) -> Content:
    """Read a DocumentReference or Binary that holds its data itself."""
    return join([(0, part) for part in _inline(resource, bounds)], bounds)


def join(parts: Sequence[tuple[int, Part]], bounds: Bounds, flags: Sequence[str] = ()) -> Content:
    """Join the texts of parts by line breaks, in order, and collect their flags."""
    texts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    told = list(flags)
    length = 0
    for position, part in parts:
        text, flag = part.text, part.flag
        if text is not None and ("\0" in text or not sound(text)):
            text, flag = None, "characters_broken"
        if flag is not None:
            told.append(flag)
        if text is None:
            continue
        start = length + len(JOINT) if texts else 0
        length = start + len(text)
        if length > bounds.text:
            return Content(None, flags=("text_too_long",))
        texts.append(text)
        pieces.append((position, start, length))
    joined = JOINT.join(texts) if texts else None
    return Content(joined, tuple(pieces), tuple(dict.fromkeys(told)))


def _parts(payload: Any, about: Any, resolve: Resolve, bounds: Bounds) -> list[Part]:
    if not isinstance(payload, Mapping):
        return [Part(flag="content_missing")]
    parts: list[Part] = []
    if "contentString" in payload:
        text = payload["contentString"]
        parts.append(Part(text) if isinstance(text, str) else Part(flag="content_missing"))
    if "contentCodeableConcept" in payload:
        words = concept_text(payload["contentCodeableConcept"])
        parts.append(Part(words, None if words is not None else "coding_without_text"))
    if "contentAttachment" in payload:
        parts.append(read_attachment(payload["contentAttachment"], bounds))
    if "contentReference" in payload:
        parts += _referred(payload["contentReference"], about, resolve, bounds)
    if payload.get("modifierExtension"):
        parts.append(Part(flag="modifier_extension"))
    return parts or [Part(flag="content_missing")]


def _referred(value: Any, about: Any, resolve: Resolve, bounds: Bounds) -> list[Part]:
    name = _name(value)
    target = resolve(name) if name is not None else None
    parts = _inline(target, bounds) if target is not None else []
    if target is None or not parts:
        return [Part(flag="unresolved_reference")]
    if entered_in_error(target):
        return [Part(flag="entered_in_error")]
    if of_another(about, target.get("subject")):
        return [Part(flag="subject_differs")]
    if target.get("modifierExtension"):
        parts.append(Part(flag="modifier_extension"))
    return parts


def _name(value: Any) -> str | None:
    name = value.get("reference") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) else None


def _inline(resource: Mapping[str, Any], bounds: Bounds) -> list[Part]:
    """Return the text of a document: its forms are the same document, so one of them is read."""
    kind = resource_type(resource)
    if kind == "Binary":
        return [read_attachment(resource, bounds)]
    if kind != "DocumentReference":
        return []
    contents = [c for c in items(resource.get("content")) if isinstance(c, Mapping)]
    forms = [a for c in contents if isinstance(a := c.get("attachment"), Mapping)]
    return [_best(sorted(forms, key=_rank), bounds) if forms else Part(flag="no_payload")]


def _best(forms: Sequence[Mapping[str, Any]], bounds: Bounds) -> Part:
    """Return the first form that is read whole and holds text, else the one that lacks least."""
    parts: list[Part] = []
    for form in forms:
        part = read_attachment(form, bounds)
        if _lack(part) == 0:
            return part
        parts.append(part)
    return min(parts, key=_lack)


def _lack(part: Part) -> int:
    """Return 0 for a text, 1 for some of one, 2 for none and why; 3 for none without a reason."""
    flagged = part.flag is not None
    if part.text is not None and part.text.strip():
        return 1 if flagged else 0
    return 2 if flagged else 3


def _rank(form: Mapping[str, Any]) -> int:
    """Return how plain a form is; those that can't be read come last, in their order."""
    if form.get("data") is None or not is_text(form):
        return len(_PREFERRED)
    kind = media_type(form)
    return _PREFERRED.index("text/markdown" if kind == "text/x-markdown" else kind)
