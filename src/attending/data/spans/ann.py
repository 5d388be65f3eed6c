"""The lines of a BRAT annotation file (``.ann``): parsed, checked against each other, changed.

A line is an entity (``T1<tab>Type 0 5;8 12<tab>words``), a relation (``R``), an event (``E``),
an attribute (``A``, ``M``), a normalisation (``N``), a note (``#``) or an equivalence (``*``).
Entities become spans; every other line passes through untouched, as long as what it speaks of is
there.
Source: BRAT's standoff format, https://brat.nlplab.org/standoff.html.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attending.data.spans.corpus import Faults
from attending.data.spans.offsets import Ruler
from attending.data.spans.placing import Annotation
from attending.records import Span

_ENTITY = re.compile(
    r"(?P<id>T\S+)\t(?P<type>\S+)[ ](?P<offsets>-?\d+ -?\d+(?:;-?\d+ -?\d+)*)[ ]?"
    r"(?:\t(?P<surface>[^\t]*)(?P<tail>\t.*)?)?",
    re.DOTALL,
)
_KINDS = frozenset("TREAMN#*")
_ONE = frozenset("AMN#")


@dataclass(frozen=True, slots=True)
class AnnLine:
    """One line: ``raw`` without its line feed; ``id`` and what it refers to; an entity's parts."""

    number: int
    raw: str
    id: str | None = None
    refers: tuple[str, ...] = ()
    entity: Annotation | None = None
    problem: str | None = None


def parse_ann(content: str) -> list[AnnLine]:
    """Return the lines of a file; joined by line feeds, they are the file."""
    return [_line(number, raw) for number, raw in enumerate(content.split("\n"), start=1)]


def _line(number: int, raw: str) -> AnnLine:
    body = raw.removesuffix("\r")
    if not body.strip():
        return AnnLine(number, raw)
    kind, fields = body[0], body.split("\t")
    id_ = fields[0].rstrip(" ")
    if kind not in _KINDS or len(fields) < 2:
        return AnnLine(number, raw, problem="the line is none of BRAT's (an id, a tab, a type)")
    if kind == "T":
        found = _ENTITY.fullmatch(body)
        if found is None:
            problem = f"{_shown(id_)} has no type and offsets such as Disease 8 12;23 27"
            return AnnLine(number, raw, id_, problem=problem)
        pairs = [tuple(map(int, pair.split())) for pair in found["offsets"].split(";")]
        entity = Annotation(
            tuple((a, b) for a, b in pairs), found["type"], found["surface"], number, found["id"]
        )
        return AnnLine(number, raw, id_, entity=entity)
    return AnnLine(number, raw, None if kind == "*" else id_, _refers(kind, fields[1]))


def _shown(id_: str | None) -> str:
    """Return an id for a message; what doesn't look like one may be text, so it isn't shown."""
    return id_ if id_ and len(id_) <= 12 and id_[1:].isalnum() else "something"


def _refers(kind: str, body: str) -> tuple[str, ...]:
    words = body.split()
    if kind == "E":
        named = words
    elif kind in _ONE:
        named = words[1:2]
    else:
        named = words[1:]
    return tuple(word.rpartition(":")[2] for word in named)


def check_lines(lines: Sequence[AnnLine], file: str, faults: Faults) -> list[Annotation]:
    """Return the entities; note lines that can't be read, ids used twice, references to nothing."""
    seen: set[str] = set()
    entities = []
    for line in lines:
        if line.problem is not None:
            faults.error(file, line.number, line.problem)
        twice = line.id is not None and line.id in seen
        if twice:
            note = faults.error if line.entity else faults.warn
            note(file, line.number, f"the id {_shown(line.id)} is used twice")
        elif line.entity is not None:
            entities.append(line.entity)
        if line.id is not None:
            seen.add(line.id)
    for line in lines:
        missing = [x for x in line.refers if x not in seen]
        if missing:
            faults.warn(file, line.number, f"refers to {_shown(missing[0])}, which is not there")
    return entities


def without(lines: Sequence[AnnLine], gone: Iterable[str]) -> list[AnnLine]:
    """Return the lines that don't speak of what is gone, nor of what goes with it."""
    lost = set(gone)
    while True:
        more = {
            line.id
            for line in lines
            if line.id is not None and line.id not in lost and not lost.isdisjoint(line.refers)
        }
        if not more:
            break
        lost |= more
    return [line for line in lines if (line.id not in lost) and lost.isdisjoint(line.refers)]


def entity_line(span: Span, id_: str, text: str, ruler: Ruler) -> str:
    """Return the line of a span; line breaks and tabs in its words become blanks, as in BRAT."""
    offsets = ";".join(f"{ruler.outward(a)} {ruler.outward(b)}" for a, b in span.pieces)
    words = " ".join(text[a:b] for a, b in span.pieces)
    surface = re.sub(r"[\t\n\r]", " ", words.replace("\r\n", " "))
    return f"{id_}\t{brat_type(span.label)} {offsets}\t{surface}"


def brat_type(label: str | None) -> str:
    """Return a label as a BRAT type, which has no white space."""
    return re.sub(r"\s+", "_", label or "") or "_"
