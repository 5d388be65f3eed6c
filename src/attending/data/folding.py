"""When two texts, or two label spellings, count as the same for a reader's eye."""

import hashlib
import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_JOINERS = re.compile(r"[\s\-‐-―−_]+")


def fold_text(text: str) -> str:
    """Return a text as compared for sameness: without case, invisible characters, spacing.

    Accents are composed (NFC) and every run of white space becomes one blank. The result is a
    key for comparison; it is never shown or stored, and its offsets mean nothing.
    """
    bare = _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).casefold()
    return " ".join(unicodedata.normalize("NFC", bare).split())


def text_key(text: str) -> bytes:
    """Return a 16-byte digest of the folded text."""
    folded = fold_text(text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(folded, digest_size=16).digest()


def fold_label(label: str) -> str:
    """Return a label as compared for spelling twins.

    Case, white space, hyphens, underscores, invisible characters and the Unicode form
    (full-width letters, composed accents) don't count.
    """
    bare = _INVISIBLE.sub("", unicodedata.normalize("NFKC", label)).casefold()
    return _JOINERS.sub("", unicodedata.normalize("NFKC", bare))
