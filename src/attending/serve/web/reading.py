"""One message as the page shows it: its text, why it has its label, and what may be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from attending.explain.excerpts import excerpts
from attending.explain.markup import excerpted, plain, visible
from attending.explain.wording import caution, percent
from attending.explain.words import word_spans
from attending.records import Document, Evidence, LabelSet, Prediction, Unreadable
from attending.serve.entries import Change, Entry
from attending.serve.predictor import Predictor
from attending.serve.web.lists import why_unread
from attending.serve.web.wording import clock, level, names, queue_order, sureness

KEYS = 9
"""Labels that have a key of their own."""
_EXPLAINED = 12
_WHOLE, _WHOLE_OF_OTHERS, _LONGEST = 60_000, 4_000, 2_000_000
_MOST_FACTS, _LONGEST_FACT = 30, 200
_HIDDEN = ("fhir_payloads",)


@dataclass(frozen=True, slots=True)
class Choice:
    """A label that can be given, with its key."""

    id: str
    name: str
    description: str
    key: int
    level: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class View:
    """The message with the words marked that speak for one label."""

    name: str
    sure: str
    share: float
    level: str
    text: Markup
    quotes: tuple[Markup, ...]
    shown: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A message that is open."""

    id: int
    title: str
    at: str
    stamp: str
    verdict: str
    level: str
    sure: str
    told: str
    by_model: str
    correction: str
    note: str
    done: str
    views: tuple[View, ...]
    more: int
    text: Markup | None
    whole: Markup | None
    choices: tuple[Choice, ...]
    given: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    history: tuple[str, ...]
    caution: str
    multi: bool


def reading(entry: Entry, predictor: Predictor) -> Reading:
    """Return what the page shows of a message; words are scored anew for every label shown."""
    labels = predictor.labels
    document = entry.row if isinstance(entry.row, Document) else None
    shown = _shown(entry.prediction, labels)
    evidence = _evidence(document, entry, predictor, shown)
    views = _views(document, entry, evidence, shown, labels) if document else ()
    label = entry.leading
    sure = entry.prediction.scores.get(label) if label and not entry.correction else None
    person = entry.standing is None
    return Reading(
        id=entry.id,
        title=str(document.group if document and document.group else entry.row.id),
        at=clock(entry.moment),
        stamp=entry.moment.isoformat(timespec="seconds"),
        verdict=names(entry.labels, labels),
        level=level(label, labels) if label else "person" if person else "plain",
        sure=sureness(sure),
        told=why_unread(entry),
        by_model=_said(entry, labels),
        correction=_changed(entry.correction, labels) if entry.correction else "",
        note=entry.correction.note or "" if entry.correction else "",
        done=f"Done: {entry.done_by}, {clock(entry.done_at)}" if entry.done_at else "",
        views=views,
        more=len(labels) - len(shown) if views else 0,
        text=plain(document.text, _LONGEST) if document and not views else None,
        whole=plain(document.text, _LONGEST) if document and _cut(document, views) else None,
        choices=_choices(entry, labels),
        given=entry.labels,
        facts=_facts(entry),
        history=tuple(_changed(c, labels) for c in entry.history),
        caution=caution(evidence[0].method) if evidence else "",
        multi=predictor.model.recipe.task == "multi",
    )


def _said(entry: Entry, labels: LabelSet) -> str:
    said = entry.prediction
    if said.status != "ok" or not said.labels:
        return "The model gave no label"
    parts = [f"{names([x], labels)} ({sureness(said.scores.get(x))})" for x in said.labels]
    return f"The model said: {'; '.join(parts)}"


def _changed(change: Change, labels: LabelSet) -> str:
    what = f"{names(change.labels, labels)}: {change.reviewer}, {clock(change.made_at)}"
    return f"{what} (taken back by {change.withdrawn})" if change.withdrawn else what


def _shown(prediction: Prediction, labels: LabelSet) -> tuple[str, ...]:
    """Return the labels to explain: all of a few, most urgent first; else the likeliest."""
    known = [x for x in prediction.scores if x in labels.ids]
    if len(labels) <= _EXPLAINED:
        return tuple(x for x in queue_order(labels) if x in known)
    likely = sorted(known, key=lambda x: -prediction.scores[x])
    first = [x for x in prediction.labels if x in known]
    return tuple(dict.fromkeys([*first, *likely]))[:_EXPLAINED]


def _evidence(
    document: Document | None, entry: Entry, predictor: Predictor, shown: Sequence[str]
) -> tuple[Evidence, ...]:
    if document is None or entry.prediction.status != "ok" or not predictor.model.methods:
        return entry.prediction.evidence
    found = predictor.explain(document, labels=shown)
    return found.evidence if found.status == "ok" else entry.prediction.evidence


def _views(
    document: Document,
    entry: Entry,
    evidence: Sequence[Evidence],
    shown: Sequence[str],
    labels: LabelSet,
) -> tuple[View, ...]:
    scores = entry.prediction.scores
    words = [Evidence(start, end, 0.0, None, "") for start, end in word_spans(document.text)]
    first = next((x for x in (*entry.prediction.labels, *_likeliest(scores)) if x in shown), None)
    views = []
    for label in shown:
        spans = [e for e in evidence if e.label in (label, None)]
        whole = _WHOLE if label == first or len(shown) == 1 else _WHOLE_OF_OTHERS
        parts = excerpts(document.text, spans, whole=whole)
        views.append(
            View(
                name=names([label], labels),
                sure=percent(scores[label]),
                share=100 * min(1.0, max(0.0, scores[label])),
                level=level(label, labels),
                text=excerpted(document.text, words, spans, None, parts),
                quotes=tuple(visible(document.text[e.start : e.end]) for e in spans),
                shown=label == first,
            )
        )
    return tuple(views)


def _cut(document: Document, views: Sequence[View]) -> bool:
    return bool(views) and len(document.text) > _WHOLE


def _likeliest(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda x: -scores[x])


def _choices(entry: Entry, labels: LabelSet) -> tuple[Choice, ...]:
    """Return the labels to choose from, most urgent first; none where there are too many."""
    if len(labels) > KEYS:
        return ()
    return tuple(
        Choice(x, names([x], labels), labels[x].description, i, level(x, labels), x in entry.labels)
        for i, x in enumerate(queue_order(labels), 1)
    )


def _facts(entry: Entry) -> tuple[tuple[str, str], ...]:
    found = {"Message": entry.row.id, "Received": clock(entry.received)}
    if isinstance(entry.row, Unreadable):
        found["Where it is"] = entry.row.reason
    found |= {_title(k): _value(v) for k, v in entry.attributes.items() if k not in _HIDDEN}
    return tuple((k, v) for k, v in found.items() if v)[:_MOST_FACTS]


def _title(name: str) -> str:
    return name.replace("_", " ").strip()[:60].capitalize()


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(str(x) for x in value)
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_FACT else f"{text[:_LONGEST_FACT]}…"
