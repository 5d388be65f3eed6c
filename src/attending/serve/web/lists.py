"""The list of messages as the page shows it: by urgency, the oldest first, evidence marked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from markupsafe import Markup

from attending.explain.evidence import explained_labels
from attending.explain.markup import shaded
from attending.explain.words import word_spans
from attending.records import Document, Evidence, LabelSet, is_blank
from attending.serve.entries import Entry, Filters, Page, State
from attending.serve.placing import told
from attending.serve.queries import NO_LABEL
from attending.serve.web.wording import age, clock, level, names, sureness

_SNIPPET, _BEFORE, _MOST = 200, 50, 20
STATES: tuple[State, ...] = ("open", "done", "corrected", "all")
FOR_A_PERSON = "Read these yourself"


@dataclass(frozen=True, slots=True)
class Line:
    """A message in the list."""

    id: int
    who: str
    age: str
    at: str
    stamp: str
    snippet: Markup
    label: str
    level: str
    sure: str
    why: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Messages under one heading; ``count`` is how many there are on all pages."""

    name: str
    level: str
    count: int
    lines: tuple[Line, ...]
    first: bool


def query(filters: Filters, page: int | None = None) -> str:
    """Return the part of an address that says which messages; never what was searched for."""
    values: dict[str, str] = {}
    if filters.state != "open":
        values["state"] = filters.state
    if filters.person:
        values["person"] = "1"
    elif filters.label is not None:
        values["label"] = filters.label
    if filters.unsure:
        values["unsure"] = "1"
    number = filters.page if page is None else page
    if number > 1:
        values["page"] = str(number)
    return f"?{urlencode(values)}" if values else ""


@dataclass(frozen=True, slots=True)
class Tab:
    """A choice of messages: its name, how many there are, its address, whether it is chosen."""

    name: str
    count: int | None
    address: str
    chosen: bool
    level: str = "plain"


def label_tabs(page: Page, labels: LabelSet) -> list[Tab]:
    """Return one tab for all messages, one for those to be read, one a label that stands apart."""
    now, counts = page.filters, page.counts
    every = replace(now, label=None, person=False, page=1)
    tabs = [Tab("All", sum(counts.values()), query(every), not now.person and now.label is None)]
    person = replace(every, person=True)
    tabs.append(Tab(FOR_A_PERSON, counts.get(None, 0), query(person), now.person, "person"))
    for label in page.filters.order:
        chosen = now.label == label and not now.person
        address = query(replace(every, label=label))
        name = names([label], labels)
        tabs.append(Tab(name, counts.get(label, 0), address, chosen, level(label, labels)))
    return tabs


def state_tabs(filters: Filters) -> list[Tab]:
    """Return one tab a state, and one that shows unsure labels only."""
    first = replace(filters, page=1)
    tabs = [
        Tab(state.capitalize(), None, query(replace(first, state=state)), filters.state == state)
        for state in STATES
    ]
    unsure = replace(first, unsure=not filters.unsure)
    return [*tabs, Tab("Unsure only", None, query(unsure), filters.unsure)]


def groups(page: Page, labels: LabelSet, now: datetime) -> list[Group]:
    """Return the messages of a page in groups, in the order that they have."""
    apart = page.filters.order
    found: list[tuple[str | None, list[Entry]]] = []
    for entry in page.entries:
        key = _key(entry.standing, apart)
        if not found or found[-1][0] != key:
            found.append((key, []))
        found[-1][1].append(entry)
    before = page.filters.size * (page.filters.page - 1)
    made = []
    for key, entries in found:
        count = sum(n for label, n in page.counts.items() if _key(label, apart) == key)
        lines = tuple(line(entry, labels, now) for entry in entries)
        made.append(Group(_heading(key, labels), level(key, labels), count, lines, not before))
    return made


def _key(standing: str | None, apart: Sequence[str]) -> str | None:
    return standing if standing is None or standing in apart else NO_LABEL


def _heading(key: str | None, labels: LabelSet) -> str:
    if key is None:
        return FOR_A_PERSON
    return "Other messages" if key == NO_LABEL else names([key], labels)


def line(entry: Entry, labels: LabelSet, now: datetime) -> Line:
    """Return what the list says of a message."""
    label = entry.leading
    unread = entry.standing is None
    shown = names(entry.labels, labels) if entry.labels or not unread else ""
    tags = [t for t, holds in (("corrected", entry.correction), ("done", entry.done_at)) if holds]
    why = why_unread(entry) if unread else ""
    sure = None if entry.correction or label is None else entry.prediction.scores.get(label)
    return Line(
        id=entry.id,
        who=_who(entry),
        age=age(entry.moment, now),
        at=clock(entry.moment),
        stamp=entry.moment.isoformat(timespec="seconds"),
        snippet=snippet(entry),
        label=shown,
        level=level(label, labels) if label else "person" if unread else "plain",
        sure=sureness(sure),
        why=why,
        tags=tuple(tags),
    )


def why_unread(entry: Entry) -> str:
    """Say why a person has to read a message; nothing where the model read it and is sure."""
    if entry.reading == "read":
        return ""
    return told(entry.reading, entry.row, entry.prediction).replace("empty_text", "no text in it")


def _who(entry: Entry) -> str:
    group = entry.row.group if isinstance(entry.row, Document) else None
    return str(group or entry.attributes.get("subject") or entry.row.id)


def spoken_for(entry: Entry) -> list[Evidence]:
    """Return the evidence for what the model said, or thought likeliest, in text order."""
    said = (*explained_labels(entry.prediction), None)
    return [e for e in entry.prediction.evidence if e.label in said]


def snippet(entry: Entry) -> Markup:
    """Return the passage of a message around its strongest evidence, which is marked."""
    if not isinstance(entry.row, Document):
        return Markup("")
    text = entry.row.text
    if is_blank(text):
        return Markup("<em>There is no text in it.</em>")
    spans = spoken_for(entry)[:_MOST]
    start = 0
    if len(text) > _SNIPPET and spans:
        strongest = max(spans, key=lambda e: e.score)
        start = max(0, min(strongest.start - _BEFORE, len(text) - _SNIPPET))
    start = _after_word(text, start)
    end = min(len(text), start + _SNIPPET)
    end = end if end == len(text) else max(text.rfind(" ", start, end), start + _SNIPPET // 2)
    inside = [e for e in spans if e.start < end and e.end > start]
    words = [Evidence(start + a, start + b, 0.0, None, "") for a, b in word_spans(text[start:end])]
    body = shaded(text, words, inside, part=(start, end))
    return Markup("{}{}{}").format("… " if start else "", body, " …" if end < len(text) else "")


def _after_word(text: str, start: int) -> int:
    """Return the start of the next word, if one is near."""
    if not start:
        return 0
    blank = text.find(" ", start, start + _BEFORE)
    return start if blank < 0 else blank + 1
