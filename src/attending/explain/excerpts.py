"""What to show of a text that is too long to be shown whole: what lies around the evidence."""

import re
from collections.abc import Sequence

from attending.explain.words import Offsets
from attending.records import Evidence

_BLANK = re.compile(r"\s")
_REACH = 40


def excerpts(
    text: str, spans: Sequence[Evidence], *, whole: int, around: int = 300
) -> tuple[Offsets, ...]:
    """Return the parts of a text to show, in order and apart from each other.

    Args:
        text: The text.
        spans: The evidence in it.
        whole: A text of at most so many code points is one part; of a longer one without evidence
            so many are shown from its start.
        around: Code points before and after each span.
    """
    if len(text) <= whole:
        return ((0, len(text)),)
    if not spans:
        return ((0, _after(text, whole)),)
    parts: list[Offsets] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        start, end = _before(text, span.start - around), _after(text, span.end + around)
        if parts and start <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(parts[-1][1], end)
        else:
            parts.append((start, end))
    return tuple(parts)


def gaps(text: str, parts: Sequence[Offsets]) -> list[int]:
    """Return the number of words left out before each part and after the last, one more than parts.

    Words are counted as runs without white space.
    """
    edges = [0, *(at for part in parts for at in part), len(text)]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [len(text[start:end].split()) for start, end in pairs]


def _before(text: str, at: int) -> int:
    """Return the start of the word at a place; of the text, if the place lies before it."""
    if at <= 0:
        return 0
    found = [m.end() for m in _BLANK.finditer(text, max(0, at - _REACH), at)]
    return found[-1] if found else at


def _after(text: str, at: int) -> int:
    """Return the end of the word at a place; of the text, if the place lies beyond it."""
    if at >= len(text):
        return len(text)
    found = _BLANK.search(text, at, at + _REACH)
    return found.start() if found else at
