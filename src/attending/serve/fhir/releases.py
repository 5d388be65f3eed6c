"""Where R4 and R5 differ in what is written, and the check against either."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal

from pydantic import ValidationError

from attending.errors import DataError, MissingExtra

Release = Literal["R4", "R5"]
RELEASES: tuple[Release, ...] = ("R4", "R5")
Resource = dict[str, Any]

_WRITTEN = ("Task", "Provenance", "Condition", "Device", "Bundle")
_CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"


def require_release(release: str) -> Release:
    """Return the release.

    Raises:
        DataError: If it is none that is written.
    """
    if release not in RELEASES:
        raise DataError("no such release of FHIR", found=release[:20], allowed=", ".join(RELEASES))
    return RELEASES[RELEASES.index(release)]


def reason(release: Release, concept: Mapping[str, Any]) -> Resource:
    """Return a Task's reason: R4 has one concept, R5 a list of concepts or references."""
    if release == "R4":
        return {"reasonCode": concept}
    return {"reason": [{"concept": concept}]}


def evidence(release: Release, reference: Mapping[str, Any]) -> Resource:
    """Return a Condition's evidence: R4 has a detail, R5 a concept or reference."""
    if release == "R4":
        return {"evidence": [{"detail": [reference]}]}
    return {"evidence": [{"reference": reference}]}


def clinical_status(release: Release) -> Resource:
    """Return a Condition's clinical status: R5 wants one and has a word for not knowing it."""
    if release == "R4":
        return {}
    return {"clinicalStatus": {"coding": [{"system": _CLINICAL, "code": "unknown"}]}}


def device_name(release: Release, name: str, kind: str) -> Resource:
    """Return name and type of a Device: R4 has one type and other words for its name."""
    if release == "R4":
        return {
            "deviceName": [{"name": name, "type": "user-friendly-name"}],
            "type": {"text": kind},
        }
    return {
        "name": [{"value": name, "type": "user-friendly-name"}],
        "type": [{"text": kind}],
    }


@cache
def checker(release: Release) -> Callable[[Resource], None]:
    """Return what checks a resource against the structures of a release.

    R4 is checked as R4B (4.3), which has the same Task, Provenance, Condition and Device.

    Raises:
        MissingExtra: If ``fhir.resources`` is not installed.
    """
    package = "fhir.resources.R4B" if release == "R4" else "fhir.resources"
    try:
        kinds = {x: getattr(import_module(f"{package}.{x.lower()}"), x) for x in _WRITTEN}
    except ImportError:
        raise MissingExtra("fhir.resources", "fhir", "Writing FHIR") from None

    def check(resource: Resource) -> None:
        try:
            kinds[resource["resourceType"]].model_validate(resource)
        except ValueError as error:
            # The library quotes what it refuses, which may be anything: only places are told.
            listed = error.errors() if isinstance(error, ValidationError) else []
            places = {".".join(map(str, e["loc"])) for e in listed}
            raise DataError(
                f"a {resource['resourceType']} is not valid in FHIR {release}",
                found=", ".join(sorted(p for p in places if p))[:200] or None,
            ) from None

    return check
