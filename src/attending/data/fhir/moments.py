"""Instants: when a message was sent, on one time line whatever zone it was written in."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

NO_TIMEZONE = "no_timezone"
"""A time without a zone, or a date without a time."""
BAD_TIME = "bad_time"
"""Something that is no time of FHIR."""

_TIME = re.compile(
    r"(?P<day>\d{4}(?:-\d\d(?:-\d\d)?)?)"
    r"(?:T(?P<clock>\d\d:\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,12}))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant as it was written and as it is.

    Args:
        written: The original string; ``None`` where it was no time.
        when: The instant in UTC, to the microsecond; ``None`` where it isn't known.
        utc: The instant in UTC with every digit of the original's fraction.
        remark: ``no_timezone`` or ``bad_time``; also where a zone was assumed.
    """

    written: str | None = None
    when: datetime | None = None
    utc: str | None = None
    remark: str | None = None


def read_moment(value: Any, zone: tzinfo | None = None) -> Moment:
    """Read a FHIR ``dateTime`` or ``instant``.

    Args:
        value: The string.
        zone: Zone of times that name none; without one their instant is not known. The
            computer's own zone never enters.
    """
    if value is None:
        return Moment()
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return Moment(remark=BAD_TIME)
    written, named = str(value), found["zone"]
    second = found["second"] or "00"
    # A leap second has no place in datetime: it is the first instant of the next minute.
    leap = timedelta(seconds=1 if second == "60" else 0)
    day = (found["day"] + "-01-01")[:10]
    clock = f"{found['clock'] or '00:00'}:{'59' if leap else second}"
    try:
        local = datetime.fromisoformat(f"{day}T{clock}{named or ''}") + leap
        if named is None and zone is None:
            return Moment(written, remark=NO_TIMEZONE)
        aware = local if named else local.replace(tzinfo=zone)
        instant = aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return Moment(remark=BAD_TIME)
    fraction = found["fraction"] or ""
    exact = instant.replace(microsecond=int(fraction[:6].ljust(6, "0")) if fraction else 0)
    shown = instant.isoformat()[:19]
    utc = f"{shown}{'.' + fraction if fraction else ''}Z"
    return Moment(written, exact, utc, None if named else NO_TIMEZONE)
