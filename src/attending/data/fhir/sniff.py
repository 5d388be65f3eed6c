"""Telling FHIR from other JSON by how a file begins."""

import gzip
import re
import zlib
from pathlib import Path

from attending.data.fhir.bounds import brackets

FORMAT = "fhir"
SUFFIXES = (".json", ".ndjson", ".jsonl")
_HEAD = 1 << 17
_LINES = 20
_TYPE = re.compile(r'"resourceType"\s*:\s*"[A-Z][A-Za-z]{0,63}"')


def is_fhir_file(path: Path) -> bool:
    """Say whether a JSON file holds FHIR resources, by its first part; never raises."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(SUFFIXES):
        return False
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            return is_fhir(file.read(_HEAD))
    except (OSError, EOFError, zlib.error):
        return False


def is_fhir(data: bytes) -> bool:
    """Say whether JSON is a resource, or lines of them: it names its type at its outermost level.

    A resource that names its type only after its first 128 KiB is not recognised.
    """
    head = data[:_HEAD].decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    return _names_type(head) or any(map(_names_type, head.split("\n")[:_LINES]))


def _names_type(text: str) -> bool:
    if not text.startswith("{") or '"resourceType"' not in text:
        return False
    return any(
        depth == 1 and token == '"resourceType"' and _TYPE.match(text, offset)
        for depth, token, offset in brackets(text)
    )
