"""Is a difference more than luck: paired randomisation, spread over seeds, many comparisons.

Letters: N documents, S runs (seeds) of a system, K labels that occur, R random draws.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import FloatArray, IntArray, LabelCounts, averages, scores_of
from attending.evaluation.intervals import (
    CELLS_AT_ONCE,
    Interval,
    bootstrap_interval,
    percentile_interval,
    resamples_of,
)

__all__ = [
    "Interval",
    "PairedTest",
    "Spread",
    "bootstrap_interval",
    "holm",
    "mean_and_spread",
    "paired_randomisation",
]

Metric = Callable[[NDArray[Any], NDArray[Any]], float]
PER_LABEL = ("precision", "recall", "f1")
DRAWS = 2000
TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean of values with their spread, each by its name.

    sd is the sample standard deviation (ddof 1), se the standard error of the mean; both are
    ``None`` for a single value.
    """

    mean: float
    sd: float | None
    se: float | None
    n: int
    min: float
    max: float


def mean_and_spread(values: Sequence[float]) -> Spread:
    """Summarise one figure over several runs.

    Raises:
        DataError: If there is no value or one is not a finite number.
    """
    data = np.asarray(values, np.float64)
    if not data.size or not np.isfinite(data).all():
        raise DataError(
            "a mean needs finite values", found=f"{data.size} values", allowed="1 or more"
        )
    n = int(data.size)
    sd = float(data.std(ddof=1)) if n > 1 else None
    se = sd / n**0.5 if sd is not None else None
    return Spread(float(data.mean()), sd, se, n, float(data.min()), float(data.max()))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values of several tests for their number, in the order given.

    Raises:
        DataError: If a p-value is outside 0 to 1.
    Source: Holm 1979.
    """
    p = np.asarray(p_values, np.float64)
    if p.size and not ((p >= 0) & (p <= 1)).all():
        raise DataError("a p-value is outside its range", allowed="0 to 1")
    order = np.argsort(p, kind="stable")
    scaled = np.minimum(1.0, p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(scaled)
    return tuple(float(x) for x in adjusted)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two systems on the same documents.

    Attributes:
        metric: The figure compared, by name (with its label where it is of one label).
        a: The figure of system A, the mean over its runs.
        b: The same of system B.
        difference: a - b.
        interval: Bootstrap interval of the difference, documents drawn with replacement.
        p_value: Two-sided, (1 + as extreme) / (1 + rounds).
        rounds: Random rounds.
        documents: Documents compared.
        differing: Documents on which any pair of runs disagrees.
        runs: Runs of each system.
    """

    metric: str
    a: float
    b: float
    difference: float
    interval: Interval | None
    p_value: float
    rounds: int
    documents: int
    differing: int
    runs: int


