"""Operating points: what a recall costs in alerts, and what handing over to people buys.

All are chosen on development documents only; the caller sees to that. Letters: N documents, K
points of a curve.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError
from attending.evaluation.counts import BoolArray, FloatArray
from attending.evaluation.intervals import Interval, wilson_interval
from attending.evaluation.thresholds import RecallPoint, recall_floor_threshold

LEAST_POSITIVES = 5
"""Documents with a label that a recall floor needs at the very least."""
LEAST_KEPT = 20
"""Documents that must be left for an accuracy of what is kept to mean anything."""
FLOORS = (0.8, 0.9, 0.95, 0.98, 1.0)
"""Recalls whose price is shown beside the one asked for."""
_CONFIDENCE = 0.95
_FORCED = 2.0
_MOST_POINTS = 400


def floor_point(
    scores: NDArray[Any],
    truth: NDArray[Any],
    floor: float,
    *,
    forced: BoolArray | None = None,
    surely: bool = False,
) -> RecallPoint | str:
    """Find the threshold with the fewest alerts that keeps a recall, or say why there is none.

    The estimator is the empirical recall, caught / positives, on these documents; its 95 %
    interval is Wilson's. As the documents chose the threshold too, the recall is a little too
    good; the fewer positives, the more.

    Args:
        scores: Probability of the label, (N,).
        truth: Which documents have it, (N,) bool.
        floor: The recall wanted, above 0, at most 1.
        forced: Documents that are alerts whatever their score, (N,) bool: those that another
            floor raised already.
        surely: Whether the lower end of the interval must reach the floor, not the recall alone.

    Raises:
        ShapeError: If lengths differ or a score is not finite.
        DataError: If the floor is out of range.
    """
    true = np.asarray(truth, bool)
    values = np.asarray(scores, np.float64)
    if forced is not None:
        values = np.where(forced, _FORCED, values)
    positives = int(true.sum())
    if positives < LEAST_POSITIVES:
        return (
            f"only {positives} of {len(true):,} rows have the label; at least {LEAST_POSITIVES} "
            "are needed"
        )
    wanted = floor
    if surely:
        caught = _surely(floor, positives)
        if caught is None:
            return (
                f"even all {positives} rows found would leave the lower end of the 95 % interval "
                f"at {_low(positives, positives):.1%}; {_needed(floor)}"
            )
        wanted = caught / positives
    found = recall_floor_threshold(values, true, wanted)
    if isinstance(found, str) or found.threshold <= 1.0:
        return found
    # The forced alerts reach the floor by themselves: no score is needed.
    return RecallPoint(1.0, found.rows, found.positives, found.alerts, found.caught, found.interval)


def _needed(floor: float) -> str:
    """Say how many rows with the label would do, all of them found: n / (n + z^2) >= floor."""
    if floor >= 1:
        return "no number of rows can make 100 % sure"
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    return f"at least {ceil(z * z * floor / (1 - floor))} rows with the label are needed"


def _low(caught: int, positives: int) -> float:
    interval = wilson_interval(caught, positives, _CONFIDENCE)
    return interval.low if interval else 0.0


def _surely(floor: float, positives: int) -> int | None:
    """Return the fewest to catch for the lower end of the interval to reach the floor."""
    if not 0 < floor <= 1:
        raise DataError(
            "a recall floor must be a share", found=str(floor), allowed="above 0 and at most 1"
        )
    first = ceil(floor * positives - 1e-9)
    return next((n for n in range(first, positives + 1) if _low(n, positives) >= floor), None)


def remark_on(floor: float, positives: int) -> str | None:
    """Say what a floor can't mean on so few documents; ``None`` where it can.

    With n positives a recall can only be a multiple of 1 / n: a floor above 1 - 1 / n asks for
    every one of them.
    """
    if floor < 1 and floor * positives > positives - 1 + 1e-9:
        needed = ceil(1 / (1 - floor) - 1e-9)
        return (
            f"of {positives} rows with the label, a recall of {floor:.1%} asks for every one; "
            f"{needed} rows are needed to tell it from 100 %"
        )
    return None


def alternatives(
    scores: NDArray[Any],
    truth: NDArray[Any],
    *,
    forced: BoolArray | None = None,
    floors: Sequence[float] = FLOORS,
) -> list[tuple[float, RecallPoint]]:
    """Return the points of several floors, ascending; none where there are too few positives."""
    points = [(f, floor_point(scores, truth, f, forced=forced)) for f in sorted(set(floors))]
    return [(f, p) for f, p in points if not isinstance(p, str)]


@dataclass(frozen=True, slots=True)
class AlertCurve:
    """Share of documents that raise an alert against recall, ascending, both (K,)."""

    alerts: FloatArray
    recall: FloatArray


def alert_curve(scores: NDArray[Any], truth: NDArray[Any]) -> AlertCurve | None:
    """Return what every threshold would do; ``None`` where no document has the label.

    scores (N,), truth (N,) bool. Documents of equal score come together. At most 400 points.
    """
    true = np.asarray(truth, bool)
    if not true.any():
        return None
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    ranked = np.asarray(scores, np.float64)[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    last = last[np.unique(np.linspace(0, last.size - 1, min(last.size, _MOST_POINTS)).astype(int))]
    found = np.cumsum(true[order])[last] / true.sum()
    return AlertCurve(
        np.concatenate([[0.0], (last + 1) / true.size]), np.concatenate([[0.0], found])
    )


@dataclass(frozen=True, slots=True)
class Band:
    """Documents below ``value`` are handed over to a person; counted on ``rows`` documents.

    ``kept`` of them are answered, ``right`` of those rightly, ``right_in_all`` of all. The
    interval is Wilson's, of the accuracy of what is kept.
    """

    value: float
    rows: int
    kept: int
    right: int
    right_in_all: int

    @property
    def handed_over(self) -> int:
        """Documents for a person."""
        return self.rows - self.kept

    @property
    def share(self) -> float:
        """Share of documents handed over."""
        return self.handed_over / self.rows

    @property
    def accuracy(self) -> float:
        """Share of right answers among those given."""
        return self.right / self.kept if self.kept else 0.0

    @property
    def interval(self) -> Interval | None:
        """How sure the accuracy is."""
        return wilson_interval(self.right, self.kept, _CONFIDENCE)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return asdict(self)


def band_for_share(sure: NDArray[Any], right: NDArray[Any], share: float) -> Band | str:
    """Hand over the least sure documents, at most this share of them, or say why not.

    sure (N,): how sure each answer is; right (N,) bool. Equally sure documents stay together.
    """
    if not len(sure):
        return "there are no rows"
    values = np.sort(np.asarray(sure, np.float64))
    cuts = _cuts(values)
    allowed = cuts[cuts <= share * values.size + 1e-9]
    return _band(values, int(allowed[-1]), sure, right)


def band_for_accuracy(sure: NDArray[Any], right: NDArray[Any], accuracy: float) -> Band | str:
    """Hand over as few as it takes for the others to be right so often, or say why not.

    sure (N,): how sure each answer is; right (N,) bool. At least 20 documents must be kept.
    """
    order = np.argsort(np.asarray(sure, np.float64), kind="stable")
    values, good = np.asarray(sure, np.float64)[order], np.asarray(right, bool)[order]
    cuts = _cuts(values)
    cuts = cuts[values.size - cuts >= LEAST_KEPT]
    if not cuts.size:
        return f"only {values.size} rows; at least {LEAST_KEPT} must be kept"
    after = good.sum() - np.concatenate([[0], np.cumsum(good)])[cuts]
    reached = np.flatnonzero(after >= accuracy * (values.size - cuts) - 1e-9)
    if not reached.size:
        best = float((after / (values.size - cuts)).max())
        return f"no band reaches it: with {LEAST_KEPT} rows or more kept, {best:.1%} at best"
    return _band(values, int(cuts[reached[0]]), sure, right)


def _cuts(values: FloatArray) -> NDArray[np.int64]:
    """Return how many of the sorted values can be cut off from below, equal ones together."""
    return np.concatenate([[0], np.flatnonzero(np.diff(values) > 0) + 1]).astype(np.int64)


def _band(values: FloatArray, cut: int, sure: NDArray[Any], right: NDArray[Any]) -> Band:
    value = 0.0
    if cut:
        middle = float(values[cut - 1] + values[cut]) / 2
        value = middle if middle > values[cut - 1] else float(values[cut])
    kept = np.asarray(sure, np.float64) >= value if cut else np.ones(values.size, bool)
    good = np.asarray(right, bool)
    return Band(value, values.size, int(kept.sum()), int((kept & good).sum()), int(good.sum()))


@dataclass(frozen=True, slots=True)
class CoverageCurve:
    """Accuracy of what is kept against the share kept, from the surest document on, both (K,)."""

    kept: FloatArray
    accuracy: FloatArray


def coverage_curve(sure: NDArray[Any], right: NDArray[Any]) -> CoverageCurve | None:
    """Return what every band would do; ``None`` where there are too few documents to say.

    sure (N,): how sure each answer is; right (N,) bool. Points that keep fewer than 20 documents
    are left out. At most 400 points.
    """
    values = np.asarray(sure, np.float64)
    if values.size < LEAST_KEPT:
        return None
    order = np.argsort(-values, kind="stable")
    ranked, good = values[order], np.asarray(right, bool)[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    last = last[last + 1 >= LEAST_KEPT]
    last = last[np.unique(np.linspace(0, last.size - 1, min(last.size, _MOST_POINTS)).astype(int))]
    return CoverageCurve((last + 1) / values.size, np.cumsum(good)[last] / (last + 1))
