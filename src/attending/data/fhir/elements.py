"""Small elements of FHIR that are read leniently: references, concepts, codes. Never a text."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}", re.ASCII)
_URN = re.compile(r"urn:(uuid|oid):[A-Za-z0-9.\-]{1,64}", re.ASCII)
_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]{0,63}", re.ASCII)
_REFERENCE = re.compile(r"[A-Za-z0-9\-._~:/#|%]{1,300}", re.ASCII)
_CONDITION = re.compile(r"[A-Z][A-Za-z]{1,63}\?identifier=(?P<identifier>[^&]{1,900})", re.ASCII)
_LITERAL = re.compile(
    r"(?:(?P<base>[^?|]*)/)?(?P<own>[A-Z][A-Za-z]{1,63}/[A-Za-z0-9\-.]{1,64})", re.ASCII
)
_HISTORY = re.compile(r"/_history/[^/]*$")


def items(value: Any) -> list[Any]:
    """Return a list as it is, a single thing as a list of one, nothing as an empty list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def resource_type(resource: Any) -> str | None:
    """Return the type that a resource says it is of, if it is spelled as one."""
    name = resource.get("resourceType") if isinstance(resource, Mapping) else None
    return name if isinstance(name, str) and _TYPE.fullmatch(name) else None


def code(value: Any) -> str | None:
    """Return a code; anything that isn't spelled as one might be a text and is left out."""
    return value if isinstance(value, str) and _CODE.fullmatch(value) else None


def entered_in_error(resource: Mapping[str, Any]) -> bool:
    """Say whether a resource, or the document that it stands for, was retracted."""
    return "entered-in-error" in (resource.get("status"), resource.get("docStatus"))


def resource_id(resource: Mapping[str, Any], full_url: Any = None) -> str | None:
    """Return a resource's id: its own, else the last part of its URL in the bundle, or its URN."""
    own = resource.get("id")
    if isinstance(own, str) and _ID.fullmatch(own):
        return own
    if not isinstance(full_url, str):
        return None
    if _URN.fullmatch(full_url):
        return full_url
    last = full_url.rpartition("/")[2]
    return last if "://" in full_url and _ID.fullmatch(last) else None


def without_version(url: str) -> str:
    """Return a resource's URL without the part that names one version of it."""
    return _HISTORY.sub("", url)


def reference(value: Any) -> str | None:
    """Return what a Reference points to: its URL without the version, else its identifier.

    A conditional reference, ``Patient?identifier=system|value``, holds its identifier itself. The
    display of a reference is left out: it is the name of a person.
    """
    if not isinstance(value, Mapping):
        return None
    url = value.get("reference")
    # What begins with # is inside this one resource: the same name means another thing elsewhere.
    if isinstance(url, str) and not url.startswith("#") and _REFERENCE.fullmatch(url):
        return without_version(url)
    return _identifier(value.get("identifier")) or _condition(url)


def _condition(url: Any) -> str | None:
    found = _CONDITION.fullmatch(url) if isinstance(url, str) else None
    # "|value" stands for an identifier without a system, "system|" for any of that system.
    joined = unquote(found["identifier"]).removeprefix("|") if found else ""
    return joined if _REFERENCE.fullmatch(joined) and not joined.endswith("|") else None


def _identifier(identifier: Any) -> str | None:
    if not isinstance(identifier, Mapping):
        return None
    parts = [identifier.get(key) for key in ("system", "value")]
    joined = "|".join(p for p in parts if isinstance(p, str))
    return joined if isinstance(parts[1], str) and _REFERENCE.fullmatch(joined) else None


def of_another(one: Any, other: Any) -> bool:
    """Say whether two References name two people or things, as far as they can be compared.

    A literal reference can't be compared with an identifier or a URN, nor identifiers of two
    systems with each other; such pairs may be one and the same.
    """
    names = [reference(one), reference(other)]
    parts = [_parts_of(name) for name in names if name is not None]
    if len(parts) < 2 or parts[0].kind != parts[1].kind:
        return False
    bases = {p.base for p in parts if p.base}
    return parts[0].own != parts[1].own or len(bases) > 1


class _Name(NamedTuple):
    kind: str
    own: str
    base: str = ""


def _parts_of(name: str) -> _Name:
    """Part a reference: the kind of names that it can be compared with, its own part, a server."""
    found = _LITERAL.fullmatch(name)
    if found:
        return _Name("literal", found["own"], found["base"] or "")
    if _URN.fullmatch(name):
        return _Name("urn", name)
    system, _, value = name.rpartition("|")
    return _Name(f"system {system}", value)


def base_url(full_url: Any) -> str | None:
    """Return the server's part of a resource's URL: what stands before ``Type/id``."""
    if not isinstance(full_url, str):
        return None
    parts = without_version(full_url).rsplit("/", 2)
    if len(parts) < 3 or not _TYPE.fullmatch(parts[1]) or not _ID.fullmatch(parts[2]):
        return None
    return parts[0] if "://" in parts[0] else None


def concept_text(value: Any) -> str | None:
    """Return the words of a CodeableConcept: its text, else the displays of its codings."""
    if not isinstance(value, Mapping):
        return None
    text = value.get("text")
    if isinstance(text, str) and text.strip():
        return text
    shown = [c.get("display") for c in items(value.get("coding")) if isinstance(c, Mapping)]
    words = "; ".join(dict.fromkeys(d for d in shown if isinstance(d, str) and d.strip()))
    return words or None


def codes(values: Any) -> list[str]:
    """Return the codes of CodeableConcepts; R5's CodeableReference has its concept inside."""
    return list(dict.fromkeys(_codes(values)))


def _codes(values: Any) -> Iterator[str]:
    for value in items(values):
        if isinstance(value, Mapping):
            for coding in items(value.get("coding")):
                found = code(coding.get("code")) if isinstance(coding, Mapping) else None
                if found is not None:
                    yield found
            if isinstance(value.get("concept"), Mapping):
                yield from _codes([value["concept"]])
