"""Mutual information of words and labels, from their presence in training documents.

Letters: N documents, V words, L labels.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy

from attending.errors import ShapeError

Floats = NDArray[np.float64]


def presence(rows: Iterable[Sequence[int]], size: int) -> sparse.csr_matrix:
    """Return which ids each row holds, (N, ``size``) of 0 and 1; repeated ids count once."""
    lists = [np.unique(np.asarray(row, dtype=np.int32)) for row in rows]
    indptr = np.cumsum([0, *(len(row) for row in lists)], dtype=np.int64)
    indices = np.concatenate([*lists, np.zeros(0, np.int32)]).astype(np.int32)
    ones = np.ones(len(indices), np.int32)
    return sparse.csr_matrix((ones, indices, indptr), shape=(len(lists), size))


def information(both: Any, words: Any, labels: Any, documents: int, normalised: bool) -> Floats:
    """Return the mutual information of presence, in nats, from counts of documents.

    Of every cell: ``both`` with word and label, ``words`` with the word, ``labels`` with the
    label; the shapes must broadcast. With ``normalised``, I / H(word, label), which is
    I / (H(word) + H(label) - I), between 0 and 1 (the score of PLANT's code); 0 where the joint
    entropy is 0. Counts that are zero add nothing, by the limit of x log x; the published code adds
    1e-15 inside the logarithm instead, which changes the 14th decimal.
    """
    n = float(documents)
    both, words, labels = (np.asarray(x, np.float64) for x in (both, words, labels))
    joint = (both, words - both, labels - both, n - words - labels + both)
    # Sums of x log x of counts need one logarithm a count, and no marginal product.
    together = sum(xlogy(x, x) for x in joint)
    apart = sum(xlogy(x, x) for x in (words, n - words)) + sum(
        xlogy(x, x) for x in (labels, n - labels)
    )
    found: Floats = np.maximum((together - apart) / n + np.log(n), 0.0)
    if not normalised:
        return found
    entropy = np.log(n) - together / n
    # Rounding leaves about 1e-16 of a zero entropy.
    divided: Floats = np.divide(found, entropy, out=np.zeros_like(found), where=entropy > 1e-12)
    return divided


def mutual_information(
    words: sparse.csr_matrix, labels: sparse.csr_matrix, *, normalised: bool = False
) -> Floats:
    """Return the mutual information of every word with every label, (V, L), in nats.

    words: (N, V) and labels: (N, L), presence. Dense: for looking at some labels, and for tests;
    ``associations`` is the one for large vocabularies.

    Raises:
        ShapeError: If the two have different numbers of documents.
    """
    require_same_documents(words, labels)
    both = (words.T.astype(np.int64) @ labels.astype(np.int64)).toarray()
    return information(both, held(words)[:, None], held(labels), words.shape[0], normalised)


def held(matrix: sparse.csr_matrix) -> NDArray[np.int64]:
    """Return how many documents hold each column."""
    return np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel()


def require_same_documents(words: sparse.csr_matrix, labels: sparse.csr_matrix) -> None:
    """Make sure that words and labels are of the same documents, and of at least one.

    Raises:
        ShapeError: If not.
    """
    if words.shape[0] != labels.shape[0] or not words.shape[0]:
        raise ShapeError(
            "words and labels must be of the same documents",
            found=f"{words.shape[0]} and {labels.shape[0]} documents",
            allowed="(N, V) and (N, L)",
        )
