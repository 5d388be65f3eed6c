"""Where a message goes in the queue. One rule, for tasks and for cards.

A message has the highest priority of its labels. It has at least the priority of the unread where
the model gave no label (it could not read the text, was not sure, or found none that applies), and
where only a part was read: too long a text, or an attachment that could not be opened. So nothing
that a person might have read otherwise ever gets the lowest priority.
"""

from dataclasses import dataclass
from typing import Any, Literal

from attending.data.fhir.messages import UNREAD
from attending.data.fhir.parts import flag_known, in_words
from attending.errors import LabelError
from attending.records import LabelSet, Prediction, Row, Unreadable
from attending.serve.priorities import Priorities, Priority, rank

Reading = Literal["read", "read-in-part", "unsure", "no-label", "not-read"]
"""What became of a message."""

IN_WORDS: dict[Reading, str] = {
    "read": "Read by the model",
    "read-in-part": "Read by the model in part: the rest is for a person to read",
    "unsure": "The model is not sure: for a person to read",
    "no-label": "The model found no label that applies: for a person to read",
    "not-read": "Not read by the model: for a person to read",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A message's place: its priority, how it was read, and the label that decided."""

    priority: Priority
    reading: Reading
    label: str | None = None


def attributes_of(row: Row) -> dict[str, Any]:
    """Return what is known of a row besides its text; also of an unreadable one from FHIR."""
    return dict(getattr(row, "attributes", {}))


def by_urgency(labels: LabelSet) -> tuple[str, ...]:
    """Return the labels of an ordered set, the most urgent first; nothing of any other set."""
    return tuple(reversed(labels.ids)) if labels.ordered else ()


def reading_of(row: Row, prediction: Prediction) -> Reading:
    """Say what became of a row."""
    if prediction.status != "ok" or isinstance(row, Unreadable):
        return "not-read"
    if not prediction.labels:
        return "unsure" if prediction.abstained else "no-label"
    unread = attributes_of(row).get(UNREAD)
    return "read-in-part" if unread or prediction.read.truncated else "read"


def told(reading: Reading, row: Row, prediction: Prediction) -> str:
    """Return a reading in words, with what is missing and why; no text of the message."""
    if reading == "not-read":
        missing = prediction.reason or getattr(row, "reason", None)
    elif reading == "read-in-part":
        flags = attributes_of(row).get(UNREAD)
        words = [in_words(f) for f in flags if flag_known(f)] if isinstance(flags, list) else []
        if prediction.read.truncated:
            words.append(f"{prediction.read.tokens:,} of {prediction.read.of:,} tokens were read")
        missing = "; ".join(words)
    else:
        missing = None
    return f"{IN_WORDS[reading]} ({missing})" if missing else IN_WORDS[reading]


def place(row: Row, prediction: Prediction, priorities: Priorities) -> Place:
    """Return the place of a message in the queue.

    Raises:
        LabelError: If the prediction has a label that the map doesn't know.
    """
    reading = reading_of(row, prediction)
    if reading in ("not-read", "unsure", "no-label"):
        return Place(priorities.unread, reading)
    for label in prediction.labels:
        if label not in priorities.of:
            raise LabelError(f'the label "{label}" has no priority', where=priorities.name)
    first = max(prediction.labels, key=lambda x: rank(priorities.of[x]))
    priority = priorities.of[first]
    if reading == "read-in-part":
        priority = max(priority, priorities.unread, key=rank)
    return Place(priority, reading, first)
