"""Counts, lists and labels in messages for people."""

from collections.abc import Sequence
from difflib import get_close_matches

from attending.data.folding import fold_label

_FEW = 2000


def plural(count: int, noun: str, several: str | None = None) -> str:
    """Return ``1 row``, ``1,756 rows``."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def some(items: Sequence[object], most: int = 5) -> str:
    """Return the first items, separated by commas, and how many more there are."""
    head = ", ".join(str(item) for item in items[:most])
    return f"{head} and {len(items) - most:,} more" if len(items) > most else head


def shown_label(label: str) -> str:
    """Return a label for a message; an over-long one is likely a text, so it isn't shown."""
    return f'"{label}"' if len(label) <= 60 else f"of {len(label):,} characters"


def nearest_label(label: str, known: Sequence[str]) -> str | None:
    """Return the known label that is most like one, if any is.

    One that differs in spelling alone (case, blanks, hyphens, dots) comes first, then those with
    the same beginning: codes that begin alike mean alike, and few of many are compared.
    """
    bare = _bare(label)
    begins: list[list[str]] = [[], []]
    for other in known:
        form = _bare(other)
        if form == bare:
            return other
        for found, length in zip(begins, (3, 1), strict=True):
            if form[:length] == bare[:length]:
                found.append(other)
    for candidates in (*begins, known if len(known) <= _FEW else ()):
        hits = get_close_matches(label, candidates[:_FEW], n=1, cutoff=0.5)
        if hits:
            return hits[0]
    return None


def _bare(label: str) -> str:
    return fold_label(label).replace(".", "")
