"""Annotated spans in a cell: which words stand for which label, in the shapes they come in.

A cell is a list of annotations (in CSV, a JSON list). Each is one of

- an object with offsets and, if there is one, a label and the surface (``START`` and the other
  tuples below name the usual keys);
- ``[start, end]``, ``[start, end, label]`` or ``[start, end, surface, label]``;
- a row ``[type, label, surface, "start end;start end"]``, whose parts may lie apart.

A surface that is given must equal the text at the offsets, apart from white space: where it does
not, the offsets are of another text (a translation, say), and the annotation is left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attending.records import Span

START = ("start", "begin", "start_offset", "start_char")
END = ("end", "stop", "end_offset", "end_char")
LABEL = ("label", "code", "type", "category", "tag")
SURFACE = ("surface", "text", "mention", "covered_text", "quote")
OFFSETS = ("offsets", "span", "location")

_PAIR = re.compile(r"\s*(\d+)[\s,:-]+(\d+)\s*")

Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Annotations:
    """The spans of one cell, and how many annotations were left out, by reason."""

    spans: tuple[Span, ...]
    outside: int = 0
    differing: int = 0
    odd: int = 0


@dataclass(frozen=True, slots=True)
class RawAnnotation:
    """One annotation as it is written: offsets, label and words, none of them looked at."""

    pairs: Pairs
    label: str | None
    surface: str | None


def read_annotations(items: Sequence[Any], text: str, only: str | None) -> Annotations:
    """Return the spans of a cell whose offsets lie in a text and whose words are there.

    Args:
        items: The annotations.
        text: The document's text, which the offsets count.
        only: The label of annotations that name none.
    """
    spans: dict[Span, None] = {}
    outside = differing = odd = 0
    for item in items:
        read = annotation_of(item)
        if read is None:
            odd += 1
        elif not all(0 <= start < end <= len(text) for start, end in read.pairs):
            outside += 1
        elif not _says_so(read, text):
            differing += 1
        else:
            label = only if read.label is None else read.label
            spans |= dict.fromkeys(Span(start, end, label) for start, end in read.pairs)
    return Annotations(tuple(spans), outside, differing, odd)


def is_plain(item: Any) -> bool:
    """Say whether an annotation is an object with ``start`` and ``end``, as Attending writes."""
    return isinstance(item, dict) and type(item.get("start")) is type(item.get("end")) is int


def _says_so(read: RawAnnotation, text: str) -> bool:
    if read.surface is None:
        return True
    there = " ".join(text[start:end] for start, end in read.pairs)
    return there.split() == read.surface.split()


def annotation_of(item: Any) -> RawAnnotation | None:
    """Return an annotation in any of the shapes above; ``None`` if it has none of them."""
    if isinstance(item, dict):
        return _from_object(item)
    if isinstance(item, list | tuple) and 2 <= len(item) <= 4:
        return _from_list(item)
    return None


def _from_object(item: Mapping[str, Any]) -> RawAnnotation | None:
    offsets = _first(item, OFFSETS)
    if offsets is None:
        offsets = [_first(item, START), _first(item, END)]
    pairs = _pairs(offsets)
    label, surface = _first(item, LABEL), _first(item, SURFACE)
    if pairs is None or not isinstance(surface, str | None):
        return None
    return RawAnnotation(pairs, _name(label), surface)


def _from_list(item: Sequence[Any]) -> RawAnnotation | None:
    label: Any = item[-1] if len(item) > 2 else None
    surface: Any = item[2] if len(item) == 4 else None
    pairs = _pairs(item[:2])
    if isinstance(item[0], str) and len(item) == 4:
        pairs, label = _pairs(item[3]), item[1]
    if pairs is None or not isinstance(surface, str | None):
        return None
    return RawAnnotation(pairs, _name(label), surface)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _name(label: Any) -> str | None:
    return None if label is None or not str(label).strip() else str(label).strip()


def _pairs(offsets: Any) -> Pairs | None:
    """Return offsets written as ``"3 9;12 20"``, ``[3, 9]`` or ``[[3, 9], [12, 20]]``."""
    if isinstance(offsets, str):
        found = [_PAIR.fullmatch(part) for part in offsets.split(";")]
        return [(int(m[1]), int(m[2])) for m in found if m] if all(found) else None
    if not isinstance(offsets, list | tuple) or not offsets:
        return None
    rows = offsets if isinstance(offsets[0], list | tuple) else [offsets]
    if not all(isinstance(row, list | tuple) and len(row) == 2 for row in rows):
        return None
    if not all(type(n) is int for row in rows for n in row):
        return None
    return [(row[0], row[1]) for row in rows]
