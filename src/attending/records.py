"""What goes through the tool: documents, labels, predictions, evidence. No torch here.

Offsets count Unicode code points in a document's own, unaltered text and are half-open:
``text[start:end]`` is the surface.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

from attending.errors import LabelError, nearest
from attending.trees import require_trees

Status = Literal["ok", "empty_text", "too_long", "failed"]
"""How a document was handled. Only ``ok`` carries labels and scores."""

LabelPart = Literal["name", "description", "keywords", "synonyms"]
"""What can be read of a label."""

_INVISIBLE = frozenset("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0\ufeff") | {
    chr(c)
    for block in (range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070))
    for c in block
}


def is_blank(text: str) -> bool:
    """Say whether a text shows nothing: white space, control and zero-width characters only."""
    return all(c.isspace() or c in _INVISIBLE or not c.isprintable() for c in text)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document came from: file name and line (the first line is 1)."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a document's text, ``start`` inclusive, ``end`` exclusive, in code points.

    ``fragments`` are the pieces of a discontinuous span in text order, two or more; ``start`` and
    ``end`` then reach from the first to the last. ``id`` is what its source calls it (``T3``).
    """

    start: int
    end: int
    label: str | None = None
    fragments: tuple[tuple[int, int], ...] = ()
    id: str | None = None
    score: float | None = None

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """The stretches that it covers, in text order: one, or its fragments."""
        return self.fragments or ((self.start, self.end),)

    def to_dict(self) -> dict[str, Any]:
        """Return the on-disk form, without what only its source knows (``id``)."""
        row: dict[str, Any] = {"label": self.label, "start": self.start, "end": self.end}
        row |= {"fragments": [list(f) for f in self.fragments]} if self.fragments else {}
        return row | ({"score": self.score} if self.score is not None else {})


@dataclass(frozen=True, slots=True)
class Document:
    """One text with what is known about it.

    ``labels`` is a tuple of label ids; ``()`` means labelled with none, ``None`` unlabelled.
    ``text`` is never altered. ``group`` names who or what several documents share (a patient, a
    writer); ``when`` is its date; ``attributes`` hold every other column.
    """

    id: str
    text: str
    labels: tuple[str, ...] | None = None
    spans: tuple[Span, ...] = ()
    group: str | None = None
    when: datetime | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = None

    @property
    def label(self) -> str | None:
        """The only label of a single-label document, else ``None``."""
        return self.labels[0] if self.labels and len(self.labels) == 1 else None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that could not become a document: kept, counted and answered, never dropped.

    ``id`` is the row's id where that could be read, else ``row-N``. ``reason`` holds no text.
    """

    id: str
    reason: str
    source: Source | None = None


Row = Document | Unreadable


@dataclass(frozen=True, slots=True)
class Label:
    """A label and what it means.

    A label without a name goes by its id. White space around keywords and synonyms, blank ones and
    a blank description mean nothing and are taken off, so that a label read back from its file is
    the same label.
    """

    id: str
    name: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    parent: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.id)
        if is_blank(self.description):
            object.__setattr__(self, "description", "")
        for field_ in ("keywords", "synonyms"):
            words = tuple(w.strip() for w in getattr(self, field_) if w.strip())
            object.__setattr__(self, field_, words)


@dataclass(frozen=True)
class LabelSet(Sequence[Label]):
    """An ordered set of labels. Results are keyed by label id; positions are private.

    Args:
        labels: The labels in order; ids must be distinct.
        name: What the labels say about a document (``urgency``).
        ordered: Whether the order means something (from least to most).
        broader: What the labels are kinds of (a chapter, a category): parents that no document
            gets. They lend their text and their place, and are no labels of the set.

    Raises:
        LabelError: If two labels share an id, an id is blank or has white space around it, a
            parent is neither in the set nor broader, or parents lead in a circle.
    """

    labels: tuple[Label, ...]
    name: str = "label"
    ordered: bool = False
    broader: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        where = f'label set "{self.name}"'
        for label in (*self.labels, *self.broader):
            if not label.id.strip():
                raise LabelError("a label has a blank id", where=where)
            if label.id != label.id.strip():
                raise LabelError(
                    f'the label id "{label.id}" has white space around it',
                    where=where,
                    step="Take it off, in the labels and in the rows.",
                )
            if label.id in seen:
                raise LabelError(f'the label id "{label.id}" occurs twice', where=where)
            seen.add(label.id)
        for label in (*self.labels, *self.broader):
            if label.parent is not None and label.parent not in seen:
                raise LabelError(
                    f'the parent "{label.parent}" of "{label.id}" is not a label of the set',
                    where=where,
                    step=nearest(label.parent, seen).strip() or None,
                )
        require_trees({x.id: x.parent for x in (*self.labels, *self.broader)}, where)

    @classmethod
    def from_ids(cls, ids: Sequence[str], name: str = "label") -> "LabelSet":
        """Make a label set from bare ids, in the order given."""
        return cls(tuple(Label(id=i, name=i) for i in ids), name=name)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The label ids in order."""
        return tuple(label.id for label in self.labels)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {id_: i for i, id_ in enumerate(self.ids)}

    def position(self, label_id: str) -> int:
        """Return the private position of a label.

        Raises:
            LabelError: If the label is not in the set; names the nearest one.
        """
        try:
            return self._positions[label_id]
        except KeyError:
            raise LabelError(
                f'label "{label_id}" is not in the label set ({len(self)} labels)',
                step=nearest(label_id, self.ids).strip() or "Add it to the label file.",
            ) from None

    @cached_property
    def _named(self) -> dict[str, Label]:
        return {label.id: label for label in (*self.broader, *self.labels)}

    def ancestors(self, label_id: str) -> tuple[Label, ...]:
        """Return what a label, or something broader, is a kind of: its parent first.

        Raises:
            LabelError: If there is no such label.
        """
        label = self._named.get(label_id) or self[label_id]
        found: list[Label] = []
        while label.parent is not None:
            label = self._named[label.parent]
            found.append(label)
        return tuple(found)

    def text_of(
        self,
        label_id: str,
        parts: Sequence[LabelPart] = ("description",),
        *,
        parents: int = 0,
        synonyms: int | None = None,
    ) -> str:
        """Compose what an encoder reads of a label.

        The parts follow each other as sentences in the order asked for; several keywords or
        synonyms are separated by semicolons. The nearest ancestors' texts stand before it, the
        broadest first, each with a colon: ``Disorders of gallbladder: Calculus of gallbladder``.
        An ancestor lends its description, else its name, but never a bare id and never words that
        stand there already. A label that has none of the parts goes by its description, else by
        its name.

        Args:
            label_id: Which label.
            parts: What is read of it.
            parents: How many ancestors are read.
            synonyms: How many synonyms are read at most; all of them if unset.

        Raises:
            LabelError: If there is no such label or part.
        """
        label = self[label_id]
        for part in parts:
            if part not in get_args(LabelPart):
                raise LabelError(
                    f'a label has no text called "{part}"', allowed=", ".join(get_args(LabelPart))
                )
        pieces = [_piece(label, part, synonyms) for part in parts]
        own = ". ".join(dict.fromkeys(piece for piece in pieces if piece))
        own = own or _own_words(label) or label.name
        lent = [_own_words(x) for x in reversed(self.ancestors(label_id)[: max(parents, 0)])]
        said = own.casefold()
        before = dict.fromkeys(words for words in lent if words and words.casefold() not in said)
        return ": ".join((*before, own))

    def __contains__(self, item: object) -> bool:
        return (item.id if isinstance(item, Label) else item) in self._positions

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.labels[self.position(key)]
        return self.labels[key]

    @cached_property
    def hash(self) -> str:
        """SHA-256 over ids, order and meaning: what a saved model is checked against."""
        rows, above = (
            [
                [x.id, x.name, x.description, list(x.keywords), list(x.synonyms), x.parent]
                for x in labels
            ]
            for labels in (self.labels, self.broader)
        )
        content = [self.name, self.ordered, rows, *([above] if above else [])]
        body = json.dumps(content, ensure_ascii=False)
        return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)


