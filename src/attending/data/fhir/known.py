"""What the references of a FHIR file lead to, within that file."""

from collections.abc import Mapping, Sequence
from typing import Any

from attending.data.fhir.bounds import Bounds
from attending.data.fhir.elements import (
    base_url,
    entered_in_error,
    items,
    of_another,
    resource_id,
    resource_type,
    without_version,
)
from attending.data.fhir.messages import MESSAGE, NOTE, Found
from attending.data.fhir.payloads import Resolve, references

_TARGETS = (NOTE, "Binary")


class _Names:
    """Resources by name; a name that several different ones bear leads to none of them."""

    def __init__(self) -> None:
        self._one: dict[str, Mapping[str, Any] | None] = {}

    def add(self, name: str, resource: Mapping[str, Any]) -> None:
        if self._one.setdefault(name, resource) != resource:
            self._one[name] = None

    def __contains__(self, name: str) -> bool:
        return name in self._one

    def get(self, name: str) -> Mapping[str, Any] | None:
        return self._one.get(name)


class Known:
    """Documents and binaries of a file, by URL, or by type and id.

    The same ``Type/id`` may be another patient's document on another server, so a relative
    reference is read as one to the server that its own resource came from.
    Source: FHIR R4, Bundle, "Resolving references in Bundles". Deviation: where one of the two has
    no URL of a server, type and id are enough, if only one document has them.

    Args:
        found: The resources of the file.
        bounds: Of these, how many payloads of a message are read.
    """

    def __init__(self, found: Sequence[Found], bounds: Bounds) -> None:
        self._all, self._homeless = _Names(), _Names()
        for x in found:
            kind = resource_type(x.resource)
            if kind not in _TARGETS:
                continue
            own = resource_id(x.resource)
            if own:
                self._all.add(f"{kind}/{own}", x.resource)
            if own and base_url(x.full_url) is None:
                self._homeless.add(f"{kind}/{own}", x.resource)
            if isinstance(x.full_url, str):
                self._all.add(without_version(x.full_url), x.resource)
        self.parts = {
            id(target)
            for x in found
            if resource_type(x.resource) == MESSAGE and not entered_in_error(x.resource)
            for resolve in [self.resolver(x)]
            for name in references(x.resource.get("payload"), bounds)
            if (target := resolve(name)) is not None
            and not of_another(x.resource.get("subject"), target.get("subject"))
        }
        """Identities of the resources that are read as a part of a message."""

    def resolver(self, message: Found) -> Resolve:
        """Return what finds the resource that a payload of one message refers to."""
        contained = {
            f"#{c['id']}": c
            for c in items(message.resource.get("contained"))
            if isinstance(c, Mapping) and isinstance(c.get("id"), str)
        }
        base = base_url(message.full_url)

        def resolve(name: str) -> Mapping[str, Any] | None:
            if name in contained:
                return contained[name]
            plain = without_version(name)
            if base is None or ":" in plain:
                return self._all.get(plain)
            near = f"{base}/{plain}"
            return self._all.get(near) if near in self._all else self._homeless.get(plain)

        return resolve
