"""Words of texts that stand for words of label texts: ``smoker`` for ``nicotine``.

Labels without a training document can be found by such words too: what ``carcinoma`` has to do with
``malignant neoplasm`` is learned from all labels that say so.

Letters: N documents, W stems of texts, V stems of label texts, S sentences, R label texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from attending.parts.lexical.overlap import Hit, Overlap, weighty
from attending.parts.lexical.words import Words, stem_of

LEAST = 0.6
_LEAST_WORDS = 0.25
_MOST = 500
_SAME = 0.98
_WEAKEST = 0.1
_ROUNDS = 8
_SMOOTHING = 4.0
_LIFT = 2.0
_COMMON = 0.5
_CELLS = 5_000_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Related:
    """How surely a word of a text brings a word of label texts along.

    A sentence holds a label text's stem with 1 - (1 - leak) * product of (1 - chance) over its own
    stems; the chance of a stem for itself is 0.98. What a sentence covers of a label text is the
    sum of its stems' shares, each times that.

    Attributes:
        stems: W stems.
        chances: (W, V), columns as the overlap's stems.
        leak: (V,), chance that a stem is among a document's label texts whatever the text says, as
            ``unspecified`` often is.
    """

    stems: tuple[str, ...]
    chances: sparse.csr_matrix
    leak: NDArray[np.float32]
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {stem: i for i, stem in enumerate(self.stems)})

    def find(self, words: Words, overlap: Overlap) -> list[Hit]:
        """Return each label's best hit in a text, by position of the label; the best 500.

        At least 0.6 of a label text must be covered, a quarter of it by words of the sentence.
        """
        if not len(words) or not overlap.stems:
            return []
        held = self._held(words, overlap)
        held.data *= 1 - self.leak[held.indices]
        covered = (held @ overlap.shares).tocoo()
        base = np.asarray(self.leak @ overlap.shares)[covered.col]
        good = (covered.data >= _LEAST_WORDS) & (covered.data + base >= LEAST)
        text, sentence = covered.col[good], covered.row[good]
        coverage = np.minimum(covered.data + base, 1)[good]
        label, weight = overlap.labels[text], overlap.weights[text]
        order = np.lexsort((text, sentence, -weight, -coverage, label))
        first = order[np.unique(label[order], return_index=True)[1]]
        if len(first) > _MOST:
            best = np.lexsort((first, -weight[first], -coverage[first]))[:_MOST]
            first = first[np.sort(best)]
        return [
            Hit(int(label[i]), float(coverage[i]), float(weight[i]), int(sentence[i]), int(text[i]))
            for i in first.tolist()
        ]

    def places(self, words: Words, overlap: Overlap, hit: Hit) -> Iterator[tuple[int, float]]:
        """Yield the words that made a hit, by number, with what they cover of the label text."""
        shares = overlap.shares[:, hit.text].toarray().ravel()
        found = {}
        for i, (word, sentence) in enumerate(zip(words.folded, words.sentences, strict=True)):
            if sentence == hit.sentence:
                stem = stem_of(word, overlap.size)
                column, row = overlap.column(stem), self._rows.get(stem)
                covered = 0.0 if row is None else float((self.chances[row] @ shares)[0])
                if column is not None:
                    covered = max(covered, _SAME * float(shares[column]))
                if covered > 0:
                    found[i] = covered
        yield from weighty(found)

    def _held(self, words: Words, overlap: Overlap) -> sparse.csr_matrix:
        """Return how surely sentences hold stems of label texts, (S, V)."""
        size = overlap.size
        own: dict[tuple[int, int], float] = {}
        # A stem counts once a sentence, as where the chances were learned.
        said = dict.fromkeys(
            (sentence, stem_of(word, size))
            for word, sentence in zip(words.folded, words.sentences, strict=True)
        )
        for sentence, stem in said:
            column = overlap.column(stem)
            if column is not None:
                own[sentence, column] = own.get((sentence, column), 1.0) * (1 - _SAME)
            row = self._rows.get(stem)
            if row is None:
                continue
            cells = slice(self.chances.indptr[row], self.chances.indptr[row + 1])
            for column, chance in zip(
                self.chances.indices[cells].tolist(),
                self.chances.data[cells].tolist(),
                strict=True,
            ):
                own[sentence, column] = own.get((sentence, column), 1.0) * (1 - chance)
        rows, columns = zip(*own, strict=True) if own else ((), ())
        shape = (words.sentences[-1] + 1, len(overlap.stems))
        values = 1 - np.array(list(own.values()), np.float32)
        return sparse.csr_matrix((values, (rows, columns)), shape=shape)


def fit_related(
    documents: Sequence[Words], said: Sequence[frozenset[int]], overlap: Overlap
) -> Related:
    """Learn chances from documents and the stems of their label texts.

    A stem is among a document's label texts if one of the text's stems brought it along, or for no
    reason in the text: a noisy-or, fitted by expectation maximisation, so that ``patient`` gets no
    credit for what ``carcinoma`` explains. Pairs start where at least a tenth of the documents with
    the text's stem have the label's, two or more, at twice its share of all documents. Four more
    documents without the label's stem are added, so that a rare word has to show more.

    documents: N. said: N sets of columns of the overlap's stems.

    Source: Pearl 1988, section 4.3, for the noisy-or.
    """
    stems, held = _held_stems(documents, overlap.size)
    columns = sorted({x for own in said for x in own})
    place = {x: i for i, x in enumerate(columns)}
    indptr = np.cumsum([0, *map(len, said)])
    indices = np.array([place[x] for own in said for x in sorted(own)], np.int64)
    shape = (len(said), len(columns))
    truth = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape).tocsc()
    leak = np.zeros(len(overlap.stems), np.float32)
    rows, cols, data = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
    step = max(1, _CELLS // max(len(said), len(stems), 1))
    for start in range(0, len(columns), step):
        row, col, chance, own = _expect(held, truth[:, start : start + step])
        which = np.array(columns[start : start + step])
        leak[which] = own
        rows.append(row)
        cols.append(which[col])
        data.append(chance)
    cells = np.concatenate(data).astype(np.float32), (np.concatenate(rows), np.concatenate(cols))
    chances = sparse.csr_matrix(cells, shape=(len(stems), len(overlap.stems)))
    kept = np.flatnonzero(np.diff(chances.indptr))
    return Related(tuple(stems[i] for i in kept.tolist()), chances[kept], leak)


def _held_stems(documents: Sequence[Words], size: int) -> tuple[list[str], sparse.csr_matrix]:
    numbers: dict[str, int] = {}
    own = [
        sorted({numbers.setdefault(stem_of(w, size), len(numbers)) for w in d.folded})
        for d in documents
    ]
    indptr = np.cumsum([0, *map(len, own)])
    indices = np.array([x for row in own for x in row], np.int64)
    shape = (len(documents), len(numbers))
    return list(numbers), sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)


def _expect(
    held: sparse.csr_matrix, truth: sparse.csc_matrix
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Fit the chances of some columns; returns cells (row, column, chance) and leaks."""
    documents = held.shape[0]
    counts = np.asarray(held.sum(axis=0)).ravel()
    prior = np.asarray(truth.sum(axis=0)).ravel() / max(documents, 1)
    both = (held.T @ truth).tocoo()
    share = both.data / counts[both.row]
    good = (both.data >= 2) & (share >= np.maximum(_WEAKEST, _LIFT * prior[both.col]))
    good &= counts[both.row] <= max(_COMMON * documents, 2)
    row, col, chance = both.row[good].astype(np.int64), both.col[good], share[good] / 2
    if not len(row):
        return row, col.astype(np.int64), chance, np.minimum(prior, _SAME)
    leak = prior / 2
    for _ in range(_ROUNDS):
        missed = sparse.csr_matrix((np.log1p(-chance), (row, col)), shape=both.shape)
        silent = (held @ missed).toarray() + np.log1p(-leak)
        credit = truth.multiply(1 / np.maximum(-np.expm1(silent), 1e-6)).tocsc()
        earned = (held.T @ credit).tocsr()
        chance = chance * np.asarray(earned[row, col]).ravel() / (counts[row] + _SMOOTHING)
        chance = np.minimum(chance, _SAME)
        leak = np.minimum(leak * np.asarray(credit.sum(axis=0)).ravel() / documents, _SAME)
    strong = chance >= _WEAKEST
    return row[strong], col[strong].astype(np.int64), chance[strong], leak
