"""The lexical view: fitted on training documents, it says which labels' words a text holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from attending.errors import TrainingError
from attending.parts.lexical.folder import read_view, write_view
from attending.parts.lexical.folds import assign_folds
from attending.parts.lexical.label_text import LabelText, read_label_text
from attending.parts.lexical.mined import mine_surfaces
from attending.parts.lexical.overlap import Hit, Overlap, fit_overlap
from attending.parts.lexical.related import Related, fit_related
from attending.parts.lexical.sparse import SparseFeatures, joined
from attending.parts.lexical.surfaces import Group, Surfaces, fit_surfaces
from attending.parts.lexical.words import Words, read_words
from attending.records import Document, Evidence, LabelSet
from attending.specs import LexicalFeatures, LexicalSources

METHOD = "matches"
EXAMPLES = "examples"
_ALMOST = 0.9
_BY_SOURCE = {
    "annotated": ("annotated", "annotated_matches"),
    "label_text": ("label_text", "label_text_words"),
    "mined": ("mined", "mined_groups", "mined_mean"),
    "overlap": ("overlap", "overlap_full", "overlap_weight"),
    "related": ("related", "related_full", "related_weight"),
}


@dataclass(frozen=True, eq=False)
class LexicalView:
    """Which labels' words a text holds, and where.

    Five sources, each of which the spec can leave out:

    - ``annotated``: the words that training documents' spans mark (a span's label must be one of
      its document's). Feature ``annotated`` is the best surface's strength, ``annotated_matches``
      log(1 + matches).
    - ``label_text``: names, descriptions, synonyms, keywords, word by word. ``label_text`` is the
      best one's strength, ``label_text_words`` the number of words of the longest.
    - ``mined``: word groups that training documents with a label have in common. ``mined`` is the
      best one's strength, ``mined_groups`` log(1 + groups found), ``mined_mean`` the mean of the
      best three.
    - ``overlap``: a sentence holds at least half of a label's text, by weight, in any order.
      ``overlap`` is that share, ``overlap_full`` 1 if it holds all of it, ``overlap_weight`` the
      share times the text's weight, in tens of nats.
    - ``related``: the same, where words that stand for a label text's words count as surely as
      they do. ``related_full`` is 1 from a share of 0.9.

    A strength is the log-odds, in nats above -6, that a document with the surface has the label,
    estimated on training documents; 0 means that nothing was found. The last feature,
    ``examples``, is log(1 + training documents of the label).

    The saved files hold words of training texts: annotated surfaces, and groups of words that two
    training documents or more share. Who may not see the texts may not have the folder.
    """

    spec: LexicalSources
    labels: LabelSet
    surfaces: dict[str, Surfaces]
    overlap: Overlap | None
    related: Related | None
    counts: NDArray[np.int64]

    @classmethod
    def fit(
        cls, spec: LexicalSources, documents: Sequence[Document], labels: LabelSet
    ) -> "LexicalView":
        """Fit a view on training documents; unlabelled ones are left out.

        Raises:
            LabelError: If a document has a label that is not in the set.
        """
        known = [d for d in documents if d.labels is not None]
        return _fitted(spec, labels, _label_text(spec, labels), known, _read(known))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features: those of the sources that are looked at, ``examples`` last."""
        return feature_names(self.spec)

    def features(self, documents: Sequence[Document]) -> SparseFeatures:
        """Return the features (N, L, F) of documents that the view was not fitted on.

        Training documents would look surer than any other text, as their own labels made the
        view: ``features_training`` is for them.
        """
        return self._features(_read(documents))

    def features_training(self, documents: Sequence[Document]) -> SparseFeatures:
        """Return the features of training documents, each as if it had not been one.

        The documents are dealt into ``folds`` parts, equal texts and documents of one group
        together, and each part is scored by a view fitted on the other parts. Whatever learns to
        weigh the features must learn on these: in its own view, every annotated surface of a
        document is known and right, so that a mixture would learn to trust it blindly and would
        never meet a rare label whose words are new. ``examples`` counts what the fold's view saw.

        Raises:
            LabelError: If a document has a label that is not in the set.
            TrainingError: If a document is unlabelled.
        """
        if any(d.labels is None for d in documents):
            raise TrainingError("cross-fitted features need labelled documents")
        words, label_text = _read(documents), _label_text(self.spec, self.labels)
        fold = assign_folds(documents, self.spec.folds)
        parts, order = [], []
        for number in sorted(set(fold)):
            held = [i for i, f in enumerate(fold) if f == number]
            rest = [i for i, f in enumerate(fold) if f != number]
            others = [documents[i] for i in rest], [words[i] for i in rest]
            view = _fitted(self.spec, self.labels, label_text, *others)
            parts.append(view._features([words[i] for i in held]))
            order.append(held)
        return joined(parts, order) if parts else self._features([])

    def spans(self, document: Document, label_ids: Sequence[str]) -> list[Evidence]:
        """Return the words that speak for labels, in text order, with true offsets.

        The score is the surface's strength. Where surfaces of a label lie over each other, the
        surest one stays. A label without any surface gets the words of its best related or
        overlapping sentence, scored with what they cover of the label's text.

        Raises:
            LabelError: If a label is not in the set.
        """
        words = read_words(document.text)
        wanted = {self.labels.position(i) for i in label_ids}
        found: dict[int, list[tuple[float, int, int]]] = {}
        for surfaces in self.surfaces.values():
            for match in surfaces.find(words):
                for label, value in zip(*surfaces.of(match.surface), strict=True):
                    if int(label) in wanted:
                        cell = (float(value), match.first, match.stop)
                        found.setdefault(int(label), []).append(cell)
        for source, hit in self._hits(words):
            if hit.label in wanted and hit.label not in found:
                places = self._places(source, words, hit)
                found[hit.label] = [(share, i, i + 1) for i, share in places]
        spans = [
            Evidence(
                words.starts[first], words.ends[stop - 1], score, self.labels.ids[label], METHOD
            )
            for label, cells in found.items()
            for score, first, stop in _apart(cells)
        ]
        return sorted(spans, key=lambda e: (e.start, e.end, e.label or ""))

    def save(self, folder: Path) -> None:
        """Write ``lexical.json`` (words) and ``lexical.safetensors`` (numbers) into a folder."""
        write_view(folder, self.surfaces, self.overlap, self.related, self.counts)

    @classmethod
    def load(cls, folder: Path, spec: LexicalSources, labels: LabelSet) -> "LexicalView":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If a file is missing or damaged, or doesn't fit spec and labels.
        """
        return cls(spec, labels, *read_view(folder, sources(spec), labels))

    def _hits(self, words: Words) -> Iterator[tuple[str, Hit]]:
        """Yield hits of whole label texts: of related words too, then of their own alone."""
        if self.overlap is not None:
            if self.related is not None:
                yield from (("related", hit) for hit in self.related.find(words, self.overlap))
            yield from (("overlap", hit) for hit in self.overlap.find(words))

    def _places(self, source: str, words: Words, hit: Hit) -> Iterator[tuple[int, float]]:
        assert self.overlap is not None
        if source == "overlap" or self.related is None:
            return self.overlap.places(words, hit)
        return self.related.places(words, self.overlap, hit)

    def _features(self, texts: Sequence[Words]) -> SparseFeatures:
        columns = {name: i for i, name in enumerate(self.names[:-1])}
        rows = [self._row(words, columns) for words in texts]
        values = [row[label] for row in rows for label in sorted(row)]
        width = len(columns)
        examples = np.log1p(self.counts).astype(np.float32)[None]
        return SparseFeatures(
            self.names,
            np.cumsum([0, *(len(row) for row in rows)]),
            np.array([label for row in rows for label in sorted(row)], np.int32),
            np.array(values, np.float32).reshape(-1, width),
            examples,
            np.zeros(len(rows), np.int64),
        )

    def _row(self, words: Words, columns: dict[str, int]) -> dict[int, list[float]]:
        """Return the features of one text by label."""
        row: dict[int, list[float]] = {}

        def put(label: int, source: str, *values: float) -> None:
            cells = row.setdefault(label, [0.0] * len(columns))
            for name, value in zip(_BY_SOURCE[source], values, strict=True):
                cells[columns[name]] = value

        for source, surfaces in self.surfaces.items():
            for label, cells in _by_label(surfaces, words).items():
                put(label, source, *_SUMMARIES[source](cells))
        for source, hit in self._hits(words):
            full = hit.full if source == "overlap" else hit.coverage >= _ALMOST
            put(hit.label, source, hit.coverage, float(full), hit.coverage * hit.weight / 10)
        return row


def feature_names(spec: LexicalSources) -> tuple[str, ...]:
    """Return the names of the features that a view of this spec gives."""
    return (*(name for s in sources(spec) for name in _BY_SOURCE[s]), EXAMPLES)


def sources(spec: LexicalSources) -> tuple[str, ...]:
    """Return the sources that a spec looks at."""
    looked = {
        "annotated": spec.annotated,
        "label_text": bool(spec.label_text),
        "mined": spec.mined > 0,
        "overlap": spec.overlap and bool(spec.label_text),
        "related": spec.related and spec.overlap and bool(spec.label_text),
    }
    return tuple(name for name, yes in looked.items() if yes)


def build_surfaces(
    spec: LexicalFeatures, *, documents: Sequence[Document], labels: LabelSet, **_: object
) -> LexicalView:
    """Fit the view of a recipe on training documents."""
    return LexicalView.fit(spec, documents, labels)


def _read(documents: Sequence[Document]) -> list[Words]:
    return [read_words(d.text) for d in documents]


def _label_text(spec: LexicalSources, labels: LabelSet) -> LabelText:
    return read_label_text(labels, spec.label_text, longest=spec.longest, stem=spec.stem)


def _fitted(
    spec: LexicalSources,
    labels: LabelSet,
    label_text: LabelText,
    documents: Sequence[Document],
    words: Sequence[Words],
) -> LexicalView:
    truth = [frozenset(labels.position(i) for i in d.labels or ()) for d in documents]
    matrix = truth_matrix(truth, len(labels))
    looked = sources(spec)
    given: dict[str, Any] = {"documents": words, "truth": truth, "smoothing": spec.smoothing}
    surfaces: dict[str, Surfaces] = {}
    if "annotated" in looked:
        owners = _annotated(spec, labels, documents)
        surfaces["annotated"] = fit_surfaces(
            owners, overlapping=spec.overlapping, from_documents=True, **given
        )
    if "label_text" in looked:
        surfaces["label_text"] = fit_surfaces(
            label_text.groups, overlapping=True, from_documents=False, **given
        )
    if "mined" in looked:
        surfaces["mined"] = mine_surfaces(
            words,
            matrix,
            size=spec.mined,
            least_share=spec.least_share,
            least_lift=spec.least_lift,
        )
    overlap, related = None, None
    if "overlap" in looked:
        overlap = fit_overlap(label_text.bags, words, size=spec.stem)
        if "related" in looked:
            related = fit_related(words, _said(overlap, label_text, truth), overlap)
    counts = np.asarray(matrix.sum(axis=0)).ravel().astype(np.int64)
    return LexicalView(spec, labels, surfaces, overlap, related, counts)


def _said(
    overlap: Overlap, label_text: LabelText, truth: Sequence[frozenset[int]]
) -> list[frozenset[int]]:
    """Return the stems, as columns of the overlap, of the first texts of each document's labels."""
    first: dict[int, list[str]] = {}
    for position, bag in label_text.bags:
        first.setdefault(position, bag)
    columns = {
        position: [overlap.column(stem) for stem in first.get(position, ())]
        for position in frozenset().union(*truth)
    }
    return [frozenset(c for x in own for c in columns[x] if c is not None) for own in truth]


