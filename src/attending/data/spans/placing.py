"""From an annotation as a tool wrote it to a span of the text, or what is wrong with it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from attending.data.spans.corpus import Faults, in_text_order
from attending.data.spans.offsets import Counting, Ruler, fitting, says
from attending.data.wording import plural
from attending.records import Span


@dataclass(frozen=True, slots=True)
class Annotation:
    """Offsets as they are in the file, and what else is said of them; ``line`` is the file's."""

    pairs: tuple[tuple[int, int], ...]
    label: str | None
    surface: str | None
    line: int
    id: str | None = None
    score: float | None = None

    @property
    def name(self) -> str:
        """What a message calls it."""
        return self.id if self.id and len(self.id) <= 20 else "the span"


def place(
    annotations: Sequence[Annotation],
    text: str,
    file: str,
    faults: Faults,
    *,
    counting: Counting | None,
    usual: Counting | None = None,
    lead: bool = False,
) -> tuple[tuple[Span, ...], Counting]:
    """Return the spans in text order, and how their offsets were counted.

    Args:
        annotations: What the file says.
        text: The text that it is about, without a byte-order mark.
        file: The annotations' file, for messages.
        faults: Where to note what can't be used; such an annotation has no span.
        counting: How the offsets count; ``None`` asks the words that the annotations repeat.
        usual: How they count where the words don't say otherwise; code points if left out.
        lead: Whether a byte-order mark stood before the text.
    """
    if counting is None:
        marked = [(a.pairs, a.surface) for a in annotations if a.surface and a.surface.strip()]
        counting = fitting(text, marked, lead=lead, first=usual or Counting())
    if counting.same_as_plain(text):
        counting = Counting()
    ruler = Ruler(text, counting)
    spans = []
    for annotation in annotations:
        span = _span(annotation, text, ruler, file, faults)
        if span is not None:
            spans.append(span)
    return in_text_order(spans), counting


def _span(
    annotation: Annotation, text: str, ruler: Ruler, file: str, faults: Faults
) -> Span | None:
    pieces, problem = _pieces(annotation, ruler)
    if problem is None and not annotation.label:
        problem = "has no type"
    if problem is not None:
        faults.error(file, annotation.line, f"{annotation.name} {problem}")
        return None
    if list(pieces) != sorted(pieces):
        faults.warn(file, annotation.line, f"{annotation.name} has its fragments out of order")
        pieces = sorted(pieces)
    words = [text[start:end] for start, end in pieces]
    if annotation.surface is not None and not says(annotation.surface, words):
        if not says(annotation.surface, words, edges=False):
            problem = "does not mark the words that it repeats: its offsets are of another text"
            faults.error(file, annotation.line, f"{annotation.name} {problem}")
            return None
        problem = "takes in white space at its edge that the words it repeats have not"
        faults.warn(file, annotation.line, f"{annotation.name} {problem}")
    return Span(
        pieces[0][0],
        pieces[-1][1],
        annotation.label,
        tuple(pieces) if len(pieces) > 1 else (),
        annotation.id,
        annotation.score,
    )


def _pieces(annotation: Annotation, ruler: Ruler) -> tuple[list[tuple[int, int]], str | None]:
    pieces = []
    for start, end in annotation.pairs:
        shown = f"{start} {end}"
        if start >= end:
            return [], f"is empty (offsets {shown})"
        if start < 0 or end > ruler.end:
            return [], f"lies outside the text (offsets {shown}, the text ends at {ruler.end:,})"
        ends = ruler.inward(start), ruler.inward(end)
        if ends[0] is None or ends[1] is None:
            return [], f"splits a character (offsets {shown})"
        pieces.append((ends[0], ends[1]))
    ordered = sorted(pieces)
    if any(a[1] > b[0] for a, b in pairwise(ordered)):
        return [], "has fragments that overlap"
    return pieces, None


def counting_notes(countings: Iterable[Counting]) -> tuple[str, ...]:
    """Say how many documents' offsets were counted in another way than Python's."""
    odd = Counter(str(c) for c in countings if not c.plain)
    return tuple(
        f"{plural(n, 'document has', 'documents have')} offsets that count {how}; they became "
        "code points"
        for how, n in sorted(odd.items())
    )
