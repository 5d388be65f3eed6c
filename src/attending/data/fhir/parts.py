"""One part of a message, and why a part may be missing."""

from dataclasses import dataclass

REASONS = {
    "no_payload": "the message has no payload",
    "content_missing": "a payload holds no content",
    "unresolved_reference": "a payload refers to nothing in the file, or to more than one thing",
    "coding_without_text": "a payload is a code without words",
    "attachment_skipped": "an attachment is of a kind that holds no plain text",
    "attachment_not_fetched": "an attachment lies elsewhere, and nothing is fetched",
    "attachment_empty": "an attachment holds no data",
    "attachment_broken": "an attachment can't be decoded",
    "attachment_too_large": "an attachment is larger than allowed",
    "markup_not_closed": "a script or style of an HTML attachment never ends",
    "payloads_left_out": "the message has more payloads than allowed",
    "characters_broken": "a payload holds a NUL or half of a character",
    "text_too_long": "the message is longer than allowed",
    "entered_in_error": "the message, or a document it refers to, was entered in error",
    "subject_differs": "a document it refers to is about somebody else",
    "modifier_extension": "an extension that changes the meaning is not understood",
    "not_a_resource": "not a FHIR resource",
}
"""What each flag means. ``attachment_skipped`` is followed by ``:`` and the media type."""


@dataclass(frozen=True, slots=True)
class Part:
    """Text of a payload, or a flag that says why it can't be read, or both."""

    text: str | None = None
    flag: str | None = None


def flag_known(flag: object) -> bool:
    """Say whether something is one of these flags."""
    return isinstance(flag, str) and flag.partition(":")[0] in REASONS


def in_words(flag: str) -> str:
    """Return a flag with what it means: ``no_payload: the message has no payload``."""
    return f"{flag}: {REASONS[flag.partition(':')[0]]}"
