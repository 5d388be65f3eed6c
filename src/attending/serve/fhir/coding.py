"""Codes of label sets as FHIR spells them."""

import re
from collections.abc import Mapping

from attending.errors import LabelError

SYSTEMS: Mapping[str, str] = {
    "icd10cm": "http://hl7.org/fhir/sid/icd-10-cm",
    "icd10": "http://hl7.org/fhir/sid/icd-10",
    "icd9": "http://hl7.org/fhir/sid/icd-9-cm",
    "icdo3": "http://terminology.hl7.org/CodeSystem/icd-o-3",
}
"""Code systems by the name that their label sets have."""

_URL = re.compile(r"(https?://|urn:)[^\s\"<>]{1,200}")
_UNDOTTED = re.compile(r"[A-Z]\d[0-9A-Z]{2,5}")


def code_system(name: str) -> str:
    """Return the URL of a code system: of one of ``SYSTEMS``, or a URL as it is.

    Raises:
        LabelError: If it is neither.
    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    if not _URL.fullmatch(name):
        raise LabelError(
            "no such code system", found=name[:60], allowed=f"{', '.join(SYSTEMS)}, or a URL"
        )
    return name


def spelled(code: str, system: str) -> str:
    """Return a code as FHIR wants it: ICD-10 with its dot (``E119`` is ``E11.9``)."""
    dotted = system in (SYSTEMS["icd10cm"], SYSTEMS["icd10"]) and _UNDOTTED.fullmatch(code)
    return f"{code[:3]}.{code[3:]}" if dotted else code
