"""A message as HTML: words shaded, evidence marked, hidden characters made visible."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from markupsafe import Markup, escape

from attending.explain.evidence import shading
from attending.explain.excerpts import excerpts, gaps
from attending.explain.words import Offsets, word_spans
from attending.records import Evidence

LEVELS = 9
"""Steps of shading; a word below the first, a ninth of the strongest, is not shaded."""

_KEPT = frozenset("\n\t")
_JOINERS = frozenset("\u200c\u200d")
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NOT_IN_HTML = frozenset({"Cc", "Cs", "Cn"})


def shaded(
    text: str,
    words: Sequence[Evidence],
    spans: Sequence[Evidence],
    unread_from: int | None = None,
    part: Offsets | None = None,
) -> Markup:
    """Return a message as HTML for an element that keeps white space.

    Args:
        text: The message.
        words: Its words with scores, in text order; of class ``p1`` to ``p9`` as ``shading`` says,
            ``n1`` to ``n9`` where the score is below zero.
        spans: Evidence, in ``mark`` elements.
        unread_from: Where the part begins in which no word has a score, if not all was read.
        part: What to show of the message, by default all of it.
    """
    strengths = shading(words)
    starts = [word.start for word in words]
    first, last = part or (0, len(text))
    edges = {first, last, *(at for item in (*words, *spans) for at in (item.start, item.end))}
    edges |= {unread_from} if unread_from is not None else set()
    cuts = sorted(at for at in edges if first <= at <= last)
    out: list[str] = []
    tags: tuple[str, ...] = ()
    for start, end in pairwise(cuts):
        wanted = _around(start, spans, unread_from)
        out += _change(tags, wanted)
        tags = wanted
        place = bisect_right(starts, start) - 1
        inside = place >= 0 and start < words[place].end
        inner = visible(text[start:end], inside)
        out.append(_shade(inner, words[place].score, strengths[place]) if inside else str(inner))
    out += _change(tags, ())
    return Markup("".join(out))


def excerpted(
    text: str,
    words: Sequence[Evidence],
    spans: Sequence[Evidence],
    unread_from: int | None,
    parts: Sequence[Offsets],
) -> Markup:
    """Return some parts of a message as ``shaded`` gives them, with words left out counted."""
    out: list[str] = []
    for count, part in zip(gaps(text, parts), [*parts, None], strict=True):
        if count:
            noun = "word" if count == 1 else "words"
            out.append(f'<span class="gap">\u2026 {count:,} {noun} not shown \u2026</span>')
        if part is not None:
            out.append(shaded(text, words, spans, unread_from, part))
    return Markup("".join(out))


def plain(text: str, most: int | None = None) -> Markup:
    """Return a message as HTML without shading; of a longer one, ``most`` code points."""
    parts = excerpts(text, (), whole=most or len(text))
    shown = [Evidence(start, end, 0.0, None, "") for start, end in word_spans(text[: parts[0][1]])]
    return excerpted(text, shown, (), None, parts)


def visible(text: str, joined: bool = True) -> Markup:
    """Return text as safe HTML in which every hidden character is followed by its code.

    Line ends become one newline. ``joined``: whether this is inside a word, where a zero-width
    joiner does its work (emoji, Persian) and stays as it is. Direction marks act on nothing beyond
    themselves, and what HTML can't hold is left with its code alone.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Markup("".join(_sign(character, joined) for character in text))


def _sign(character: str, joined: bool) -> str:
    category = unicodedata.category(character)
    hidden = category in _HIDDEN or character in _BLANK_LETTERS
    if not hidden or character in _KEPT or (joined and character in _JOINERS):
        return str(escape(character))
    if joined and 0xE0020 <= ord(character) <= 0xE007F:
        return character
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    kept = "" if category in _NOT_IN_HTML else character
    return f'<span class="hid" title="{code} {name}" data-code="{code}">{kept}</span>'


def _around(start: int, spans: Sequence[Evidence], unread_from: int | None) -> tuple[str, ...]:
    unread = unread_from is not None and start >= unread_from
    marked = any(span.start <= start < span.end for span in spans)
    return ('span class="unread"',) * unread + ("mark",) * marked


def _change(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    if old == new:
        return
    yield from (f"</{tag.split()[0]}>" for tag in reversed(old))
    yield from (f"<{tag}>" for tag in new)


def _shade(inner: Markup, score: float, strength: float) -> str:
    level = int(LEVELS * abs(strength) + 1e-9)
    if level == 0:
        return str(inner)
    return f'<span class="{"p" if score > 0 else "n"}{level}" title="{score:.2g}">{inner}</span>'
