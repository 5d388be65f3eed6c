"""The rows of a FHIR file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from zoneinfo import ZoneInfo

from attending.data.fhir.bounds import DEFAULT, Bounds, require_bytes
from attending.data.fhir.elements import resource_type
from attending.data.fhir.known import Known
from attending.data.fhir.messages import READ, UNREAD, Found, Manner, UnreadMessage, read_message
from attending.data.fhir.moments import BAD_TIME, NO_TIMEZONE
from attending.data.fhir.resources import Broken, read_resources
from attending.data.files import decode
from attending.data.wording import plural, some
from attending.errors import DataError
from attending.records import Document, Row, Source, Unreadable

COLUMNS: Mapping[str, str] = {"text": "payload", "id": "id", "group": "subject", "date": "sent"}
"""Where the roles of a table's columns are found in FHIR."""


@dataclass(frozen=True, slots=True)
class FhirRows:
    """Messages in the order of the file, and notes on how they were read."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def read_rows(
    data: bytes,
    file: str,
    *,
    bounds: Bounds = DEFAULT,
    encoding: str = "utf-8",
    zone: str | None = None,
    strict: bool = False,
    first: int = 1,
) -> FhirRows:
    """Read the messages of a file that is in memory already.

    Args:
        data: A resource, a Bundle or NDJSON.
        file: What to call it.
        bounds: What it may hold at most.
        encoding: How characters are stored; FHIR is UTF-8.
        zone: Zone of times that name none, such as ``Europe/Berlin``.
        strict: Raise on the first message that can't be read whole, or whose time has no zone.
        first: Number of the first row, for ids of messages without one.

    Raises:
        DataError: If the file is no FHIR, goes beyond the bounds, or the zone is unknown; if
            ``strict``, as above.
    """
    where = _zone(zone)
    text = decode(require_bytes(data, file, bounds), file, encoding)
    found = read_resources(text, file, bounds)
    known = Known([x for x in found if isinstance(x, Found)], bounds)
    manner = Manner(bounds, where)
    rows: list[Row] = []
    others: Counter[str] = Counter()
    for thing in found:
        fallback = f"row-{first + len(rows)}"
        if isinstance(thing, Broken):
            flags = {UNREAD: ["not_a_resource"]}
            source = Source(file, thing.line)
            rows.append(UnreadMessage(fallback, thing.reason, source, flags))
            continue
        kind = str(resource_type(thing.resource))
        if kind in READ and id(thing.resource) not in known.parts:
            resolve = known.resolver(thing)
            rows.append(read_message(thing, kind, fallback, file, resolve, manner))
        elif kind not in READ:
            others[kind] += 1
    if strict:
        _require_whole(rows)
    return FhirRows(tuple(rows), tuple(_notes(file, rows, others, zone)))


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # not found, or no name of a zone
        raise DataError(
            "there is no such time zone",
            found=name[:60],
            allowed="names such as Europe/Berlin, America/Chicago or UTC",
        ) from None


def _require_whole(rows: Sequence[Row]) -> None:
    for row in rows:
        attributes = row.attributes if isinstance(row, Document | UnreadMessage) else {}
        unread = attributes.get(UNREAD)
        if isinstance(row, Unreadable) or unread:
            reason = row.reason if isinstance(row, Unreadable) else ", ".join(unread or ())
            raise DataError(f"the message can't be read whole: {reason}", where=str(row.source))
        if attributes.get("sent_remark"):
            raise DataError(
                f"the time of the message can't be used: {attributes['sent_remark']}",
                where=str(row.source),
                step="Times need a zone, such as 2024-03-11T07:30:00Z.",
            )


def _notes(file: str, rows: Sequence[Row], others: Counter[str], zone: str | None) -> Iterator[str]:
    """Say what was left out, read in part or assumed: counts, codes and lines, never a text."""
    if others:
        kinds = some([f"{kind}: {count:,}" for kind, count in others.most_common()])
        yield f"{file}: {plural(others.total(), 'other resource')} left out ({kinds})"
    documents = [row for row in rows if isinstance(row, Document)]
    partly = Counter(flag for d in documents for flag in d.attributes.get(UNREAD, ()))
    if partly:
        count = sum(bool(d.attributes.get(UNREAD)) for d in documents)
        kinds = some([f"{flag}: {times:,}" for flag, times in partly.most_common()])
        yield f"{file}: {plural(count, 'message')} read in part ({kinds})"
    no_id = sum(row.id.startswith("row-") for row in rows)
    if no_id:
        yield f"{file}: {plural(no_id, 'message')} without a usable id (named row-N)"
    for remark, what in (
        (NO_TIMEZONE, f"taken as {zone}" if zone else "their instant is not known"),
        (BAD_TIME, "left out"),
    ):
        ids = [d.id for d in documents if d.attributes.get("sent_remark") == remark]
        if ids:
            yield f"{file}: {plural(len(ids), 'time')} with {remark} ({some(ids)}): {what}"
