"""Counts, lists and labels in messages for people."""

from collections.abc import Sequence


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
