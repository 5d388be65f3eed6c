"""Words of a text as they are looked up, with their places in the untouched text.

Two spellings are one word if they differ in case, in accents (``mamá``, ``MAMA``) or in invisible
characters. Everything that is no letter and no digit separates words, hyphens and underscores
too. Right for languages that put blanks between words and whose accents are marks on letters.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_MARKS = "\u0300-\u036f"
_INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_WORD = re.compile(f"[^\\W_](?:[{_MARKS}{_INVISIBLE}]*[^\\W_])*[{_MARKS}]*")
# A point ends a sentence only before a blank: "2.5 mg" goes on.
_END = re.compile(r"[;:!?\n\r]|\.\s")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text, folded, with half-open offsets in code points and sentence numbers."""

    folded: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    sentences: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.folded)


def read_words(text: str) -> Words:
    """Return the words of a text."""
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    sentences: list[int] = []
    sentence, last = 0, None
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = fold_word(match.group())
        if not word:
            continue
        if last is not None and _END.search(text, last, start):
            sentence += 1
        folded.append(word)
        starts.append(start)
        ends.append(end)
        sentences.append(sentence)
        last = end
    return Words(tuple(folded), tuple(starts), tuple(ends), tuple(sentences))


@lru_cache(maxsize=2**18)
def fold_word(word: str) -> str:
    """Return a word without case, accents and invisible characters."""
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFD", word).casefold())
    return "".join(c for c in plain if c.isalnum())


def stem_of(word: str, letters: int) -> str:
    """Return the first letters of a folded word, all of it if ``letters`` is 0."""
    return word[:letters] if letters else word
