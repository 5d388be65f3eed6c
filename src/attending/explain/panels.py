"""Panels of a picture: one message shaded for one label, laid out before anything is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from attending.explain.canvas import Face
from attending.explain.evidence import evidence_spans, shading
from attending.explain.excerpts import excerpts, gaps
from attending.explain.layout import Block, Shade, lay_out
from attending.records import Document, Evidence

_LETTERS_A_LINE = 90
_AROUND = 180


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a message on its lines, and the note on the words left out before it."""

    note: str | None
    block: Block | None

    @property
    def lines(self) -> int:
        """Lines that the passage takes."""
        return (self.note is not None) + (self.block.lines if self.block else 0)


def passages(
    document: Document, words: Sequence[Evidence], width: float, face: Face, max_lines: int
) -> list[Passage]:
    """Lay a message out: whole if it is short, else what lies around its strongest words.

    ``words`` are all words with their scores for one label. At most ``max_lines`` lines hold
    text; what is left out is counted.
    """
    text = document.text
    spans = evidence_spans(document, words) if any(w.score for w in words) else []
    parts = excerpts(text, spans, whole=_LETTERS_A_LINE * max_lines, around=_AROUND)
    shades = [Shade(w.start, w.end, s) for w, s in zip(words, shading(words), strict=True) if s > 0]
    found: list[Passage] = []
    left = max_lines
    rest = 0
    for count, (start, end) in zip(gaps(text, parts), parts, strict=False):
        if not left:
            rest += count + len(text[start:end].split())
            continue
        inside = [
            Shade(s.start - start, s.end - start, s.strength)
            for s in shades
            if s.start >= start and s.end <= end
        ]
        block = lay_out(text[start:end], inside, width, face, left)
        found.append(Passage(_note(count), block))
        left -= block.lines
        rest += block.hidden
    rest += gaps(text, parts)[-1]
    return [*found, Passage(f"\u2026 and {rest:,} more words", None)] if rest else found


def _note(count: int) -> str | None:
    return f"\u2026 {count:,} words \u2026" if count else None
