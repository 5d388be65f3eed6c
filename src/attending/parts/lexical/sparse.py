"""Features of (document, label) pairs, kept where a document says something of a label.

Letters: N documents, L labels, F features, Z pairs that are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from attending.errors import ShapeError

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features (N, L, F) of documents and labels, mostly zero.

    The last feature, ``examples``, is not sparse: log(1 + training documents of the label) of the
    view that looked. It comes with the rows because a cross-fitted row was scored by a view that
    had seen fewer.

    Attributes:
        names: F names.
        indptr: (N + 1,); row n keeps the pairs ``indptr[n]`` to ``indptr[n + 1]``.
        labels: (Z,), positions of labels, rising within a row.
        values: (Z, F - 1), at least 0.
        examples: (K, L), one row for each of the K views that looked.
        view: (N,), which view scored a row.
    """

    names: tuple[str, ...]
    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    values: Floats
    examples: Floats
    view: NDArray[np.int64]

    def __post_init__(self) -> None:
        rows, pairs = len(self.view), len(self.labels)
        if len(self.indptr) != rows + 1 or self.values.shape != (pairs, len(self.names) - 1):
            raise ShapeError(
                "sparse features don't fit each other",
                found=f"{self.indptr.shape}, {self.values.shape}, {rows} rows, {pairs} pairs",
                allowed="(N + 1,), (Z, F - 1)",
            )

    def __len__(self) -> int:
        return len(self.view)

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, L and F."""
        return len(self), self.examples.shape[1], len(self.names)

    def row(self, which: int) -> tuple[NDArray[np.int32], Floats]:
        """Return the labels that a row keeps (z,) and all their features (z, F)."""
        cells = slice(self.indptr[which], self.indptr[which + 1])
        labels = self.labels[cells]
        examples = self.examples[self.view[which], labels]
        return labels, np.concatenate([self.values[cells], examples[:, None]], axis=1)

    def dense(self, rows: Sequence[int] | None = None) -> Floats:
        """Return some rows, all by default, as an array (B, L, F)."""
        picked = range(len(self)) if rows is None else rows
        out = np.zeros((len(picked), *self.shape[1:]), np.float32)
        for i, which in enumerate(picked):
            out[i, :, -1] = self.examples[self.view[which]]
            labels, values = self.row(which)
            out[i, labels] = values
        return out

    def matrix(self, name: str) -> sparse.csr_matrix:
        """Return one feature, other than ``examples``, as a sparse matrix (N, L).

        Raises:
            ShapeError: If there is no such feature.
        """
        if name not in self.names[:-1]:
            known = ", ".join(self.names[:-1])
            raise ShapeError(f'no sparse feature "{name}"', allowed=known)
        column = np.ascontiguousarray(self.values[:, self.names.index(name)])
        return sparse.csr_matrix((column, self.labels, self.indptr), shape=self.shape[:2])


def joined(parts: Sequence[SparseFeatures], order: Sequence[Sequence[int]]) -> SparseFeatures:
    """Lay parts' rows out in one order: row i of part k becomes row ``order[k][i]``.

    Raises:
        ShapeError: If the orders are not a permutation of all rows together.
    """
    places = [place for own in order for place in own]
    if sorted(places) != list(range(sum(len(p) for p in parts))):
        raise ShapeError("the rows of the parts don't make one whole")
    where = {place: (k, i) for k, own in enumerate(order) for i, place in enumerate(own)}
    cells = [where[place] for place in range(len(places))]
    slices = [(parts[k], slice(parts[k].indptr[i], parts[k].indptr[i + 1])) for k, i in cells]
    offsets = np.cumsum([0, *(len(p.examples) for p in parts)])
    return SparseFeatures(
        parts[0].names,
        np.cumsum([0, *(s.stop - s.start for _, s in slices)]),
        np.concatenate([p.labels[s] for p, s in slices]),
        np.concatenate([p.values[s] for p, s in slices]),
        np.concatenate([p.examples for p in parts]),
        np.array([offsets[k] + parts[k].view[i] for k, i in cells]),
    )
