"""How sure a figure is: bootstrap over documents, and Wilson's interval for a share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from attending.errors import DataError
from attending.evaluation.counts import FloatArray, IntArray

CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval at ``confidence``; draws is the number of resamples behind it, else ``None``."""

    low: float
    high: float
    confidence: float
    draws: int | None = None


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not strictly between 0 and 1.

    Raises:
        DataError: If it isn't.
    """
    if not 0 < confidence < 1:
        raise DataError(
            "confidence must be a share", found=str(confidence), allowed="above 0 and below 1"
        )


def resamples_of(rows: int, resamples: int, seed: int, width: int = 1) -> Iterator[IntArray]:
    """Draw row numbers with replacement, in blocks (R, rows) whose R sum to ``resamples``.

    ``width`` is how many numbers the caller keeps for each resample; it bounds the blocks too.
    """
    rng = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // max(rows, width))
    for start in range(0, resamples, block):
        yield rng.integers(0, rows, size=(min(block, resamples - start), rows))


def percentile_interval(draws: FloatArray, confidence: float) -> Interval | None:
    """Cut the tails off draws (R,); undefined (NaN) draws are left out, ``None`` if all are."""
    check_confidence(confidence)
    known = draws[~np.isnan(draws)]
    if not known.size:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence, int(known.size))


def within(interval: Interval | None) -> Interval | None:
    """Cut an interval of a figure between 0 and 1 to what the figure can be."""
    if interval is None:
        return None
    low, high = max(0.0, interval.low), min(1.0, interval.high)
    return replace(interval, low=low, high=high)


def centred(draws: FloatArray, figure: float) -> FloatArray:
    """Move draws (R,) of a figure between 0 and 1 so that their mean is the figure.

    For averages over labels: rare labels fall out of many draws, which lifts an average over the
    labels that occur (and lowers one over all of them), so that a plain percentile interval may
    not hold the figure itself. Undefined draws are left out.
    """
    known = draws[~np.isnan(draws)]
    return np.clip(known - known.mean() + figure, 0.0, 1.0) if known.size else known


def moved(drawn: FloatArray, observed: FloatArray) -> FloatArray:
    """Move draws (R, S) of runs so that the mean of each is its observed figure (S,).

    For averages over labels, or their differences, and the reason that ``centred`` has.
    """
    result: FloatArray = drawn + (observed - np.nanmean(drawn, axis=0))
    return result


def bootstrap_interval(
    rows: int,
    statistic: Callable[[IntArray], FloatArray],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Percentile interval of a statistic over documents drawn with replacement.

    ``statistic`` takes drawn row numbers (R, rows) and returns its values (R,), NaN where it is
    undefined. Draws are not stratified: the mix of labels varies as it would in a new sample.

    Raises:
        DataError: If there is no row or the confidence is not a share.
    Source: Efron 1979.
    """
    if rows < 1:
        raise DataError("a bootstrap needs at least one document", found="0 documents")
    blocks = [statistic(drawn) for drawn in resamples_of(rows, resamples, seed)]
    return percentile_interval(np.concatenate([np.empty(0), *blocks]), confidence)


def wilson_interval(right: int, of: int, confidence: float = 0.95) -> Interval | None:
    """Interval of a share ``right / of``; ``None`` when ``of`` is 0.

    Unlike a bootstrap it doesn't shrink to a point when all or none are right.
    Source: Wilson 1927.
    """
    check_confidence(confidence)
    if of == 0:
        return None
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = right / of, z * z / of
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / of + spread / (4 * of)) ** 0.5
    # The ends are exact at 0 and 1, where rounding would leave a trace.
    low = 0.0 if right == 0 else middle - half
    high = 1.0 if right == of else middle + half
    return Interval(low, high, confidence)
