"""How an annotation tool counts characters, and what that is in code points of our text.

Python counts code points. JavaScript and Java count UTF-16 units, in which an emoji is two;
others count bytes. A tool that opened a Windows file in text mode has seen each CR LF as one
character. Where annotations repeat the words that they mark, the words tell which it was.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, product
from typing import Any, Literal

Unit = Literal["code-points", "utf-16", "utf-8"]
"""What one step of an offset is."""

Pairs = Sequence[tuple[int, int]]

_WIDTHS: Mapping[Unit, Callable[[str], int]] = {
    "code-points": lambda c: 1,
    "utf-16": lambda c: 1 + (c > "\uffff"),
    "utf-8": lambda c: len(c.encode("utf-8", "surrogatepass")),
}
_NAMES = {"code-points": "code points", "utf-16": "UTF-16 units", "utf-8": "UTF-8 bytes"}


@dataclass(frozen=True, slots=True)
class Counting:
    """A way to count.

    Args:
        unit: What one step is.
        crlf_as_one: Whether CR LF counts as one character.
        lead: What counts before the text: 1 where a byte-order mark was counted.
    """

    unit: Unit = "code-points"
    crlf_as_one: bool = False
    lead: int = 0

    @property
    def plain(self) -> bool:
        """Whether offsets are those of Python."""
        return self == Counting()

    def same_as_plain(self, text: str) -> bool:
        """Say whether offsets into a text are those of Python, however they count."""
        if self.lead or (self.crlf_as_one and "\r\n" in text):
            return False
        if self.unit == "utf-16":
            return not text or max(text) <= "\uffff"
        return self.unit == "code-points" or text.isascii()

    def __str__(self) -> str:
        more = [", each CR LF as one"] if self.crlf_as_one else []
        more += [", the byte-order mark too"] if self.lead else []
        return _NAMES[self.unit] + "".join(more)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for JSON."""
        return asdict(self)


class Ruler:
    """Offsets of one text, from a way to count to code points and back.

    Args:
        text: The text.
        counting: How the offsets count.
    """

    def __init__(self, text: str, counting: Counting) -> None:
        self._length = len(text)
        self._starts: list[int] | None = None
        if not counting.plain:
            self._starts = list(accumulate(_widths(text, counting), initial=counting.lead))

    def inward(self, offset: int) -> int | None:
        """Return the code point at an offset; ``None`` outside the text or inside a character."""
        if self._starts is None:
            return offset if 0 <= offset <= self._length else None
        # Of a CR LF that counts as one, the CR is free: the first place is the one before it.
        place = bisect_left(self._starts, offset)
        return place if place <= self._length and self._starts[place] == offset else None

    def outward(self, place: int) -> int:
        """Return the offset of a code point."""
        return place if self._starts is None else self._starts[place]

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.outward(self._length)


def _widths(text: str, counting: Counting) -> list[int]:
    width = _WIDTHS[counting.unit]
    widths = [width(c) for c in text]
    if counting.crlf_as_one:
        place = text.find("\r\n")
        while place >= 0:
            widths[place] = 0
            place = text.find("\r\n", place + 2)
    return widths


def says(surface: str, pieces: Sequence[str], *, edges: bool = True) -> bool:
    """Say whether an annotation's words are those at its offsets.

    Runs of white space are alike, since line breaks are written as blanks; at the edges they must
    be there in both, unless ``edges`` is false: an offset that is one off must not pass.
    """
    if edges and (surface[:1].isspace(), surface[-1:].isspace()) != (
        pieces[0][:1].isspace(),
        pieces[-1][-1:].isspace(),
    ):
        return False
    return surface.split() == " ".join(pieces).split()


def fitting(
    text: str, marked: Sequence[tuple[Pairs, str]], *, lead: bool = False, first: Counting
) -> Counting:
    """Return the way to count under which most annotations mark the words that they repeat.

    Args:
        text: The text.
        marked: Offsets and words of the annotations that have both.
        lead: Whether a byte-order mark stood before the text.
        first: The way to prefer where others do no better.
    """
    best, most = first, _hits(text, marked, first)
    if most == len(marked):
        return first
    for unit, crlf, front in product(_WIDTHS, (False, True), (0, 1) if lead else (0,)):
        counting = Counting(unit, crlf, front)
        if (crlf and "\r\n" not in text) or (unit != "code-points" and text.isascii()):
            continue
        hits = _hits(text, marked, counting)
        if hits > most:
            best, most = counting, hits
    return best


def _hits(text: str, marked: Sequence[tuple[Pairs, str]], counting: Counting) -> int:
    ruler = Ruler(text, counting)
    hits = 0
    for pairs, surface in marked:
        ends = [(ruler.inward(start), ruler.inward(end)) for start, end in pairs]
        pieces = [text[a:b] for a, b in ends if a is not None and b is not None and a < b]
        hits += len(pieces) == len(pairs) and says(surface, pieces)
    return hits
