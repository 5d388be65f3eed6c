"""Features of words for linear chains: letters, shape and endings of a word and its neighbours."""

import re
from collections.abc import Sequence

from attending.specs import WordWindowFeatures


class WordWindow:
    """Turns the words of a text into lists of feature names.

    The set is the usual one of feature-based entity taggers: the word in lower case, its prefixes
    and suffixes, its shape (``Xxx``, ``dd``), and word and shape of its neighbours.

    Args:
        spec: How far it looks.
    """

    def __init__(self, spec: WordWindowFeatures) -> None:
        self.spec = spec

    def __call__(self, surfaces: Sequence[str]) -> list[list[str]]:
        """Return the features of each word of one text."""
        # Halves of characters (lone surrogates) can't be handed to CRFsuite.
        surfaces = [s.encode("utf-8", "replace").decode() for s in surfaces]
        low = [s.lower() for s in surfaces]
        shapes = [shape(s) for s in surfaces]
        short = [re.sub(r"(.)\1+", r"\1", s) for s in shapes]
        own = [self._own(word, shapes[i], short[i]) for i, word in enumerate(low)]
        for i, found in enumerate(own):
            for step in range(-self.spec.window, self.spec.window + 1):
                there = i + step
                if not step:
                    continue
                if 0 <= there < len(low):
                    found += [f"{step}w={low[there]}", f"{step}s={short[there]}"]
                elif there in (-1, len(low)):
                    found.append(f"{step}edge")
            if i and self.spec.window:
                found.append(f"-1|0w={low[i - 1]}|{low[i]}")
        return own

    def _own(self, word: str, full: str, short: str) -> list[str]:
        found = ["bias", f"w={word}", f"S={full}", f"s={short}"]
        for length in range(1, min(self.spec.affixes, len(word) - 1) + 1):
            found += [f"p={word[:length]}", f"e={word[-length:]}"]
        return found


def shape(word: str) -> str:
    """Return a word with ``X`` for capitals, ``x`` for other letters, ``d`` for digits."""
    return "".join(map(_shape, word))


def _shape(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character


def build_word_window(spec: WordWindowFeatures, **_: object) -> WordWindow:
    """Build the features of words."""
    return WordWindow(spec)
