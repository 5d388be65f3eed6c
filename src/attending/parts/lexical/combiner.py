"""From a pair's features to its log-odds: logistic regression on them and their products.

Letters: N documents, L labels, P pairs, F features, M = F + 2 inputs.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from attending.parts.lexical.sparse import SparseFeatures

Floats = NDArray[np.float64]
LEAST_RIGHT = 20
"""True pairs with a match that a combiner is learned from, at least."""
UNSEEN = 0.3
"""Documents that a label without any counts as in a logarithm."""
_SILENT = 50
_MOST = 2_000_000


@dataclass(frozen=True, eq=False)
class Combiner:
    """Log-odds of pairs: bias + z @ linear + z @ products @ z, z being scaled inputs.

    The inputs are the features, ``examples`` (the last one) replaced by log(0.3 + documents),
    whether there is none, whether there is one; then what others have to add (``context``). They
    are clipped to what training pairs showed, so that squares never run away on a longer text.
    Of a label without a document and without a match nothing is known: such pairs all get the
    same log-odds.

    Attributes:
        low, high: (M,), the range of each input in training pairs.
        scale: (M,), its standard deviation there.
        linear: (M,).
        products: (M, M), upper triangle; zero where products don't count.
        bias: A number.
        silent: Log-odds of pairs of which nothing is known.
    """

    low: Floats
    high: Floats
    scale: Floats
    linear: Floats
    products: Floats
    bias: float
    silent: float

    def score(self, features: NDArray[np.floating], context: Floats | None = None) -> Floats:
        """Return log-odds (..., ) of features (..., F) and context (..., ) if it was fitted on."""
        z = np.clip(inputs(features, context), self.low, self.high) / self.scale
        odds = self.bias + z @ self.linear + ((z @ self.products) * z).sum(axis=-1)
        return np.where(features.any(axis=-1), odds, self.silent)

    def arrays(self) -> dict[str, Floats]:
        """Return the combiner as named arrays."""
        names = ("low", "high", "scale", "linear", "products")
        numbers = {n: np.array([getattr(self, n)]) for n in ("bias", "silent")}
        return {n: getattr(self, n) for n in names} | numbers

    @classmethod
    def of_arrays(cls, arrays: dict[str, Floats]) -> "Combiner":
        """Read what ``arrays`` gave.

        Raises:
            KeyError: If one is missing.
            ValueError: If they don't fit each other.
        """
        low, high, scale, linear = (arrays[n] for n in ("low", "high", "scale", "linear"))
        products, size = arrays["products"], len(linear)
        if any(v.shape != (size,) for v in (low, high, scale)) or products.shape != (size, size):
            raise ValueError("the arrays are of different sizes")
        bias, silent = (float(arrays[n][0]) for n in ("bias", "silent"))
        return cls(low, high, scale, linear, products, bias, silent)


def input_count(features: int, *, context: bool = False) -> int:
    """Return M, the number of inputs that F features make."""
    return features + 2 + context


def inputs(features: NDArray[np.floating], context: Floats | None = None) -> Floats:
    """Return the inputs (..., M) of features (..., F), the last of which is ``examples``."""
    documents = np.expm1(features[..., -1:].astype(np.float64))
    none, one = documents < 0.5, np.abs(documents - 1) < 0.5
    columns = [features[..., :-1], np.log(UNSEEN + documents), none, one]
    if context is not None:
        columns.append(context[..., None])
    return np.concatenate([c.astype(np.float64) for c in columns], axis=-1)


def fit_combiner(
    features: SparseFeatures,
    truth: sparse.csr_matrix,
    *,
    context: Floats | None = None,
    products: bool = True,
    c: float = 0.1,
) -> Combiner | None:
    """Fit a combiner on cross-fitted features of training documents.

    Every pair with a match or with a label that has training documents counts. Those without a
    match differ in ``examples`` alone, so equal ones are one row with a weight; where ``context``
    tells them apart, 50 of a document's, evenly spread over the values, stand for all of them.
    Of very many pairs those of every n-th document are enough for the few weights.

    Args:
        features: (N, L, F), from ``LexicalView.features_training``.
        truth: (N, L) of 0 and 1.
        context: (N, L), log-odds of another model, cross-fitted too.
        products: Whether the inputs' products count.
        c: Inverse of the L2 penalty on weights of standardised inputs and products.

    Returns:
        The combiner, or ``None`` if fewer than 20 true pairs have a match, or no pair is untrue:
        too few to learn from.
    """
    rows = [_pairs(features, i, truth, context) for i in range(len(features))]
    met = sum(r.met for r in rows)
    if met < LEAST_RIGHT:
        return None
    missed, unknown = sum(r.missed for r in rows), sum(r.unknown for r in rows)
    rows = rows[:: math.ceil(sum(len(r.weights) for r in rows) / _MOST)]
    silent = math.log((missed + 0.5) / (unknown - missed + 0.5))
    table = np.concatenate([r.table for r in rows])
    if (table[:, -1] > 0).all():
        return None
    # One row for equal ones: features, context and truth are the columns of the table.
    table, place = np.unique(table, axis=0, return_inverse=True)
    weights = np.zeros(len(table))
    np.add.at(weights, place.ravel(), np.concatenate([r.weights for r in rows]))
    shape = features.shape[2]
    x = inputs(table[:, :shape], None if context is None else table[:, shape])
    scale = _spread(x, weights)[1]
    scale[~np.isfinite(scale)] = 1.0
    ranges = x.min(axis=0), x.max(axis=0), scale
    return _logistic(x / scale, table[:, -1] > 0, weights, ranges, silent, products, c)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of a document: features, context and truth (p, F + 1 or 2), and what they count.

    met: true pairs with a match. missed: true ones of ``unknown`` pairs, which have neither a match
    nor a label with a training document.
    """

    table: Floats
    weights: Floats
    met: int
    missed: int
    unknown: int


