"""The lines of a CoNLL file: words in columns, sentences, documents."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from attending.data.spans.schemes import is_tag

Kind = Literal["word", "blank", "document", "comment"]
_Named = Literal["auto", "markers", "sentences", "file"]
Division = _Named | int
"""What a document is: see ``divide``."""
DIVISIONS: tuple[_Named, ...] = get_args(_Named)

_MARKER = re.compile(r"-+DOCSTART-+")
_NEW_DOCUMENT = re.compile(
    r"#\s*newdoc(?:\s+id\s*=\s*(?P<id>\S.*?))?\s*|###[A-Z]+:(?P<pmid>\S+)\s*"
)
_NAMED = re.compile(r"\((?P<id>[^()]*[^() ][^()]*)\)")
_CELL = re.compile(r"[^ ]+")


class Line(NamedTuple):
    """One line: ``raw`` without its line feed; ``cells`` say where a word's columns are in it."""

    number: int
    raw: str
    kind: Kind
    cells: tuple[tuple[int, int], ...] = ()
    id: str | None = None

    def cell(self, column: int) -> str | None:
        """Return a column, counted from 0 or, if negative, from the end; ``None`` if missing."""
        if not -len(self.cells) <= column < len(self.cells):
            return None
        start, end = self.cells[column]
        return self.raw[start:end]


@dataclass(frozen=True, slots=True)
class Lines:
    """All lines of a file; joined by line feeds, they are the file."""

    lines: tuple[Line, ...]
    columns: int
    tabs: bool


def split_lines(text: str, columns: int | None = None, tabs: bool | None = None) -> Lines:
    """Tell words, sentence borders, document markers and comments apart.

    Only a line feed ends a line, and only tabs (or, in a file without tabs, blanks) part columns:
    a no-break space or a line separator may be part of a word. A line that begins with ``#`` is a
    comment if it has another number of columns than most lines, or no tag in the last one.

    Args:
        text: The content, with its byte-order mark if it has one.
        columns: How many columns a word has, if that is known.
        tabs: Whether tabs part them, if that is known.
    """
    raws = text.split("\n")
    bodies = [raw.removesuffix("\r").removeprefix("\ufeff" if n == 0 else "") for n, raw in
              enumerate(raws)]  # fmt: skip
    if tabs is None:
        tabs = _parted_by_tabs(bodies)
    cells = [_cells(body, tabs) for body in bodies]
    if columns is None:
        columns = _most_common(bodies, cells)
    lines = []
    for number, (raw, body, found) in enumerate(zip(raws, bodies, cells, strict=True), start=1):
        kind, id_ = _kind(body, found, columns)
        shift = len(raw) - len(raw.removeprefix("\ufeff")) if number == 1 else 0
        places = tuple((a + shift, b + shift) for a, b in found) if kind == "word" else ()
        lines.append(Line(number, raw, kind, places, id_))
    return Lines(tuple(lines), columns, tabs)


def _parted_by_tabs(bodies: Sequence[str]) -> bool:
    """Say whether a line has a tab; of lines that may be comments, if there is no other."""
    lines = [body for body in bodies if body.strip(" \t") and not _MARKER.match(body)]
    plain = [body for body in lines if not body.startswith("#")]
    return any("\t" in body for body in plain or lines)


def _most_common(bodies: Sequence[str], cells: Sequence[Sequence[object]]) -> int:
    """Return how many columns most lines have; of lines that may be comments, if no other is."""
    plain: Counter[int] = Counter()
    marked: Counter[int] = Counter()
    for body, found in zip(bodies, cells, strict=True):
        if body.strip(" \t") and not _MARKER.match(body):
            (marked if body.startswith("#") else plain)[len(found)] += 1
    counts = plain or marked
    return counts.most_common(1)[0][0] if counts else 0


def _cells(body: str, tabs: bool) -> list[tuple[int, int]]:
    if not tabs:
        return [match.span() for match in _CELL.finditer(body)]
    cells, start = [], 0
    for cell in body.split("\t"):
        cells.append((start, start + len(cell)))
        start += len(cell) + 1
    return cells


def is_marker(line: str) -> bool:
    """Say whether a line says that a document begins."""
    body = line.removeprefix("\ufeff").removesuffix("\r")
    return bool(_MARKER.match(body) or _NEW_DOCUMENT.fullmatch(body))


def _kind(body: str, cells: Sequence[tuple[int, int]], columns: int) -> tuple[Kind, str | None]:
    if not body.strip(" \t"):
        return "blank", None
    if _MARKER.match(body):
        named = _NAMED.search(body)
        return "document", named["id"].strip() if named else None
    if body.startswith("#"):
        new = _NEW_DOCUMENT.fullmatch(body)
        if new is not None:
            return "document", new["id"] or new["pmid"]
        last = body[cells[-1][0] : cells[-1][1]]
        if len(cells) != columns or (columns > 1 and not is_tag(last)):
            return "comment", None
    return "word", None


def divide(lines: Sequence[Line], division: Division) -> Iterator[tuple[Line, ...]]:
    """Yield the lines of each document; together they are all lines.

    Args:
        lines: All lines of a file.
        division: ``markers``: a document begins at a marker (``-DOCSTART-``, ``# newdoc``,
            ``###MEDLINE:1``); ``sentences``: every sentence is one; ``file``: the file is one;
            ``auto``: markers if there are any, else sentences; a number: sentences in a row, as
            many as have so many words together, at least one, and none beyond a marker.
    """
    if isinstance(division, int):
        yield from _gathered(divide(lines, "sentences"), division)
        return
    if division == "auto":
        marked = any(line.kind == "document" for line in lines)
        division = "markers" if marked else "sentences"
    made: list[list[Line]] = []
    for place, line in enumerate(lines):
        if not made or (_begins(lines, place, division) and _stands_alone(made[-1], division)):
            made.append([])
        made[-1].append(line)
    if len(made) > 1 and not _stands_alone(made[-1], division):
        rest = made.pop()
        made[-1] += rest
    yield from map(tuple, made)


def _gathered(sentences: Iterable[tuple[Line, ...]], most: int) -> Iterator[tuple[Line, ...]]:
    """Join sentences that follow each other, up to so many words."""
    made: list[Line] = []
    held = 0
    for sentence in sentences:
        words = sum(line.kind == "word" for line in sentence)
        marked = any(line.kind == "document" for line in sentence)
        if made and (marked or held + words > most):
            yield tuple(made)
            made, held = [], 0
        made += sentence
        held += words
    if made:
        yield tuple(made)


def _begins(lines: Sequence[Line], place: int, division: Division) -> bool:
    if division == "sentences":
        return lines[place - 1].kind == "blank" and lines[place].kind != "blank"
    return division == "markers" and lines[place].kind == "document"


def _stands_alone(part: Sequence[Line], division: Division) -> bool:
    """Say whether lines are a document; comments and blanks alone go with the next one."""
    kinds = {line.kind for line in part}
    return "word" in kinds or (division == "markers" and "document" in kinds)
