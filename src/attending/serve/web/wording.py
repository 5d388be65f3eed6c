"""How sure, how old, which label: in words and numbers that fit a narrow list."""

from collections.abc import Sequence
from datetime import UTC, datetime

from attending.explain.wording import percent
from attending.records import LabelSet
from attending.serve.placing import by_urgency
from attending.serve.queries import NO_LABEL

_SURE = ((0.9, "very sure"), (0.7, "fairly sure"), (0.5, "unsure"), (0.0, "a guess"))
SURE_IN_WORDS = (
    "very sure: 90 % and more; fairly sure: 70 % and more; unsure: 50 % and more; "
    "a guess: less than that"
)
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_MINUTE = "%Y-%m-%d %H:%M"
_APART = 12
"""So many labels of a set without an order have a group each."""


def sureness(probability: float | None) -> str:
    """Return ``fairly sure, 81 %``; nothing where there is no probability."""
    if probability is None:
        return ""
    words = next(words for floor, words in _SURE if probability >= floor or not floor)
    return f"{words}, {percent(probability)}"


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago, in the largest unit that fits: ``3 d``, ``5 h``, ``12 min``."""
    seconds = (now - moment).total_seconds()
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length):,} {unit}"
    return "now"


def clock(moment: datetime) -> str:
    """Return a moment in this machine's zone, to the minute: ``2026-03-11 07:30``.

    One that this zone has no date for, at either end of the calendar, stays in UTC.
    """
    try:
        return moment.astimezone().strftime(_MINUTE)
    except (OverflowError, ValueError, OSError):
        return moment.astimezone(UTC).strftime(_MINUTE)


def queue_order(labels: LabelSet) -> tuple[str, ...]:
    """Return the labels that have a group each, the first on top.

    Of an ordered set the highest comes first; a small set without an order keeps its own. The rest
    have one group, by age alone.
    """
    if labels.ordered:
        return by_urgency(labels)
    return labels.ids if len(labels) <= _APART else ()


def level(label: str | None, labels: LabelSet) -> str:
    """Return the class of a label's colour: its place among ordered labels, from high to low."""
    if label is None:
        return "person"
    if not labels.ordered or label not in labels.ids or label == NO_LABEL:
        return "plain"
    place, last = labels.position(label), len(labels) - 1
    return "high" if place == last else "low" if place == 0 else "mid"


def names(chosen: Sequence[str], labels: LabelSet) -> str:
    """Return labels by name, or that there is none."""
    found = [labels[x].name if x in labels.ids else x for x in chosen if x != NO_LABEL]
    return ", ".join(found) or "no label"
