"""Words of a text as code-point spans, and the scores of a tokenizer's pieces joined to words.

A word is what a reader would point at: letters, digits and their combining marks, with
apostrophes and hyphens inside (``can't``, ``follow-up``), numbers with their inner marks
(``38.5°``, ``120/80``), one Chinese character or hiragana, one emoji. Composed and decomposed
accents give the same words. Nothing here copies or normalises the text: a word is a pair of
offsets into it, so it can't drift and two equal words can't be mistaken for one another.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from attending.errors import ShapeError

Offsets = tuple[int, int]
"""Half-open code points into a document's text."""

_BY_CHARACTER = {
    "'": "A",
    "\u2019": "A",
    "\uff07": "A",
    "-": "A",
    "\u2010": "A",
    "\u2011": "A",
    "_": "A",
    ".": "P",
    ",": "P",
    "/": "P",
    ":": "P",
    "°": "S",
    "%": "S",
    "\u200d": "J",
}
_IDEOGRAPHS = (
    (0x3040, 0x309F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_EMOJI = ((0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
_MODIFIERS = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
_FLAG_LETTERS = (0x1F1E6, 0x1F1FF)

_WORD = re.compile(
    r"""
      [LD]M*+ (?: [FJ]*+ (?: A[FJ]*+ )?+ [LD]M*+     # letters, also across ' - or a hidden sign
                | (?<=D) P (?=D)                     # 38.5  120/80  12:30
                | (?<=D) S )*+                       # 38.5°  98%
    | IM*+                                           # one ideograph or hiragana
    | GG? M*+                                        # a flag: two flag letters
    | E[MR]*+ (?: J E[MR]*+ )*+                      # an emoji with skin tone, joined emoji
    """,
    re.VERBOSE,
)

_FUNCTION_WORDS = (
    "a about after again all am an and any are as at be because been before being both but by "
    "can could did do does doing down during each few for from further had has have having he "
    "her here hers herself him himself his how i if in into is it its itself just me more most "
    "my myself now of off on once only or other our ours ourselves out over own same she so "
    "should some such than that the their theirs them themselves then there these they this "
    "those through to too under until up very was we were what when where which while who whom "
    "why will with would you your yours yourself i'm i've i'd i'll it's he's she's we're we've "
    "they're you're that's there's"
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words that may be bridged inside a span. Negations are not among them."""


class _Kinds(dict[int, str]):
    """Code point to the one-letter kind that ``_WORD`` reads; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = _kind(code)
        return kind


def _within(code: int, ranges: Iterable[Offsets]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _kind(code: int) -> str:
    character = chr(code)
    category = unicodedata.category(character)
    if character in _BY_CHARACTER:
        return _BY_CHARACTER[character]
    if _within(code, _MODIFIERS):
        return "R"
    if category[0] == "M":
        return "M"
    if _within(code, [_FLAG_LETTERS]):
        return "G"
    if _within(code, _IDEOGRAPHS) and category[0] == "L":
        return "I"
    if category == "So":
        return "E" if _within(code, _EMOJI) else " "
    if category == "Cf":
        return "F"
    return {"L": "L", "N": "D"}.get(category[0], " ")


_KINDS = _Kinds()


def word_spans(text: str) -> tuple[Offsets, ...]:
    """Return the words of a text in order, as half-open code-point offsets into it.

    Thai, Lao, Khmer and Burmese runs stay whole: their words need a dictionary.
    """
    return tuple(m.span() for m in _WORD.finditer(text.translate(_KINDS)))


def is_stop_word(word: str) -> bool:
    """Say whether a word is an English function word (a negation never is)."""
    return word.replace("\u2019", "'").casefold() in STOP_WORDS


class PieceShares:
    """Which words of a text a tokenizer's pieces lie in, found once for scores of any label.

    words and pieces are offsets into the same text, words in text order. A piece that covers
    several words (a tokenizer that drops hidden signs or takes a blank along) is shared out by
    the code points it has in each; a piece in no word (punctuation, special tokens with empty
    offsets) is left out.
    """

    def __init__(self, words: Sequence[Offsets], pieces: Sequence[Offsets]) -> None:
        self.words, self.pieces = len(words), len(pieces)
        found: list[tuple[int, int, int, int]] = []
        first = 0
        for piece in sorted(range(len(pieces)), key=pieces.__getitem__):
            start, end = pieces[piece]
            while first < len(words) and words[first][1] <= start:
                first += 1
            shares: list[Offsets] = []
            for i in range(first, len(words)):
                if words[i][0] >= end:
                    break
                shares.append((i, min(end, words[i][1]) - max(start, words[i][0])))
            covered = sum(length for _, length in shares if length > 0)
            found += [(i, piece, length, covered) for i, length in shares if length > 0]
        table = np.array(found, np.int64).reshape(-1, 4)
        self._word, self._piece, self._length, self._covered = table.T

    def join(self, scores: Sequence[float]) -> list[float]:
        """Sum scores of the pieces over each word: one float a word, 0.0 without a piece.

        Sums suit attention, which is spread over pieces, and signed attributions, which add up by
        construction.

        Raises:
            ShapeError: If there is not exactly one score a piece.
        """
        if self.pieces != len(scores):
            raise ShapeError(
                "token offsets and token scores must be of one length",
                found=f"{self.pieces} offsets and {len(scores)} scores",
                step="Give one score a token, without the special tokens.",
            )
        each = np.asarray(scores, np.float64)[self._piece] * self._length / self._covered
        totals: list[float] = np.bincount(self._word, each, self.words).tolist()
        return totals
