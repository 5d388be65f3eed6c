"""How much of a FHIR file is read: every bound holds before the work that it limits."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attending.data.files import read_bytes
from attending.errors import DataError

# A string without its end runs to the end of the text; otherwise each of its quotation marks would
# be tried in turn, in quadratic time. Possessive repeats keep memory flat on long attachments.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file may hold at most.

    Args:
        bytes: Of the whole file, unpacked.
        resources: In all its bundles and lines.
        depth: Of brackets within brackets.
        payloads: Of one message; further ones are left out and told.
        attachment: Bytes of one attachment, decoded; a larger one is left out and told.
        text: Code points of one message; a longer one can't be read.
    """

    bytes: int = 256 << 20
    resources: int = 200_000
    depth: int = 64
    payloads: int = 100
    attachment: int = 4 << 20
    text: int = 2_000_000


DEFAULT = Bounds()


def read_bounded(path: Path, bounds: Bounds) -> bytes:
    """Return the content of a file, unpacked where its name ends in ``.gz``.

    Raises:
        DataError: If it can't be opened or is larger than allowed; no more than that is read.
    """
    if not path.is_file():
        return read_bytes(path)
    packed = path.suffix.lower() == ".gz"
    if not packed and path.stat().st_size > bounds.bytes:
        raise _too_large(str(path), bounds)
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(bounds.bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            "not a whole gzip archive", where=str(path), step="Copy or compress it again."
        ) from None
    except OSError as error:
        raise DataError(f"can't be opened: {error.strerror}", where=str(path)) from None
    return require_bytes(data, str(path), bounds)


def require_bytes(data: bytes, where: str, bounds: Bounds) -> bytes:
    """Return the data.

    Raises:
        DataError: If they are more than allowed.
    """
    if len(data) > bounds.bytes:
        raise _too_large(where, bounds)
    return data


def _too_large(where: str, bounds: Bounds) -> DataError:
    return DataError(
        "the FHIR file is too large",
        where=where,
        allowed=f"{bounds.bytes:,} bytes, unpacked",
        step="Split it: NDJSON can be cut at any line.",
    )


def brackets(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield (depth before it, token, offset) of the brackets and strings of a JSON text."""
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token in "]}":
            depth -= 1
        yield depth, token, found.start()
        if token in "[{":
            depth += 1


def too_deep(text: str, most: int) -> bool:
    """Say whether a JSON text nests deeper than allowed, without parsing it."""
    return any(depth >= most and token in "[{" for depth, token, _ in brackets(text))


def entry_lines(text: str) -> list[int]:
    """Return the line, from 1, on which each entry of a bundle starts."""
    lines: list[int] = []
    line, seen, key, inside = 1, 0, "", False
    for depth, token, offset in brackets(text):
        if depth == 1:
            inside = token == "[" and key == '"entry"'
            key = token
        elif depth == 2 and inside and token == "{":
            line += text.count("\n", seen, offset)
            seen = offset
            lines.append(line)
    return lines
