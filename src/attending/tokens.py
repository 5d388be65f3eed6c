"""Tokens that a document's source has given it, as ``attributes["tokens"]``."""

from itertools import pairwise
from typing import Any

from attending.records import Document


def own_words(document: Document) -> tuple[tuple[int, int], ...] | None:
    """Return the tokens that a document's source has given it, ``attributes["tokens"]``.

    A column of another kind may have that name too: only pairs of whole numbers that lie within
    the text, in its order and apart from each other, are tokens; of anything else, or of none,
    ``None`` is returned.
    """
    own = document.attributes.get("tokens")
    if not isinstance(own, list | tuple) or not own or not all(map(is_pair, own)):
        return None
    ends = (0, *(offset for pair in own for offset in pair), len(document.text))
    inside = all(a <= b for a, b in pairwise(ends)) and all(a < b for a, b in own)
    return tuple((a, b) for a, b in own) if inside else None


def is_pair(value: Any) -> bool:
    """Say whether a value is two whole numbers, as a list or a tuple."""
    return isinstance(value, list | tuple) and [type(x) for x in value] == [int, int]
