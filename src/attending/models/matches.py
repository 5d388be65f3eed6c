"""Words that speak for labels, as scores of a document's words: the evidence of lexical views."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from attending.models.base import TokenScores
from attending.parts.lexical import LexicalView
from attending.parts.lexical.words import read_words
from attending.records import Document


def match_scores(view: LexicalView, document: Document, labels: Sequence[str]) -> TokenScores:
    """Return each word's score for labels: the strength of the surest match that it is in."""
    words = read_words(document.text)
    table = {label: np.zeros(len(words)) for label in labels}
    for span in view.spans(document, labels):
        assert span.label is not None
        first = bisect_left(words.starts, span.start)
        stop = bisect_left(words.starts, span.end)
        row = table[span.label]
        row[first:stop] = np.maximum(row[first:stop], span.score)
    offsets = tuple(zip(words.starts, words.ends, strict=True))
    return TokenScores(offsets, {label: tuple(row.tolist()) for label, row in table.items()})
