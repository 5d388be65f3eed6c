"""A page measured in points, drawn with matplotlib and the fonts that come with it."""

import io
import unicodedata
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import Rectangle

Colour = tuple[float, float, float]

DPI = 150
INK: Colour = (0.0, 0.0, 0.0)
PALE_INK: Colour = (0.33, 0.33, 0.33)
WHITE: Colour = (1.0, 1.0, 1.0)
DARKEST: Colour = (8 / 255, 69 / 255, 148 / 255)
"""The one hue of shading at full strength; lighter shades are mixed with white."""

_HIDDEN = frozenset({"Cf", "Cc", "Cs"})
_BOX = "\u25a1"


class Face:
    """DejaVu Sans at a size in points: what it can draw and how wide that is."""

    def __init__(self, size: float, weight: str = "normal") -> None:
        self.font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
        self._glyphs = get_font(findfont(self.font))
        self._text = Figure(dpi=DPI).text(0, 0, "", fontproperties=self.font, parse_math=False)
        self._ink = lru_cache(maxsize=4096)(self._measure)

    def printable(self, text: str) -> str:
        """Return the text as it can be drawn: hidden signs go, signs without a glyph are a box."""
        return "".join(self._shown(c) for c in text)

    def width(self, text: str) -> float:
        """Return the width of a printable text in points, blanks at its ends included."""
        return self._ink(f"|{text}|") - self._ink("||")

    def cut(self, text: str, width: float) -> str:
        """Return a printable text shortened to a width in points, with an ellipsis."""
        text = self.printable(text)
        if self.width(text) <= width:
            return text
        while text and self.width(text + "\u2026") > width:
            text = text[:-1]
        return text.rstrip() + "\u2026"

    def _shown(self, character: str) -> str:
        modifier = "\ufe00" <= character <= "\ufe0f" or "\U0001f3fb" <= character <= "\U0001f3ff"
        if modifier or unicodedata.category(character) in _HIDDEN:
            return ""
        return character if self._glyphs.get_char_index(ord(character)) else _BOX

    def _measure(self, text: str) -> float:
        self._text.set_text(text)
        return float(self._text.get_window_extent().width) * 72 / DPI


class Page:
    """A white page; all places in points from its left and upper edge."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=DPI, facecolor="white")
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, width), ylim=(height, 0))
        self._axes.set_axis_off()

    def text(self, x: float, y: float, text: str, face: Face, colour: Colour = INK) -> None:
        """Write a text with its base line at y. A dollar sign is a dollar sign."""
        self._axes.text(
            x, y, text, fontproperties=face.font, color=colour, va="baseline", parse_math=False
        )

    def box(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle whose upper left corner is given."""
        self._axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, linewidth=0))

    def png(self) -> bytes:
        """Return the page as a PNG without a time stamp: equal input gives equal bytes."""
        return png(self.figure)


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG without a time stamp or a version."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def shade(strength: float) -> Colour:
    """Return the background of a strength from 0 (white) to 1 (``DARKEST``)."""
    part = min(1.0, max(0.0, strength))
    return (
        1 + (DARKEST[0] - 1) * part,
        1 + (DARKEST[1] - 1) * part,
        1 + (DARKEST[2] - 1) * part,
    )


def ink_on(background: Colour) -> Colour:
    """Return black or white, whichever is easier to read; the contrast is at least 4.5 to 1."""
    light = luminance(background)
    return INK if (light + 0.05) ** 2 > 0.05 * 1.05 else WHITE


def luminance(colour: Colour) -> float:
    """Return the relative luminance of an sRGB colour, as WCAG 2 defines it."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
