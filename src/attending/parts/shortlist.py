"""Which labels are worth attending for: those whose words a document has.

Letters: B documents, L labels, V words, K labels of a shortlist.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from attending.errors import ModelError, TrainingError
from attending.parts.described import label_texts
from attending.parts.lexical.view import truth_matrix
from attending.parts.tfidf import build_tfidf, read_words, write_words
from attending.records import Document, LabelSet
from attending.specs import TfidfFeatures, WordShortlist

TABLE = "shortlist.safetensors"
_PIECES = ("data", "indices", "indptr")
_LABELS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Shortlist:
    """A sparse first stage: cosines of documents and labels by the words that they share.

    A label's vector is the mean of its training documents' TF-IDF vectors and of its own text's
    (Rocchio 1971), of which its best words are kept. The most frequent labels are on every list,
    since a document need not name what is common.

    Attributes:
        spec: How many labels, and what is kept of them.
        vectoriser: From texts to TF-IDF, (B, V).
        table: The labels' vectors, (V, L), sparse.
        common: The labels that are on every list, positions.
    """

    spec: WordShortlist
    vectoriser: TfidfVectorizer
    table: sparse.csr_matrix
    common: NDArray[np.int64]

    @classmethod
    def fit(
        cls, spec: WordShortlist, documents: Sequence[Document], labels: LabelSet
    ) -> "Shortlist":
        """Fit on labelled training documents and the labels' texts.

        Raises:
            TrainingError: If neither has a word.
        """
        vectoriser = build_tfidf(_features(spec))
        texts = [d.text for d in documents]
        own = label_texts(labels, "both", synonyms=len(labels)) if spec.prior else []
        try:
            vectoriser.fit([*texts, *own])
        except ValueError as error:
            raise TrainingError(f"the shortlist can't be fitted: {error}") from error
        truth = truth_matrix(
            [frozenset(labels.position(i) for i in d.labels or ()) for d in documents], len(labels)
        )
        counts = np.asarray(truth.sum(axis=0)).ravel()
        # Never the whole list, which would be the same for every document.
        common = np.argsort(-counts, kind="stable")[: min(spec.common, spec.size // 2)]
        common = np.sort(common[counts[common] > 0])
        found = vectoriser.transform(texts)
        pieces = []
        for start in range(0, len(labels), _LABELS_AT_ONCE):
            which = slice(start, start + _LABELS_AT_ONCE)
            rows = truth[:, which].T @ found
            if spec.prior:
                rows = rows + spec.prior * vectoriser.transform(own[which])
            pieces.append(_best(rows.tocsr(), spec.words))
        table = sparse.vstack(pieces).T.tocsr().astype(np.float32)
        return cls(spec, vectoriser, table, common.astype(np.int64))

    def pick(self, documents: Sequence[Document]) -> NDArray[np.int64]:
        """Return the labels of each document's shortlist, rising positions, (B, K)."""
        count = self.table.shape[1]
        size = min(self.spec.size, count)
        found = np.empty((len(documents), size), np.int64)
        if not documents:
            return found
        vectors = self.vectoriser.transform([d.text for d in documents])
        for row in range(len(documents)):
            scores = (vectors[row] @ self.table).toarray()[0]
            scores[self.common] = np.inf
            # Stable, so that equal scores give the same list whatever else is scored.
            order = np.argsort(-scores, kind="stable") if size < count else np.arange(count)
            found[row] = np.sort(order[:size])
        return found

    def kept(self, documents: Sequence[Document], labels: LabelSet) -> tuple[int, int]:
        """Return how many of the documents' labels are on their lists, and how many there are."""
        lists = [frozenset(row) for row in self.pick(documents).tolist()]
        found = [
            labels.position(i) in own
            for d, own in zip(documents, lists, strict=True)
            for i in d.labels or ()
        ]
        return sum(found), len(found)

    def save(self, folder: Path) -> None:
        """Write words (JSON) and numbers (safetensors) into a folder, which is made."""
        folder.mkdir(exist_ok=True)
        arrays = {name: np.ascontiguousarray(getattr(self.table, name)) for name in _PIECES}
        arrays["common"] = self.common
        arrays["shape"] = np.array(self.table.shape, np.int64)
        arrays["idf"] = write_words(folder, self.vectoriser)
        save_file(arrays, folder / TABLE)

    @classmethod
    def load(cls, folder: Path, spec: WordShortlist, labels: LabelSet) -> "Shortlist":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If a file is missing or damaged, or doesn't fit the labels.
        """
        try:
            arrays = load_file(folder / TABLE)
            shape = tuple(arrays["shape"].tolist())
            table = sparse.csr_matrix(tuple(arrays[name] for name in _PIECES), shape=shape)
            table.check_format()
            vectoriser = build_tfidf(_features(spec))
            read_words(folder, vectoriser, arrays["idf"])
            common = arrays["common"]
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            what = f"the model folder is damaged: {error}"
            raise ModelError(what, where=str(folder)) from error
        if table.shape != (len(vectoriser.vocabulary_), len(labels)):
            raise ModelError("the shortlist doesn't fit labels and words", where=str(folder))
        return cls(spec, vectoriser, table, common)


def build_shortlist(
    spec: WordShortlist, *, documents: Sequence[Document], labels: LabelSet, **_: object
) -> Shortlist:
    """Fit the first stage on training documents; see ``Shortlist.fit``."""
    return Shortlist.fit(spec, documents, labels)


def _features(spec: WordShortlist) -> TfidfFeatures:
    return TfidfFeatures(sublinear=True, min_documents=spec.min_documents)


def _best(rows: sparse.csr_matrix, most: int) -> sparse.csr_matrix:
    """Keep the largest cells of each row, and scale it to length 1."""
    data, indices, lengths = [], [], []
    for row in range(rows.shape[0]):
        cells = slice(rows.indptr[row], rows.indptr[row + 1])
        values, columns = rows.data[cells], rows.indices[cells]
        kept = np.sort(np.argsort(-values, kind="stable")[:most])
        values = values[kept]
        data.append(values / max(float(np.linalg.norm(values)), 1e-12))
        indices.append(columns[kept])
        lengths.append(len(kept))
    shape = rows.shape
    indptr = np.cumsum([0, *lengths])
    whole = (np.concatenate(data), np.concatenate(indices), indptr) if data else None
    return sparse.csr_matrix(whole if whole is not None else shape, shape=shape)
