"""One binary model a label, for documents with any number of labels.

Letters: N documents, V words, L labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from attending.records import Document, LabelSet

Floats = NDArray[np.float64]
_CHUNK = 64


def truth_matrix(documents: Sequence[Document], labels: LabelSet) -> sparse.csr_matrix:
    """Return which document has which label, (N, L) of 0 and 1, sparse.

    Raises:
        LabelError: If a label is not in the set.
    """
    own = [sorted({labels.position(i) for i in d.labels or ()}) for d in documents]
    columns = np.array([c for row in own for c in row], np.int64)
    shape = (len(documents), len(labels))
    values = np.ones(len(columns))
    return sparse.csr_matrix((values, columns, np.cumsum([0, *map(len, own)])), shape=shape)


def log_odds(counts: Floats, documents: int) -> Floats:
    """Return log-odds of labels among training documents, half a document added to each side."""
    return np.asarray(np.log(counts + 0.5) - np.log(documents - counts + 0.5))


def fit_one_vs_rest(
    estimator: Any, matrix: sparse.csr_matrix, truth: sparse.csr_matrix, prune: float
) -> tuple[sparse.csr_matrix, Floats]:
    """Fit a clone of a binary estimator for every label, a thread a core.

    A label that all documents have scores its log-odds. One that none has scores that too, or less
    where needed to stay below anything that another label can get from a text: rows of ``matrix``
    have norm 1 at most.

    Weights below ``prune`` are dropped, as in DiSMEC (Babbar and Schoelkopf 2017, section 3.2):
    without that, 9,000 labels of 50,000 words would weigh 3.6 GB.

    matrix: (N, V); truth: (N, L). Returns weights (L, V) and intercepts (L,).
    """
    counts = np.asarray(truth.sum(axis=0)).ravel()
    intercepts = log_odds(counts, matrix.shape[0])
    by_label = truth.tocsc()
    mixed = np.flatnonzero((counts > 0) & (counts < matrix.shape[0]))
    chunks = [mixed[i : i + _CHUNK] for i in range(0, len(mixed), _CHUNK)]
    fitted = Parallel(n_jobs=-1, prefer="threads")(
        delayed(_fit_some)(estimator, matrix, by_label[:, chunk], prune) for chunk in chunks
    )
    rows = sparse.vstack([w for w, _ in fitted]) if fitted else sparse.csr_matrix((0, 0))
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    intercepts[mixed] = np.concatenate([b for _, b in fitted] or [np.zeros(0)])
    if len(mixed):
        lowest = float(np.min(intercepts[mixed] - norms))
        intercepts[counts == 0] = np.minimum(intercepts[counts == 0], lowest)
    # Row i of ``rows`` is label mixed[i]: lay them out over all labels.
    place = sparse.csr_matrix(
        (np.ones(len(mixed)), (mixed, np.arange(len(mixed)))), shape=(truth.shape[1], len(mixed))
    )
    empty = sparse.csr_matrix((truth.shape[1], matrix.shape[1]))
    return ((place @ rows).tocsr() if len(mixed) else empty), intercepts


def _fit_some(
    estimator: Any, matrix: sparse.csr_matrix, truth: sparse.csc_matrix, prune: float
) -> tuple[sparse.csr_matrix, Floats]:
    weights, intercepts = [], []
    for column in range(truth.shape[1]):
        fitted = clone(estimator).fit(matrix, truth[:, [column]].toarray().ravel())
        row = fitted.coef_[0]
        weights.append(sparse.csr_matrix(np.where(np.abs(row) < prune, 0.0, row)))
        intercepts.append(float(fitted.intercept_[0]))
    return sparse.vstack(weights, format="csr"), np.array(intercepts)