def paired_randomisation(
    truth: Sequence[Any] | NDArray[Any],
    a: Sequence[Any] | NDArray[Any],
    b: Sequence[Any] | NDArray[Any],
    metric: str | Metric = "macro_f1",
    *,
    label: Any = None,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two systems differ on the same documents by approximate randomisation.

    truth (N,); a and b (N,) for one run or (S, N) for S seeds, as positions (negative: no
    answer) or as label ids (empty: no answer). In each round the whole columns of A and B, all
    seeds together, change places on a random half of the documents; the statistic is the
    difference of the means over seeds. It asks about the documents: seeds are taken as they are.

    ``metric`` is a name from ``counts.averages``, or "precision", "recall" or "f1" with
    ``label`` (precision of a label never predicted counts 0), or a function of (truth,
    predictions of one run) to a number. Names are counted in bulk; a function is called 2 S
    times a round and as often for each draw of the interval.

    Raises:
        ShapeError: If the shapes don't fit.
        DataError: If the metric or the label is unknown, or there is no document.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    pair = _Pair.of(np.asarray(truth), np.asarray(a), np.asarray(b))
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    score = _Counted(pair, metric, label) if isinstance(metric, str) else _Called(pair, metric)
    first, second = score.observed()
    difference = first - second
    if rounds < 1 or not np.isfinite(difference):
        raise DataError(
            f"{name} can't be compared",
            found=f"{first} and {second} in {rounds} rounds",
            allowed="a metric that is defined for both systems, and 1 round or more",
        )
    width = 2 * pair.runs * len(pair.labels)
    halves = random_halves(pair.documents, rounds, seed, width)
    swapped = np.concatenate([score.swapped(block) for block in halves])
    extreme = int((np.abs(swapped) >= abs(difference) - TIE).sum())
    draws = resamples_of(pair.documents, min(rounds, DRAWS), seed, width)
    drawn = np.concatenate([score.drawn(rows) for rows in draws])
    return PairedTest(
        metric=f"{name} of {label}" if label is not None else name,
        a=first,
        b=second,
        difference=difference,
        interval=percentile_interval(drawn, confidence),
        p_value=(1 + extreme) / (1 + rounds),
        rounds=rounds,
        documents=pair.documents,
        differing=int((pair.a != pair.b).any(axis=0).sum()),
        runs=pair.runs,
    )


def _blank(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark entries that stand for "no answer"."""
    result: NDArray[np.bool_] = values == "" if values.dtype.kind == "U" else values < 0
    return result


def _check_shapes(truth: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    runs = {len(a), len(b)}
    if truth.ndim != 1 or not a.shape[1:] == b.shape[1:] == truth.shape or len(runs - {1}) > 1:
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
    if not truth.size or _blank(truth).any():
        raise DataError(
            "a paired test needs documents that all have a label",
            found=f"{int(_blank(truth).sum())} of {truth.size} without",
        )


@dataclass(frozen=True)
class _Pair:
    """Two systems with labels as positions 0 .. K-1: truth (N,), a and b (S, N), -1 no answer.

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
    def of(cls, truth: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> "_Pair":
        first, second = np.atleast_2d(a), np.atleast_2d(b)
        runs = max(len(first), len(second))
        _check_shapes(truth, first, second)
        # A system without randomness has one run, set against every run of the other.
        first = np.broadcast_to(first, (runs, truth.size))
        second = np.broadcast_to(second, (runs, truth.size))
        values = np.unique(np.concatenate([truth, first.ravel(), second.ravel()]))
        values = values[~_blank(values)]

        def place(x: NDArray[Any]) -> IntArray:
            spot = np.minimum(np.searchsorted(values, x), values.size - 1)
            return np.where(values[spot] == x, spot, -1).astype(np.int64)

        return cls(
            tuple(values.tolist()), place(truth), place(first), place(second), truth, first, second
        )

    @property
    def documents(self) -> int:
        return int(self.truth.size)

    @property
    def runs(self) -> int:
        return len(self.a)


def random_halves(
    documents: int, rounds: int, seed: int, width: int
) -> Iterator[NDArray[np.bool_]]:
    """Draw which documents change places, in blocks (R, N) whose R sum to ``rounds``."""
    rng = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // max(documents, width))
    for start in range(0, rounds, block):
        yield rng.random((min(block, rounds - start), documents)) < 0.5


class _Counted:
    """A metric by name: counts are sums over documents, so draws are matrix products."""

    def __init__(self, pair: _Pair, metric: str, label: Any) -> None:
        self.pair, self.metric = pair, metric
        self.label = self._position(label)
        size = len(pair.labels)
        self.truth = np.eye(size, dtype=np.float32)[pair.truth]
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

    def _features(self, given: IntArray) -> NDArray[np.float32]:
        """Lay out given (S, N) as (N, 2 S K): one-hot answers, then one-hot right answers."""
        size = len(self.pair.labels)
        hot = np.eye(size + 1, dtype=np.float32)[given][..., :size]
        right = hot * (given == self.pair.truth)[..., None]
        both = np.stack([hot, right]).transpose(2, 0, 1, 3)
        return np.ascontiguousarray(both.reshape(self.pair.documents, -1))

    def _score(self, sums: NDArray[Any], support: NDArray[Any]) -> FloatArray:
        """Score sums (R, 2 S K) with support (R, K): the mean over runs, (R,)."""
        cells = sums.reshape(len(sums), 2, self.pair.runs, len(self.pair.labels))
        given, right = np.rint(cells[:, 0]), np.rint(cells[:, 1])
        of = np.broadcast_to(support[:, None, :], given.shape)
        scores = scores_of(
            LabelCounts(right.astype(np.int64), of.astype(np.int64), given.astype(np.int64))
        )
        if self.label is not None:
            values = getattr(scores, self.metric)[..., self.label]
            if self.metric == "precision":
                values = np.nan_to_num(values)
        else:
            values = averages(scores)[self.metric]
        result: FloatArray = np.asarray(values).mean(axis=1)
        return result

    def observed(self) -> tuple[float, float]:
        support = self.truth.sum(axis=0)[None]
        first = self._score(self.a.sum(axis=0)[None], support)
        return float(first[0]), float(self._score(self.b.sum(axis=0)[None], support)[0])

    def swapped(self, halves: NDArray[np.bool_]) -> FloatArray:
        moved = halves.astype(np.float32) @ (self.b - self.a)
        support = self.truth.sum(axis=0)[None]
        first = self._score(self.a.sum(axis=0) + moved, support)
        return first - self._score(self.b.sum(axis=0) - moved, support)

    def drawn(self, rows: IntArray) -> FloatArray:
        size = self.pair.documents
        flat = (np.arange(len(rows))[:, None] * size + rows).ravel()
        times = np.bincount(flat, minlength=len(rows) * size).reshape(len(rows), size)
        weights = times.astype(np.float32)
        support = weights @ self.truth
        return self._score(weights @ self.a, support) - self._score(weights @ self.b, support)


class _Called:
    """A metric given as a function of the truth and the predictions of one run."""

    def __init__(self, pair: _Pair, metric: Metric) -> None:
        self.pair, self.metric = pair, metric

    def _mean(self, truth: NDArray[Any], runs: NDArray[Any]) -> float:
        return float(np.mean([self.metric(truth, run) for run in runs]))

    def observed(self) -> tuple[float, float]:
        pair = self.pair
        return self._mean(pair.raw_truth, pair.raw_a), self._mean(pair.raw_truth, pair.raw_b)

    def swapped(self, halves: NDArray[np.bool_]) -> FloatArray:
        truth, a, b = self.pair.raw_truth, self.pair.raw_a, self.pair.raw_b
        return np.array(
            [
                self._mean(truth, np.where(half, b, a)) - self._mean(truth, np.where(half, a, b))
                for half in halves
            ]
        )

    def drawn(self, rows: IntArray) -> FloatArray:
        truth, a, b = self.pair.raw_truth, self.pair.raw_a, self.pair.raw_b
        return np.array(
            [self._mean(truth[i], a[:, i]) - self._mean(truth[i], b[:, i]) for i in rows]
        )
