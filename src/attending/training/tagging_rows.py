"""Which documents train a tagger and which choose its checkpoint, and what their words are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attending.data.spans.flat import Flat
from attending.data.tagging.schemes import SpanScheme
from attending.data.tagging.words import Words, words_of
from attending.data.wording import plural
from attending.errors import TrainingError
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.rows import Rows, carve


def choose_documents(
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet,
    development: Sequence[Document] | None,
    seed: int,
) -> Rows:
    """Sort out what trains and what is development; every document counts as annotated.

    Without ``development``, whole documents are carved off (``training.development``), so that
    each type keeps its share as far as that goes and at least one training document, and one text
    stays on one side; an empty sequence means that there is none.

    Raises:
        TrainingError: If no training document has a span.
        LabelError: If a span's type is not in the set.
    """
    for document in (*train, *(development or ())):
        for span in document.spans:
            labels.position(span.label or "")
    if not any(d.spans for d in train):
        raise TrainingError(
            "no document has an annotated span",
            found=plural(len(train), "document"),
            step="Give documents with spans.",
        )
    if development is not None:
        return Rows(tuple(train), tuple(development))
    # Types stand in for labels, by which rows are dealt.
    typed = [replace(d, labels=tuple(sorted({s.label or "" for s in d.spans}))) for d in train]
    own = {id(t): d for t, d in zip(typed, train, strict=True)}
    dealt = carve(recipe, tuple(typed), seed)
    return Rows(
        tuple(own[id(t)] for t in dealt.train),
        tuple(own[id(t)] for t in dealt.development),
        dealt.notes,
    )


def span_counts(rows: Sequence[Document], labels: LabelSet) -> dict[str, int]:
    """Return how many spans each type of the set has, in the set's order."""
    counts = dict.fromkeys(labels.ids, 0)
    for document in rows:
        for span in document.spans:
            counts[span.label or ""] += 1
    return counts


@dataclass(frozen=True)
class TaggedRows:
    """Documents, their words, the words' tags (n, K), and what the tags don't hold.

    flats: a document's id and its flattened spans, a layer at a time.
    """

    documents: tuple[Document, ...]
    words: tuple[Words, ...]
    targets: tuple[NDArray[np.int64], ...]
    flats: tuple[tuple[str, Flat], ...] = ()

    @classmethod
    def of(cls, documents: Sequence[Document], scheme: SpanScheme) -> "TaggedRows":
        """Find words and tags of documents."""
        words = tuple(words_of(d) for d in documents)
        coded = [scheme.encode(d, w) for d, w in zip(documents, words, strict=True)]
        flats = tuple(
            (d.id, flat) for d, (_, found) in zip(documents, coded, strict=True) for flat in found
        )
        return cls(tuple(documents), words, tuple(tags for tags, _ in coded), flats)

    def tag_counts(self, scheme: SpanScheme) -> list[list[int]]:
        """Return how many words have each tag: K rows of C."""
        layers, tags = scheme.tags.shape
        found = np.concatenate([np.zeros((0, layers), dtype=np.int64), *self.targets])
        return [np.bincount(found[:, k], minlength=tags).tolist() for k in range(layers)]


def types_without_spans(counts: Mapping[str, int], labels: LabelSet) -> str | None:
    """Return a note on types that no training document has, or ``None``."""
    unseen = [i for i in labels.ids if not counts.get(i)]
    if not unseen:
        return None
    many = f"{plural(len(unseen), 'type')} of {len(labels)} without a training span"
    return f'{many}, the first is "{unseen[0]}"'


def types_that_cannot_win(recipe: Recipe, rows: TaggedRows, scheme: SpanScheme) -> str | None:
    """Return a note on types with too few training words to win votes that decide alone."""
    spec = recipe.get("neighbours")
    if spec is None or spec.weight < 1:
        return None
    counts = np.array(rows.tag_counts(scheme))
    most = [
        max(counts[scheme.tags.type_of == i], default=0) for i in range(len(scheme.tags.labels))
    ]
    few = [t for t, n in zip(scheme.tags.labels, most, strict=True) if 0 < n <= spec.k // 2]
    if not few:
        return None
    return (
        f"{plural(len(few), 'type')} with at most {spec.k // 2} training words a tag, the first is "
        f'"{few[0]}": {spec.k} votes alone can\'t give them; set neighbours.weight below 1'
    )
