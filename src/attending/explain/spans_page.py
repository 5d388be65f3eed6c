"""One page that shows gold and found entities over the text: for people, without scripts.

The page is a single file that loads nothing. It holds the documents' text on purpose and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attending.evaluation.spans.alignment import KINDS, Aligned, Kind, align
from attending.evaluation.spans.outcome import Entity, match_spans
from attending.explain.markup import plain
from attending.explain.page import not_read
from attending.explain.spans_markup import LANES, Chip, Marked, marked, where
from attending.explain.wording import label_name
from attending.models.store import versions
from attending.outputs import new_file, require_new
from attending.records import Document, LabelSet, Prediction, Row

KIND_WORDS: Mapping[str, str] = {
    "right": "right",
    "boundary": "another place",
    "type": "another type",
    "both": "another place and type",
    "missed": "missed",
    "spurious": "no entity there",
    "found": "found",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """An entity in the list below a text: what was found of it, with offsets and surfaces."""

    chip: Chip
    gold: str
    gold_text: Markup
    found: str
    found_text: Markup


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page says of one document."""

    id: str
    problem: str | None
    counts: tuple[tuple[str, str, int], ...]
    text: Markup
    lines: tuple[int, int]
    rows: tuple[Listed, ...]
    reading: str


def write_spans_page(
    path: Path | str,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    title: str,
    known: bool = True,
    most: int | None = None,
    force: bool = False,
) -> None:
    """Write a self-contained HTML page of documents with their entities.

    Gold entities are lines above the words, found ones lines below; nested and overlapping ones
    lie in lanes of their own. Each pair of them, set side by side as in the report, has a tag with
    its type before the text; offsets show when the pointer or the keyboard's focus is on it. A
    list below the text names every entity with its offsets. Nothing on the page runs: right ones
    are hidden and shown by a switch of the page's own style. Hidden characters are shown by their
    code; the text itself stays as it is.

    Args:
        path: The page to write.
        documents: The documents in the order to show; rows that are none are left out.
        predictions: What was found in each, in the same order.
        labels: The types' names and meanings.
        title: The page's heading.
        known: Whether the documents are annotated; if not, only what was found is shown.
        most: How many documents the page holds at most: those with most errors (most entities if
            not annotated), in the order given; all if unset.
        force: Whether a file of that name is replaced.

    Raises:
        DataError: If documents and predictions don't match, or a span doesn't fit its text.
        LabelError: If a predicted type is not in the label set.
        OutputError: If the file exists or can't be written.
    """
    path = Path(path)
    require_new(path, force=force)
    outcome = match_spans(documents, predictions, labels, unknown="miss")
    by_row = {id(d): p for d, p in zip(documents, predictions, strict=True)}
    beside = [
        align(gold, found) if known else _found_only(found)
        for gold, found in zip(outcome.gold, outcome.given, strict=True)
    ]
    chosen = _chosen(beside, most, known)
    shown = [
        _shown(
            outcome.documents[k], by_row[id(outcome.documents[k])], beside[k], outcome.labels, known
        )
        for k in chosen
    ]
    environment = Environment(
        loader=PackageLoader("attending.explain"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    types = {x.type for pairs in beside for p in pairs for x in (p.gold, p.found) if x}
    page = environment.get_template("spans.html.j2").render(
        title=title,
        known=known,
        documents=shown,
        in_all=len(outcome.documents),
        unreadable=len(outcome.unreadable),
        kinds=[(kind, KIND_WORDS[kind]) for kind in (KINDS if known else ("found",))],
        totals=_counted([p for k in chosen for p in beside[k]], known),
        labels=[x for k, x in enumerate(outcome.labels) if k in types and x.description],
        lanes=range(LANES),
        version=versions().get("attending", ""),
    )
    with new_file(path, force=force) as file:
        file.write(page.encode("utf-8", "replace"))


def _found_only(found: Sequence[Entity]) -> tuple[Aligned, ...]:
    return tuple(Aligned("spurious", None, entity) for entity in found)


def _chosen(beside: Sequence[Sequence[Aligned]], most: int | None, known: bool) -> list[int]:
    """Return the places of the documents to show, in the order given."""
    if most is None or most >= len(beside):
        return list(range(len(beside)))
    wrong = [sum(p.kind != "right" or not known for p in pairs) for pairs in beside]
    return sorted(sorted(range(len(beside)), key=lambda k: -wrong[k])[:most])


def _kind(kind: Kind, known: bool) -> str:
    return kind if known else "found"


def _counted(pairs: Sequence[Aligned], known: bool) -> tuple[tuple[str, str, int], ...]:
    kinds = [_kind(pair.kind, known) for pair in pairs]
    names = KINDS if known else ("found",)
    return tuple((kind, KIND_WORDS[kind], kinds.count(kind)) for kind in names)


def _shown(
    document: Document,
    prediction: Prediction,
    pairs: Sequence[Aligned],
    labels: LabelSet,
    known: bool,
) -> Shown:
    scores = {
        (s.start, s.end, s.label, s.pieces): s.score for s in prediction.spans or () if s.score
    }
    chips = tuple(
        _chip(number, pair, labels, scores, known) for number, pair in enumerate(pairs, start=1)
    )
    body: Marked = marked(document.text, chips)
    read = prediction.read
    ok = prediction.status == "ok"
    return Shown(
        id=document.id,
        problem=None if ok else not_read(document, prediction),
        counts=tuple(row for row in _counted(pairs, known) if row[2]),
        text=body.html,
        lines=body.lanes,
        rows=tuple(_listed(chip, document.text) for chip in chips),
        reading=f"Read {read.tokens:,} of {read.of:,} tokens." if ok and read.truncated else "",
    )


def _listed(chip: Chip, text: str) -> Listed:
    return Listed(
        chip=chip,
        gold=where(chip.gold),
        gold_text=_surface(chip.gold, text),
        found=where(chip.found),
        found_text=_surface(chip.found, text),
    )


def _surface(stretches: Sequence[tuple[int, int]], text: str) -> Markup:
    return Markup(" … ").join(plain(text[start:end]) for start, end in stretches)


def _chip(
    number: int,
    pair: Aligned,
    labels: LabelSet,
    scores: Mapping[tuple[int, int, str | None, tuple[tuple[int, int], ...]], float | None],
    known: bool,
) -> Chip:
    def name(entity: Entity | None) -> str:
        return "" if entity is None else label_name(labels, labels.ids[entity.type])

    found = pair.found
    score = None
    if found is not None:
        score = scores.get((found.start, found.end, labels.ids[found.type], found.pieces))
    kind = _kind(pair.kind, known)
    return Chip(
        number=number,
        kind=kind,
        words=KIND_WORDS[kind],
        gold=pair.gold.pieces if pair.gold else (),
        found=found.pieces if found else (),
        gold_type=name(pair.gold),
        found_type=name(found),
        score=score,
    )