def _piece(label: Label, part: LabelPart, synonyms: int | None) -> str:
    if part == "name":
        return "" if label.name == label.id else _sentence(label.name)
    if part == "description":
        return _sentence(label.description)
    words = label.keywords if part == "keywords" else label.synonyms[:synonyms]
    return "; ".join(words)


def _own_words(label: Label) -> str:
    return _piece(label, "description", None) or _piece(label, "name", None)


def _sentence(text: str) -> str:
    return text.strip().removesuffix(".")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of a document that spoke for a label, as one whole-word span with a score.

    ``label`` is ``None`` for evidence that no single label owns (what [CLS] attended to).
    """

    start: int
    end: int
    score: float
    label: str | None
    method: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document was read: ``tokens`` of ``of`` tokens, in ``windows`` windows.

    ``end``: the code point after the last one read; ``None`` where all was read, or nothing.
    """

    tokens: int
    of: int
    windows: int
    end: int | None = None

    @property
    def truncated(self) -> bool:
        """Whether some of the text was not read."""
        return self.tokens < self.of

    def to_dict(self) -> dict[str, Any]:
        """Return the on-disk form, for a text read in part with where reading ended."""
        part: dict[str, Any] = {"truncated": True, "end": self.end} if self.truncated else {}
        return {"tokens": self.tokens, "of": self.of, "windows": self.windows, **part}


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of one document.

    ``scores`` maps every label id to its probability; empty unless ``status`` is ``ok``. A
    document that can't be read has no label, so it never gets the lowest urgency by accident.
    ``reason`` says why where ``status`` is not ``ok``. ``spans`` are the entities that a tagger
    found, in text order; a classifier has none (``None``).
    """

    id: str
    status: Status
    labels: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    abstained: bool = False
    evidence: tuple[Evidence, ...] = ()
    read: Coverage = Coverage(0, 0, 0)
    reason: str | None = None
    spans: tuple[Span, ...] | None = None

    def with_evidence(self, evidence: Sequence[Evidence]) -> "Prediction":
        """Return the same prediction with evidence attached, in text order."""
        ordered = sorted(evidence, key=lambda e: (e.start, e.end, e.label or ""))
        return replace(self, evidence=tuple(ordered))

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction in its on-disk form (one JSON line)."""
        row: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "labels": list(self.labels),
            "scores": dict(self.scores),
            "abstained": self.abstained,
            "evidence": [
                {"label": e.label, "start": e.start, "end": e.end, "score": e.score}
                for e in self.evidence
            ],
            "read": self.read.to_dict(),
        }
        if self.spans is not None:
            row["spans"] = [span.to_dict() for span in self.spans]
        if self.reason:
            row["reason"] = self.reason
        return row