def _pairs(
    features: SparseFeatures, row: int, truth: sparse.csr_matrix, context: Floats | None
) -> _Pairs:
    found, values = features.row(row)
    true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
    examples = features.examples[features.view[row]]
    seen = np.flatnonzero(examples)
    known = np.union1d(found, seen)
    spoken = np.union1d(found, np.intersect1d(true, seen)).astype(np.int64)
    silent = np.setdiff1d(seen, spoken)
    drawn, weight = silent, 1.0
    if context is not None and len(silent) > _SILENT:
        order = silent[np.lexsort((examples[silent], context[row, silent]))]
        drawn = order[((np.arange(_SILENT) + 0.5) * len(order) / _SILENT).astype(np.int64)]
        weight = len(silent) / _SILENT
    picked = np.concatenate([spoken, drawn])
    own = np.zeros((len(picked), features.shape[2]))
    own[:, -1] = examples[picked]
    own[np.searchsorted(spoken, found)] = values
    columns = [own, *([] if context is None else [context[row, picked][:, None]])]
    return _Pairs(
        np.concatenate([*columns, np.isin(picked, true)[:, None]], axis=1),
        np.repeat([1.0, weight], [len(spoken), len(drawn)]),
        int(np.isin(true, found).sum()),
        len(np.setdiff1d(true, known)),
        features.shape[1] - len(known),
    )


def _logistic(
    z: Floats,
    y: NDArray[np.bool_],
    weights: Floats,
    ranges: tuple[Floats, Floats, Floats],
    silent: float,
    products: bool,
    c: float,
) -> Combiner:
    size = z.shape[1]
    left, right = np.triu_indices(size) if products else (np.zeros(0, int), np.zeros(0, int))
    table = np.concatenate([z, z[:, left] * z[:, right]], axis=1)
    mean, spread = _spread(table, weights)
    estimator = LogisticRegression(C=c, max_iter=500)
    estimator.fit((table - mean) / spread, y, sample_weight=weights)
    w = estimator.coef_[0] / spread
    matrix = np.zeros((size, size))
    matrix[left, right] = w[size:]
    return Combiner(*ranges, w[:size], matrix, float(estimator.intercept_[0] - w @ mean), silent)


def _spread(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and deviations of columns; infinite where a column is constant."""
    mean = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    spread[spread < 1e-9] = np.inf  # so that a constant input gets no weight
    return mean, spread
