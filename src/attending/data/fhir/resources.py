"""The resources of a FHIR file: one resource, a Bundle, or NDJSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from attending.data.fhir.bounds import Bounds, entry_lines, too_deep
from attending.data.fhir.elements import items, resource_type
from attending.data.fhir.messages import Found
from attending.errors import DataError


@dataclass(frozen=True, slots=True)
class Broken:
    """A line or an entry that is no resource, and why; ``reason`` holds no text."""

    line: int
    reason: str


@dataclass(slots=True)
class Resources:
    """Collects resources in order, within bounds."""

    file: str
    bounds: Bounds
    found: list[Found | Broken] = field(default_factory=list)

    def add(self, thing: Any, line: int, lines: Sequence[int] = ()) -> None:
        """Take a resource, or every resource of a bundle, also of bundles within it.

        Args:
            thing: A value of JSON.
            line: Where it starts.
            lines: Where each entry of the bundle starts, as far as that is known.

        Raises:
            DataError: If there are more resources than allowed.
        """
        waiting: list[tuple[Any, int, Any]] = [(thing, line, None)]
        while waiting:
            resource, at, url = waiting.pop()
            kind = resource_type(resource)
            if kind == "Bundle":
                waiting += reversed(list(_entries(resource, at, lines)))
                lines = ()
            elif kind is None:
                self._keep(Broken(at, "not_a_resource: not a FHIR resource"))
            else:
                self._keep(Found(resource, at, url))

    def fail(self, line: int, reason: str) -> None:
        """Keep the place of a line that can't be read.

        Raises:
            DataError: If there are more lines than allowed.
        """
        self._keep(Broken(line, reason))

    def _keep(self, thing: Found | Broken) -> None:
        if len(self.found) >= self.bounds.resources:
            raise DataError(
                "the FHIR file holds too many resources",
                where=self.file,
                allowed=f"{self.bounds.resources:,}",
                step="Split it: NDJSON can be cut at any line.",
            )
        self.found.append(thing)


def _entries(
    bundle: Mapping[str, Any], line: int, lines: Sequence[int]
) -> Iterator[tuple[Any, int, Any]]:
    """Yield (resource, line, URL) of a bundle's entries; one may be a mere request."""
    for position, entry in enumerate(items(bundle.get("entry"))):
        at = lines[position] if position < len(lines) else line
        if not isinstance(entry, Mapping):
            yield None, at, None
        elif entry.get("resource") is not None:
            yield entry["resource"], at, entry.get("fullUrl")


def read_resources(text: str, file: str, bounds: Bounds) -> list[Found | Broken]:
    """Return the resources of a file in order.

    A file whose first line is a whole object, with more lines behind it, is NDJSON; so is a file
    of that name. Its broken lines are kept as such. Anything else is one value of JSON.

    Raises:
        DataError: If the file is empty, is no JSON, holds no resource, or goes beyond the bounds.
    """
    collected = Resources(file, bounds)
    lines = _filled(text)
    first = next(lines, None)
    if first is None:
        raise DataError("the file is empty", where=file)
    second = next(lines, None)
    if second is not None and (_named_lines(file) or isinstance(_parsed(first[1], bounds), dict)):
        for number, line in _filled(text):
            thing = _parsed(line, bounds)
            if isinstance(thing, _Fault):
                collected.fail(number, f"not_a_resource: {thing.reason}")
            else:
                collected.add(thing, number)
    else:
        thing = _parsed(text, bounds)
        if isinstance(thing, _Fault):
            _refuse(thing, file)
        if resource_type(thing) is None:
            raise DataError(
                "this is not FHIR: no resourceType at the outermost level",
                where=file,
                allowed="a resource, a Bundle, or NDJSON of them",
            )
        collected.add(thing, first[0], entry_lines(text) if "\n" in text else ())
    return collected.found


@dataclass(frozen=True, slots=True)
class _Fault:
    reason: str
    line: int = 1


def _refuse(fault: _Fault, file: str) -> NoReturn:
    raise DataError(fault.reason, where=f"{file} line {fault.line}")


def _named_lines(file: str) -> bool:
    return file.lower().removesuffix(".gz").endswith((".ndjson", ".jsonl"))


def _filled(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines that are not blank."""
    start, number = 0, 1
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if line.strip():
            yield number, line
        start, number = end + 1, number + 1


def _parsed(text: str, bounds: Bounds) -> Any:
    if too_deep(text, bounds.depth):
        return _Fault(f"JSON nested deeper than the {bounds.depth} levels allowed")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return _Fault(f"broken JSON at column {error.colno} ({error.msg})", error.lineno)
    except (ValueError, RecursionError):
        return _Fault("JSON with a number that is none or is too long")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
