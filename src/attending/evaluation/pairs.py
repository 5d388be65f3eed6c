"""Two systems' answers laid out so that thousands of random draws become matrix products.

Letters: N documents, S runs (seeds) of a system, K labels that occur, R random draws. A document
need not be in every run's test part: runs with splits of their own leave most of each other out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import FloatArray, IntArray, LabelCounts, averages, scores_of
from attending.evaluation.intervals import CELLS_AT_ONCE

Metric = Callable[[NDArray[Any], NDArray[Any]], float]
PER_LABEL = ("precision", "recall", "f1")


def _blank(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark entries that stand for "no answer", in a truth for "not in this run"."""
    result: NDArray[np.bool_] = values == "" if values.dtype.kind == "U" else values < 0
    return result


def _check_shapes(truth: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    runs = {len(a), len(b)}
    if truth.ndim == 2:
        fits = a.shape == b.shape == truth.shape
    else:
        fits = a.shape[1:] == b.shape[1:] == truth.shape and len(runs - {1}) <= 1
    if not fits:
        raise ShapeError(
            "the systems don't fit the truth or each other",
            found=f"truth {truth.shape}, systems {a.shape} and {b.shape}",
            allowed="(documents,) or (runs, documents), as many runs in both or one in one",
        )
    kinds = {x.dtype.kind for x in (truth, a, b)}
    if not (kinds <= {"i", "u"} or kinds == {"U"}):
        raise ShapeError(
            "truth and predictions must be of one kind",
            found=", ".join(sorted(str(x.dtype) for x in (truth, a, b))),
            allowed="all positions, or all label ids",
        )
    blank = _blank(truth)
    if not truth.size or (blank.any() if truth.ndim == 1 else blank.all(axis=1).any()):
        raise DataError(
            "a paired test needs documents that all have a label",
            found=f"{int(blank.sum())} of {truth.size} without",
        )


@dataclass(frozen=True)
class Pair:
    """Two systems with labels as positions 0 .. K-1.

    truth, a and b are (S, N); -1 is "no answer" in a and b, "not in this run" in truth.
    raw_truth, raw_a and raw_b are the same as they came, for metrics given as functions.
    """

    labels: tuple[Any, ...]
    truth: IntArray
    a: IntArray
    b: IntArray
    raw_truth: NDArray[Any]
    raw_a: NDArray[Any]
    raw_b: NDArray[Any]

    @classmethod
    def of(cls, truth: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> "Pair":
        """Lay out truth (N,) or (S, N) and two systems (N,) or (S, N).

        Raises:
            ShapeError: If they don't fit each other.
            DataError: If a document has no label, or a run no document.
        """
        if truth.ndim == 1:
            a, b = np.atleast_2d(a), np.atleast_2d(b)
        _check_shapes(truth, a, b)
        # A system without randomness has one run, set against every run of the other.
        shape = (max(len(a), len(b)), truth.shape[-1])
        every, first, second = (np.broadcast_to(x, shape) for x in (truth, a, b))
        values = np.unique(np.concatenate([x.ravel() for x in (every, first, second)]))
        values = values[~_blank(values)]

        def place(x: NDArray[Any]) -> IntArray:
            spot = np.minimum(np.searchsorted(values, x), values.size - 1)
            return np.where(values[spot] == x, spot, -1).astype(np.int64)

        return cls(
            tuple(values.tolist()), place(every), place(first), place(second), every, first, second
        )

    @property
    def documents(self) -> int:
        """How many documents there are in all runs, N."""
        return int(self.truth.shape[1])

    @property
    def runs(self) -> int:
        """How many runs there are, S."""
        return len(self.truth)

    @property
    def differing(self) -> int:
        """On how many documents a pair of runs disagrees."""
        return int(((self.a != self.b) & (self.truth >= 0)).any(axis=0).sum())


def random_halves(
    documents: int, rounds: int, seed: int, width: int
) -> Iterator[NDArray[np.bool_]]:
    """Draw which documents change places, in blocks (R, N) whose R sum to ``rounds``."""
    rng = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // max(documents, width))
    for start in range(0, rounds, block):
        yield rng.random((min(block, rounds - start), documents)) < 0.5


class Counted:
    """A metric by name: counts are sums over documents, so draws are matrix products.

    Raises:
        DataError: If the metric is unknown, or its label doesn't occur.
    """

    def __init__(self, pair: Pair, metric: str, label: Any) -> None:
        self.pair, self.metric = pair, metric
        self.label = self._position(label)
        self.truth = self._hot(pair.truth)
        self.a, self.b = self._features(pair.a), self._features(pair.b)

    def _position(self, label: Any) -> int | None:
        """Return the place of the label a metric is of, after checking that they go together."""
        if self.metric in PER_LABEL:
            if label not in self.pair.labels:
                raise DataError(
                    f'the metric "{self.metric}" needs a label that occurs',
                    found=repr(label),
                    allowed=", ".join(str(x) for x in self.pair.labels[:20]),
                )
            return self.pair.labels.index(label)
        known = averages(scores_of(LabelCounts.of(np.eye(2, dtype=np.int64))))
        if self.metric not in known or label is not None:
            raise DataError(
                f'the metric "{self.metric}" is not known'
                + ("" if label is None else " for one label"),
                allowed=", ".join([*known, *(f"{x} with a label" for x in PER_LABEL)]),
            )
        return None

    def _one_hot(self, given: IntArray) -> NDArray[np.float32]:
        size = len(self.pair.labels)
        hot: NDArray[np.float32] = np.eye(size + 1, dtype=np.float32)[given][..., :size]
        return hot

    def _hot(self, given: IntArray) -> NDArray[np.float32]:
        """Lay out (S, N) as (N, S K)."""
        hot = self._one_hot(given).transpose(1, 0, 2)
        return np.ascontiguousarray(hot.reshape(self.pair.documents, -1))

    def _features(self, given: IntArray) -> NDArray[np.float32]:
        """Lay out given (S, N) as (N, 2 S K): one-hot answers, then one-hot right answers."""
        kept = np.where(self.pair.truth >= 0, given, -1)
        right = np.where(kept == self.pair.truth, kept, -1)
        return np.hstack([self._hot(kept), self._hot(right)])

    def _score(self, sums: NDArray[Any], support: NDArray[Any]) -> FloatArray:
        """Score sums (R, 2 S K) with support (R, S K): every run, (R, S)."""
        shape = (len(sums), self.pair.runs, len(self.pair.labels))
        cells = np.rint(sums).astype(np.int64).reshape(len(sums), 2, *shape[1:])
        of = np.broadcast_to(np.rint(support).astype(np.int64).reshape(-1, *shape[1:]), shape)
        scores = scores_of(LabelCounts(cells[:, 1], of, cells[:, 0]))
        if self.label is None:
            return np.asarray(averages(scores)[self.metric])
        values: FloatArray = getattr(scores, self.metric)[..., self.label]
        return np.nan_to_num(values) if self.metric == "precision" else values

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return the figure of every run of both systems, each (S,)."""
        support = self.truth.sum(axis=0)[None]
        first = self._score(self.a.sum(axis=0)[None], support)
        return first[0], self._score(self.b.sum(axis=0)[None], support)[0]

    def swapped(self, halves: NDArray[np.bool_]) -> FloatArray:
        """Return the difference of means where documents change places, (R,)."""
        moved = halves.astype(np.float32) @ (self.b - self.a)
        support = self.truth.sum(axis=0)[None]
        first = self._score(self.a.sum(axis=0) + moved, support)
        second = self._score(self.b.sum(axis=0) - moved, support)
        result: FloatArray = first.mean(axis=1) - second.mean(axis=1)
        return result

    def drawn(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the figure of every run of both systems on drawn documents, each (R, S)."""
        size = self.pair.documents
        flat = (np.arange(len(rows))[:, None] * size + rows).ravel()
        times = np.bincount(flat, minlength=len(rows) * size).reshape(len(rows), size)
        weights = times.astype(np.float32)
        support = weights @ self.truth
        return self._score(weights @ self.a, support), self._score(weights @ self.b, support)


class Called:
    """A metric given as a function of the truth and the predictions of one run."""

    def __init__(self, pair: Pair, metric: Metric) -> None:
        self.pair, self.metric = pair, metric

    def _runs(self, truth: NDArray[Any], given: NDArray[Any]) -> list[float]:
        judged = ~_blank(truth)
        return [self.metric(t[m], g[m]) for t, g, m in zip(truth, given, judged, strict=True)]

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return the figure of every run of both systems, each (S,)."""
        pair = self.pair
        first = self._runs(pair.raw_truth, pair.raw_a)
        return np.array(first), np.array(self._runs(pair.raw_truth, pair.raw_b))

    def swapped(self, halves: NDArray[np.bool_]) -> FloatArray:
        """Return the difference of means where documents change places, (R,)."""
        truth, a, b = self.pair.raw_truth, self.pair.raw_a, self.pair.raw_b
        pairs = [
            (self._runs(truth, np.where(half, b, a)), self._runs(truth, np.where(half, a, b)))
            for half in halves
        ]
        return np.array([np.mean(first) - np.mean(second) for first, second in pairs])

    def drawn(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the figure of every run of both systems on drawn documents, each (R, S)."""
        truth, a, b = self.pair.raw_truth, self.pair.raw_a, self.pair.raw_b
        first = np.array([self._runs(truth[:, i], a[:, i]) for i in rows])
        return first, np.array([self._runs(truth[:, i], b[:, i]) for i in rows])
