"""Checks of annotated spans: what can't be read, odd borders, overlaps, rare types, contradictions.

Counts, ids and lines are reported; the words of a span never are.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attending.data.checks.findings import Finding, Place, Severity, singles
from attending.data.spans.corpus import Fault, SpanCorpus
from attending.data.spans.flat import flatten
from attending.data.tagging.words import words_of
from attending.data.wording import plural, shown_label, some
from attending.records import Document, LabelSet, Span

_FEW = 5
_JOINER = "\u200d"
_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)


def check_spans(
    corpora: Sequence[tuple[str, SpanCorpus]], types: LabelSet | None = None, few: int = _FEW
) -> Iterator[Finding]:
    """Report on the spans of corpora; the first one is the one to train on.

    Args:
        corpora: Name and corpus of each part.
        types: The entity types that spans must have.
        few: A type with fewer spans is reported.
    """
    for name, corpus in corpora:
        yield from _faults(name, corpus.faults)
        yield from check_documents(name, corpus.documents)
        if types is not None:
            yield from _strange(name, corpus, types)
    if corpora:
        yield from _rare(*corpora[0], few)
    for name, corpus in corpora[1:]:
        yield from _unseen(*corpora[0], name, corpus)


def check_documents(name: str, documents: Sequence[Document]) -> Iterator[Finding]:
    """Report on the spans of some documents.

    Args:
        name: What to call them.
        documents: Documents whose spans are entities.
    """
    kinds: tuple[tuple[str, Severity, Callable[[str, Span], bool], str], ...] = (
        ("spans-outside", "error", _outside, "outside the text"),
        ("span-edges", "warning", _blank_edge, "with white space at the edge"),
        (
            "split-characters",
            "warning",
            _splits,
            "that split a character from what belongs to it (an accent, an emoji's second half)",
        ),
    )
    for code, severity, holds, what in kinds:
        found = [(d, s) for d in documents for s in d.spans if holds(d.text, s)]
        yield from _found(code, severity, name, found, what)
    yield from _inside_words(name, documents)
    yield from _twice(name, documents)
    yield from _overlaps(name, documents)
    yield from _ambiguous(name, documents)


def _faults(name: str, faults: Sequence[Fault]) -> Iterator[Finding]:
    kinds: tuple[tuple[Severity, str, str], ...] = (
        ("error", "span-problems", "cost a span or a document"),
        ("warning", "span-remarks", "were read by a rule"),
    )
    for severity, code, what in kinds:
        found = [fault for fault in faults if fault.severity == severity]
        if found:
            shown = some([fault.what for fault in found], 3)
            yield Finding(
                code,
                severity,
                f"{plural(len(found), 'place')} in the files of {name} {what}: {shown}",
                {"places": len(found), "problems": [str(fault) for fault in found]},
                singles(Place(name, "", f.source.file, f.source.line) for f in found),
            )


def _found(
    code: str,
    severity: Severity,
    name: str,
    found: Sequence[tuple[Document, Span]],
    what: str,
    more: dict[str, Any] | None = None,
) -> Iterator[Finding]:
    if not found:
        return
    documents = list(dict.fromkeys(d.id for d, _ in found))
    ids = [f"{d.id} {s.id or f'{s.start} {s.end}'}" for d, s in found]
    yield Finding(
        code,
        severity,
        f"{plural(len(found), 'span')} in {plural(len(documents), 'document')} of {name} {what}: "
        f"{some(ids, 3)}",
        {"spans": len(found), "documents": len(documents), "ids": ids, **(more or {})},
    )


def _outside(text: str, span: Span) -> bool:
    return not all(0 <= start < end <= len(text) for start, end in span.pieces)


def _blank_edge(text: str, span: Span) -> bool:
    return any(
        text[start : start + 1].isspace() or text[end - 1 : end].isspace()
        for start, end in span.pieces
    )


def _splits(text: str, span: Span) -> bool:
    return any(splits_character(text, place) for piece in span.pieces for place in piece)


def splits_character(text: str, place: int) -> bool:
    """Say whether a border lies inside what a reader sees as one character.

    It does before a combining mark, a variation selector, a skin tone, next to a joiner, between
    CR and LF, and between the two halves of a flag.
    """
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before == "\r" and after == "\n":
        return True
    if after.isascii() or before.isspace():
        return False
    if unicodedata.category(after).startswith("M") or ord(after) in _TONES:
        return True
    if _JOINER in (before, after):
        return True
    if ord(before) in _FLAGS and ord(after) in _FLAGS:
        halves = 0
        while place > halves and ord(text[place - halves - 1]) in _FLAGS:
            halves += 1
        return halves % 2 == 1
    return False


def _inside_words(name: str, documents: Sequence[Document]) -> Iterator[Finding]:
    found = []
    for d in documents:
        words = words_of(d) if d.spans else ()
        starts, ends = {start for start, _ in words}, {end for _, end in words}
        inside = {place for start, end in words for place in range(start + 1, end)}
        found += [
            (d, s)
            for s in d.spans
            if any(
                (a in inside and a not in starts) or (b in inside and b not in ends)
                for a, b in s.pieces
            )
        ]
    what = "begin or end inside a word: a tagger of words will widen them"
    yield from _found("inside-words", "note", name, found, what)


def _twice(name: str, documents: Sequence[Document]) -> Iterator[Finding]:
    same: list[tuple[Document, Span]] = []
    other: list[tuple[Document, Span]] = []
    for d in documents:
        seen: dict[tuple[tuple[int, int], ...], set[str | None]] = defaultdict(set)
        for s in d.spans:
            if s.label in seen[s.pieces]:
                same.append((d, s))
            elif seen[s.pieces]:
                other.append((d, s))
            seen[s.pieces].add(s.label)
    yield from _found("duplicate-spans", "warning", name, same, "marked twice with one type")
    yield from _found("two-types", "note", name, other, "marked with two types at once")


def _overlaps(name: str, documents: Sequence[Document]) -> Iterator[Finding]:
    nested = crossing = pieces = dropped = total = 0
    for d in documents:
        total += len(d.spans)
        pieces += sum(len(s.pieces) > 1 for s in d.spans)
        inner, across = _overlapping(d.spans)
        nested, crossing = nested + inner, crossing + across
        if inner or across:
            dropped += len(flatten(d.spans, words_of(d)).dropped)
    if nested or crossing or pieces:
        yield Finding(
            "overlaps",
            "note",
            f"{plural(total, 'span')} in {name}: {nested:,} inside another one, {crossing:,} "
            f"across one's border, {pieces:,} in pieces; one tag a word leaves {dropped:,} out (a "
            "layer per type keeps those of different types)",
            {"spans": total, "nested": nested, "crossing": crossing, "discontinuous": pieces,
             "dropped": dropped},
        )  # fmt: skip


def _overlapping(spans: Iterable[Span]) -> tuple[int, int]:
    """Return how many spans lie inside another one, and how many others overlap one in part."""
    ordered = sorted(spans, key=lambda s: (s.start, -s.end))
    nested: set[int] = set()
    crossing: set[int] = set()
    for place, outer in enumerate(ordered):
        for later in range(place + 1, len(ordered)):
            inner = ordered[later]
            if inner.start >= outer.end:
                break
            if _share(outer, inner):
                (nested if inner.end <= outer.end else crossing).add(later)
    return len(nested), len(crossing - nested)


def _share(one: Span, other: Span) -> bool:
    return any(a < d and c < b for a, b in one.pieces for c, d in other.pieces)


def _ambiguous(name: str, documents: Sequence[Document]) -> Iterator[Finding]:
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for d in documents:
        for s in d.spans:
            words = " ".join(d.text[start:end] for start, end in s.pieces)
            types[" ".join(words.casefold().split())][s.label or ""] += 1
    mixed = [counts for counts in types.values() if len(counts) > 1]
    if not mixed:
        return
    pairs = Counter(tuple(sorted(x for x, _ in counts.most_common(2))) for counts in mixed)
    spans = sum(counts.total() - max(counts.values()) for counts in mixed)
    shown = some([f"{' / '.join(pair)} ({n:,})" for pair, n in pairs.most_common(3)], 3)
    yield Finding(
        "ambiguous-words",
        "note",
        f"{plural(len(mixed), 'wording')} in {name} marked with several types ({shown}); "
        f"{plural(spans, 'span')} not of the wording's usual type",
        {"wordings": len(mixed), "spans": spans,
         "types": {" / ".join(pair): n for pair, n in pairs.most_common()}},
    )  # fmt: skip


def _strange(name: str, corpus: SpanCorpus, types: LabelSet) -> Iterator[Finding]:
    known = frozenset(types.ids)
    strange = {x: n for x, n in corpus.type_counts.items() if x not in known}
    if strange:
        shown = some([f"{shown_label(x)} ({n:,})" for x, n in strange.items()])
        yield Finding(
            "unknown-types",
            "error",
            f"{plural(len(strange), 'entity type')} in {name} not in the label set: {shown}",
            {"types": strange},
        )


def _rare(name: str, corpus: SpanCorpus, few: int) -> Iterator[Finding]:
    rare = {x: n for x, n in corpus.type_counts.items() if n < few}
    if rare:
        shown = some([f"{x} ({n:,})" for x, n in sorted(rare.items(), key=lambda item: item[1])])
        yield Finding(
            "rare-types",
            "warning",
            f"{plural(len(rare), 'entity type')} in {name} with fewer than {few} spans: {shown}",
            {"types": rare},
        )
    if corpus.documents and not corpus.type_counts:
        yield Finding("no-spans", "error", f"no document of {name} has a span")


def _unseen(first: str, train: SpanCorpus, name: str, corpus: SpanCorpus) -> Iterator[Finding]:
    unseen = {x: n for x, n in corpus.type_counts.items() if x not in train.type_counts}
    if unseen:
        shown = some([f"{x} ({n:,})" for x, n in unseen.items()])
        yield Finding(
            "unseen-types",
            "warning",
            f"{plural(len(unseen), 'entity type')} of {name} not in {first}: {shown}",
            {"types": unseen},
        )
