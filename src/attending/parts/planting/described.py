"""Relevance without examples: the words of a label's own text, and words like them.

Letters: V words, L labels.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from attending.errors import ShapeError
from attending.parts.planting.relevance import Relevance, collected
from attending.parts.planting.word_index import WordIndex

_STEM = 6
"""Words that share so many first letters are forms of one word: metastasis, metastatic."""
_FORM = 0.5
"""What a form of a word counts, against the word itself."""


def described(index: WordIndex, texts: Sequence[str], *, keep: int = 1000) -> Relevance:
    """Rank the words of each label's text by how few labels share them.

    A word counts log((1 + L) / (1 + labels with the word)), the words without letters or digits
    nothing; another known word that begins with the same six letters counts half as much. Scores
    are scaled so that the best word of a label has 1. texts: L.
    """
    rows = [Counter(own) for own in index.ids(list(texts))]
    shared = Counter(word for row in rows for word in row)
    forms = _forms(index)
    found = []
    for row in rows:
        scores: dict[int, float] = {}
        for word in row:
            if not any(c.isalnum() for c in index.words[word]):
                continue
            weight = math.log((1 + len(rows)) / (1 + shared[word])) or 1e-3
            for form in forms.get(index.words[word][:_STEM], ()):
                scores[form] = max(scores.get(form, 0.0), _FORM * weight)
            scores[word] = max(scores.get(word, 0.0), weight)
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:keep]
        most = best[0][1] if best else 1.0
        found.append(
            (
                np.array([word for word, _ in best], np.int32),
                np.array([score / most for _, score in best], np.float32),
            )
        )
    return collected(found, len(index))


def _forms(index: WordIndex) -> dict[str, list[int]]:
    """Return the known words of six letters or more by their first six letters."""
    found: dict[str, list[int]] = {}
    for number, word in enumerate(index.words):
        if len(word) >= _STEM and word[:_STEM].isalpha():
            found.setdefault(word[:_STEM], []).append(number)
    return found


def blended(
    counted: Relevance, told: Relevance, examples: Sequence[int], *, prior: float, keep: int
) -> Relevance:
    """Return what examples and texts say together, label by label.

    Each side is scaled so that its best word has 1; a label's examples count n / (n + prior), its
    text the rest: a label never seen is ranked by its text alone, a frequent one by its examples.

    Raises:
        ShapeError: If the two are of other words or labels.
    """
    if (counted.words, len(counted)) != (told.words, len(told)) or len(examples) != len(told):
        raise ShapeError(
            "two relevances must be of the same words and labels",
            found=f"({len(counted)}, {counted.words}) and ({len(told)}, {told.words})",
            allowed="(L, V) twice, and L counts",
        )
    found = []
    for label, count in enumerate(examples):
        share = count / (count + prior)
        scores: dict[int, float] = {}
        for relevance, weight in ((counted, share), (told, 1 - share)):
            words, own = relevance.of(label)
            if len(own) and weight:
                scaled = weight * own / own[0]
                for word, score in zip(words.tolist(), scaled.tolist(), strict=True):
                    scores[word] = scores.get(word, 0.0) + score
        words = np.array(sorted(scores), np.int32)
        values = np.array([scores[w] for w in words.tolist()], np.float32)
        order = np.lexsort((words, -values))[:keep]
        found.append((words[order], values[order]))
    return collected(found, counted.words)
