"""From spans to tags of words, for training. Evaluation always has all spans as they are.

Which of overlapping spans one tag a word can hold is said by ``data.spans.flat``. With a layer a
type, only spans of the same type can be in each other's way.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attending.data.spans.flat import Flat, flatten, words_of
from attending.records import Document, LabelSet, Span
from attending.specs import FlatScheme, LayeredScheme
from attending.specs.tagging import Scheme
from attending.tags import OUTSIDE, TagSet


class SpanScheme:
    """Turns a document's spans into tags of its words.

    Args:
        spec: How.
        tags: The tags.
    """

    def __init__(self, spec: Scheme, tags: TagSet) -> None:
        self.spec, self.tags = spec, tags
        self._places = {label: tags.place(i) for i, label in enumerate(tags.labels)}

    def encode(
        self, document: Document, words: Sequence[tuple[int, int]]
    ) -> tuple[NDArray[np.int64], list[Flat]]:
        """Return the tags of a document's words, (N, K), and what a layer could not hold.

        Spans of other types than the tags' are left out.
        """
        found = np.full((len(words), self.tags.shape[0]), OUTSIDE, dtype=np.int64)
        layers: dict[int, list[Span]] = {}
        for span in document.spans:
            if span.label in self._places:
                layers.setdefault(self._places[span.label][0], []).append(span)
        flats = []
        for layer, spans in layers.items():
            flat = flatten(spans, words, discontinuous=self.spec.discontinuous)
            for span in flat.kept:
                first, behind = words_of((span.start, span.end), words)
                tag = self._places[str(span.label)][1]
                found[first:behind, layer] = tag + self.tags.states - 1
                found[first, layer] = tag
            flats.append(flat)
        return found, flats


def build_flat(spec: FlatScheme, *, labels: LabelSet, **_: object) -> SpanScheme:
    """Build the scheme of one layer."""
    return SpanScheme(spec, TagSet.of(labels, spec.tags == "bio"))


def build_layers(spec: LayeredScheme, *, labels: LabelSet, **_: object) -> SpanScheme:
    """Build the scheme of a layer per type."""
    return SpanScheme(spec, TagSet.of(labels, spec.tags == "bio", layered=True))
