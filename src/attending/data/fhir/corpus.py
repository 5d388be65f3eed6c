"""A corpus from FHIR: the way in for programs, and for uploads that are in memory."""

from pathlib import Path

from attending.data.corpora import Corpus
from attending.data.fhir.bounds import DEFAULT, Bounds, read_bounded
from attending.data.fhir.rows import COLUMNS, read_rows
from attending.errors import DataError


def read_fhir(
    source: str | Path | bytes,
    *,
    name: str | None = None,
    bounds: Bounds = DEFAULT,
    zone: str | None = None,
    strict: bool = False,
) -> Corpus:
    """Read messages from FHIR R4 or R5: a resource, a Bundle or NDJSON (also ``.gz``).

    Each ``Communication`` and each ``DocumentReference`` becomes a row, in the order of the file;
    other resources are counted. The payloads of a message are joined by line breaks. What can't be
    read of a message is told in its attribute ``fhir_unread``; one without any text stays in the
    corpus as an ``UnreadMessage``. Nothing is fetched.

    Args:
        source: A file, or its content.
        name: What to call it; the file's name, or ``upload``.
        bounds: What the file may hold at most.
        zone: Zone of times that name none; without one such a message has no ``when``.
        strict: Raise on the first message that can't be read whole or whose time has no zone.

    Raises:
        DataError: If the file is no FHIR, holds no message, goes beyond the bounds, or the zone is
            unknown; if ``strict``, as above.
    """
    if isinstance(source, bytes):
        data, file = source, name or "upload"
    else:
        path = Path(source)
        data, file = read_bounded(path, bounds), path.name
    read = read_rows(data, file, bounds=bounds, zone=zone, strict=strict)
    if not read.rows:
        found = read.notes[0] if read.notes else None
        raise DataError("there are no messages", where=file, found=found)
    return Corpus(read.rows, name or file.partition(".")[0], read.notes, COLUMNS)
