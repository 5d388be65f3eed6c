"""Relevance: the words that speak for each label, ranked.

Letters: N documents, V words, L labels, Z kept (label, word) pairs.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy import sparse

from attending.errors import ModelError, ShapeError
from attending.parts.planting.mutual_information import (
    held,
    information,
    require_same_documents,
)

_CELLS = 6_000_000
"""Pairs that are looked at in one go; a go needs about 100 bytes for each."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """The best words of each label, best first.

    Attributes:
        words: V, the size of the vocabulary.
        indptr: (L + 1,); label l keeps the pairs ``indptr[l]`` to ``indptr[l + 1]``.
        indices: (Z,), word ids, best first within a label.
        scores: (Z,), above 0, falling within a label.
    """

    words: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.scores) or self.indptr[-1] != len(self.indices):
            raise ShapeError(
                "the parts of a relevance don't fit each other",
                found=f"{self.indptr[-1]}, {len(self.indices)}, {len(self.scores)}",
                allowed="one word and one score a pair",
            )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def of(self, label: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the words of a label (z,), best first, and their scores (z,)."""
        cells = slice(self.indptr[label], self.indptr[label + 1])
        return self.indices[cells], self.scores[cells]

    def matrix(self) -> sparse.csr_matrix:
        """Return the scores as a sparse matrix (L, V)."""
        shape = (len(self), self.words)
        found = sparse.csr_matrix((self.scores, self.indices, self.indptr), shape=shape)
        found.has_sorted_indices = False
        return found.sorted_indices()

    def save(self, path: Path) -> None:
        """Write it as safetensors."""
        save_file(
            {"indptr": self.indptr, "indices": self.indices, "scores": self.scores},
            path,
            metadata={"words": str(self.words)},
        )

    @classmethod
    def load(cls, path: Path, words: int) -> "Relevance":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If it can't be read, or is of another vocabulary.
        """
        try:
            read = load_file(path)
            found = cls(words, read["indptr"], read["indices"], read["scores"])
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            what = f"the relevance can't be read ({type(error).__name__})"
            raise ModelError(what, where=str(path)) from None
        if len(found.indices) and found.indices.max() >= words:
            raise ModelError("the relevance is of another vocabulary", where=str(path))
        return found


def relevance(
    words: sparse.csr_matrix,
    labels: sparse.csr_matrix,
    *,
    keep: int = 1000,
    normalised: bool = True,
    threads: int = 1,
) -> Relevance:
    """Rank words by their mutual information with each label.

    Only words that attract a label are ranked: that occur together with it more often than
    chance would have it. A word whose absence tells of a label has mutual information, too, but
    nothing in a document to look at (the published code ranks both alike). Equal words are
    ordered by how many of the label's documents hold them, then by id.

    words: (N, V) and labels: (N, L), presence in training documents. ``keep`` words a label are
    kept at most. Peak memory is about 0.6 GB a thread whatever V and L are.

    Raises:
        ShapeError: If the two have different numbers of documents.
    """
    require_same_documents(words, labels)
    by_word = words.T.tocsr().astype(np.int32)
    columns = labels.tocsc()
    frequency = held(words)

    def best(which: slice) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        both = (by_word @ columns[:, which]).tocsc()
        counts = np.diff(columns.indptr)[which]
        return list(_ranked(both, frequency, counts, words.shape[0], keep, normalised))

    step = max(1, _CELLS // max(words.shape[1], 1))
    goes = [slice(i, min(i + step, labels.shape[1])) for i in range(0, labels.shape[1], step)]
    with ThreadPoolExecutor(max(1, threads)) as pool:
        found = [pair for go in pool.map(best, goes) for pair in go]
    return collected(found, words.shape[1])


def collected(found: list[tuple[NDArray[np.int32], NDArray[np.float32]]], words: int) -> Relevance:
    """Put the ranked words of every label, in order, into one relevance."""
    return Relevance(
        words,
        np.cumsum([0, *(len(i) for i, _ in found)], dtype=np.int64),
        np.concatenate([np.zeros(0, np.int32), *(i for i, _ in found)]),
        np.concatenate([np.zeros(0, np.float32), *(s for _, s in found)]),
    )


def _ranked(
    both: sparse.csc_matrix,
    frequency: NDArray[np.int64],
    counts: NDArray[np.int32],
    documents: int,
    keep: int,
    normalised: bool,
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Rank the words of some labels; both: (V, l), documents that hold word and label."""
    words, together = both.indices, both.data.astype(np.float64)
    sizes = np.repeat(counts, np.diff(both.indptr)).astype(np.float64)
    attracted = together * documents > frequency[words] * sizes
    scores = np.zeros(len(words))
    scores[attracted] = information(
        together[attracted], frequency[words[attracted]], sizes[attracted], documents, normalised
    )
    for column in range(both.shape[1]):
        cells = slice(both.indptr[column], both.indptr[column + 1])
        own = np.flatnonzero(scores[cells] > 0)
        own_scores, own_words = scores[cells][own], words[cells][own]
        if len(own) > keep:
            least = np.partition(own_scores, len(own) - keep)[len(own) - keep]
            near = own_scores >= least
            own, own_scores, own_words = own[near], own_scores[near], own_words[near]
        order = np.lexsort((own_words, -together[cells][own], -own_scores))[:keep]
        yield own_words[order].astype(np.int32), own_scores[order].astype(np.float32)
