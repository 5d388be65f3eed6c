"""Labels whose own words stand together in a sentence, in any order and not all of them.

Letters: V stems, R label texts, S sentences.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from attending.parts.lexical.words import Words, stem_of

LEAST = 0.5
_FULL = 0.99
_LIGHTEST = 1e-3


@dataclass(frozen=True, slots=True)
class Hit:
    """A label text that a sentence holds in part.

    label: position. coverage: share of the text's weight that the sentence holds, ``LEAST`` to 1.
    weight: of the whole text, in nats. sentence: its number in the document. text: number of the
    label text.
    """

    label: int
    coverage: float
    weight: float
    sentence: int
    text: int

    @property
    def full(self) -> bool:
        """Whether the sentence holds all words of the text."""
        return self.coverage >= _FULL


@dataclass(frozen=True, eq=False)
class Overlap:
    """Label texts as weighted bags of stems.

    Attributes:
        stems: V stems, the first ``size`` letters of folded words (all of them if 0).
        shares: (V, R); a column sums to 1 over the stems of a label text.
        weights: (R,), the weight of each label text.
        labels: (R,), the position of the label that each text is of.
        size: Letters of a stem.
    """

    stems: tuple[str, ...]
    shares: sparse.csr_matrix
    weights: NDArray[np.float32]
    labels: NDArray[np.int32]
    size: int
    _columns: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", {stem: i for i, stem in enumerate(self.stems)})

    def column(self, stem: str) -> int | None:
        """Return the number of a stem, ``None`` if no label text has it."""
        return self._columns.get(stem)

    def find(self, words: Words) -> list[Hit]:
        """Return each label's best hit in a text, by position of the label.

        The better one is of higher coverage, then of higher weight, then the earlier one.
        """
        if not len(words) or not self.stems:
            return []
        covered = (self._sentences(words) @ self.shares).tocoo()
        good = covered.data >= LEAST
        text, coverage, sentence = covered.col[good], covered.data[good], covered.row[good]
        label, weight = self.labels[text], self.weights[text]
        order = np.lexsort((text, sentence, -weight, -coverage, label))
        first = np.unique(label[order], return_index=True)[1]
        return [
            Hit(int(label[i]), float(coverage[i]), float(weight[i]), int(sentence[i]), int(text[i]))
            for i in order[first].tolist()
        ]

    def places(self, words: Words, hit: Hit) -> Iterator[tuple[int, float]]:
        """Yield the words that made a hit, by number, with their shares of the label text."""
        shares = self.shares[:, hit.text].toarray().ravel()
        found = {}
        for i, (word, sentence) in enumerate(zip(words.folded, words.sentences, strict=True)):
            column = self._columns.get(stem_of(word, self.size))
            if sentence == hit.sentence and column is not None and shares[column] > 0:
                found[i] = float(shares[column])
        yield from weighty(found)

    def _sentences(self, words: Words) -> sparse.csr_matrix:
        """Return which stems stand in which sentence, (S, V) of 0 and 1."""
        cells = {
            (sentence, column)
            for word, sentence in zip(words.folded, words.sentences, strict=True)
            if (column := self._columns.get(stem_of(word, self.size))) is not None
        }
        rows, columns = zip(*sorted(cells), strict=True) if cells else ((), ())
        shape = (words.sentences[-1] + 1, len(self.stems))
        return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def weighty(shares: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Yield words with a fifth of the heaviest one's share or more: ``of`` is no evidence."""
    least = max(shares.values(), default=0.0) / 5
    return ((i, share) for i, share in shares.items() if share >= least)


def fit_overlap(
    bags: Sequence[tuple[int, Sequence[str]]], documents: Sequence[Words], *, size: int
) -> Overlap:
    """Weigh the words of label texts.

    A stem weighs the more, the fewer label texts hold it (their inverse frequency), and less if
    most training documents hold it, so that neither ``unspecified`` nor ``patient`` carries a hit.

    bags: of each label text its label's position and its distinct stems of ``size`` letters.
    """
    among = Counter(stem for _, bag in bags for stem in bag)
    held: Counter[str] = Counter()
    for words in documents:
        held.update({stem_of(w, size) for w in words.folded} & among.keys())
    stems = tuple(sorted(among))
    weight = {
        stem: math.log((len(bags) + 1) / (among[stem] + 0.5))
        * min(1.0, math.log((len(documents) + 1) / (held[stem] + 0.5)) / 3 + 0.05)
        for stem in stems
    }
    weight = {stem: max(value, _LIGHTEST) for stem, value in weight.items()}
    columns = {stem: i for i, stem in enumerate(stems)}
    totals = np.array([sum(weight[s] for s in bag) for _, bag in bags], np.float32)
    cells = [
        (columns[stem], row, weight[stem] / totals[row])
        for row, (_, bag) in enumerate(bags)
        for stem in bag
    ]
    rows, cols, data = zip(*cells, strict=True) if cells else ((), (), ())
    shares = sparse.csr_matrix(
        (np.array(data, np.float32), (rows, cols)), shape=(len(stems), len(bags))
    )
    labels = np.array([position for position, _ in bags], np.int32)
    return Overlap(stems, shares, totals, labels, size)