def truth_matrix(truth: Sequence[frozenset[int]], labels: int) -> sparse.csr_matrix:
    """Return which document has which label, (N, L) of 0 and 1."""
    indptr = np.cumsum([0, *map(len, truth)])
    columns = np.array([x for own in truth for x in sorted(own)], np.int64)
    shape = len(truth), labels
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, indptr), shape=shape)


def _annotated(
    spec: LexicalSources, labels: LabelSet, documents: Sequence[Document]
) -> dict[Group, list[int]]:
    owners: dict[Group, dict[int, None]] = {}
    for document in documents:
        for span in document.spans:
            if span.label is None or span.label not in (document.labels or ()):
                continue
            group = read_words(document.text[span.start : span.end]).folded
            if group and len(group) <= spec.longest:
                owners.setdefault(group, {})[labels.position(span.label)] = None
    return {group: list(found) for group, found in owners.items()}


Cells = list[tuple[float, int, int]]
"""Strength, surface and number of words of each match."""


def _by_label(surfaces: Surfaces, words: Words) -> dict[int, Cells]:
    found: dict[int, Cells] = {}
    for match in surfaces.find(words):
        labels, strengths = surfaces.of(match.surface)
        for label, value in zip(labels.tolist(), strengths.tolist(), strict=True):
            cell = (value, match.surface, match.stop - match.first)
            found.setdefault(label, []).append(cell)
    return found


def _annotated_summary(cells: Cells) -> tuple[float, ...]:
    return max(cells)[0], float(np.log1p(len(cells)))


def _label_text_summary(cells: Cells) -> tuple[float, ...]:
    return max(cells)[0], float(max(size for _, _, size in cells))


def _mined_summary(cells: Cells) -> tuple[float, ...]:
    values = sorted({surface: value for value, surface, _ in cells}.values(), reverse=True)
    return values[0], float(np.log1p(len(values))), sum(values[:3]) / 3


_SUMMARIES = {
    "annotated": _annotated_summary,
    "label_text": _label_text_summary,
    "mined": _mined_summary,
}


def _apart(cells: Sequence[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """Keep of matches (score, first, stop) that lie over each other the surest, then longest."""
    kept: list[tuple[float, int, int]] = []
    taken: set[int] = set()  # words, so that long texts take no longer a word than short ones
    for cell in sorted(cells, key=lambda c: (-c[0], c[1] - c[2], c[1])):
        own = range(cell[1], cell[2])
        if taken.isdisjoint(own):
            kept.append(cell)
            taken.update(own)
    return kept
