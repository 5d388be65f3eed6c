"""Words of a text: what a tagger tags. One rule, for texts that come without words of their own.

A word is a run of letters and digits; any other visible character is a word by itself. What
belongs to a character stays with it: combining marks, joiners and variation selectors (so that an
emoji with a skin tone is one word), the second half of a flag or of a surrogate pair. Every
character that is not white space is in exactly one word.
"""

import re
import unicodedata
from functools import cache

from attending.records import Document
from attending.tokens import own_words

Words = tuple[tuple[int, int], ...]
_TONES = "\U0001f3fb-\U0001f3ff"
_FLAG = "[\U0001f1e6-\U0001f1ff]"


def words(text: str) -> Words:
    """Return the words of a text as half-open (start, end) in code points, in text order."""
    return tuple(match.span() for match in _pattern().finditer(text))


def words_of(document: Document) -> Words:
    """Return the words of a document: its source's own tokens if it has any, else ``words``."""
    own = own_words(document)
    return words(document.text) if own is None else own


@cache
def _pattern() -> re.Pattern[str]:
    after = f"(?:[{_marks()}{_TONES}]|\u200d\\S)"
    letter = r"[^\W_]"
    return re.compile(
        rf"{letter}(?:{letter}|{after})*|{_FLAG}{{2}}|[\ud800-\udbff][\udc00-\udfff]|\S{after}*"
    )


def _marks() -> str:
    """Return all combining marks as the inside of a character class."""
    codes = [c for c in (*range(0x300, 0x1FFFF), *range(0xE0100, 0xE01F0)) if _is_mark(c)]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code)).startswith("M")
