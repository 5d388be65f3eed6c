"""Is a difference more than luck: paired randomisation, spread over seeds, many comparisons.

Letters: N documents, S runs (seeds) of a system, K labels that occur, R random draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import FloatArray, over_labels
from attending.evaluation.intervals import (
    Interval,
    bootstrap_interval,
    moved,
    percentile_interval,
    resamples_of,
    within,
)
from attending.evaluation.pairs import Called, Counted, Metric, Pair, random_halves

__all__ = [
    "Interval",
    "PairedTest",
    "SeedTest",
    "Spread",
    "bootstrap_interval",
    "holm",
    "mean_and_spread",
    "mean_interval",
    "paired_over_seeds",
    "paired_randomisation",
]

DRAWS = 2000
TIE = 1e-12
_ALL_SIGNS = 14
"""Up to so many seeds, every way to turn signs is looked at."""


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
class SeedTest:
    """Two systems on the same seeds.

    Attributes:
        difference: Mean of the differences, one a seed.
        p_value: Two-sided.
        least: The smallest p-value that so many seeds can give.
        seeds: Number of seeds.
        ahead: Seeds on which the first system is ahead.
        behind: Seeds on which it is behind.
    """

    difference: float
    p_value: float
    least: float
    seeds: int
    ahead: int
    behind: int


def paired_over_seeds(
    a: Sequence[float], b: Sequence[float], *, rounds: int = 10_000, seed: int = 0
) -> SeedTest:
    """Test whether two systems differ over training seeds, by turning signs of the differences.

    a and b hold one figure a seed, in the same order. If the systems were equally good, either
    could have got either figure of a seed, so the sign of each difference is as good as random.
    Up to 14 seeds every combination of signs is counted, else ``rounds`` random ones. It asks
    about seeds: the documents are taken as they are. S seeds can't give less than 2 / 2^S: five
    seeds that all agree have p = 0.0625.

    Raises:
        ShapeError: If there are not as many figures in both.
        DataError: If there is no seed, or a figure is not finite.
    Source: Fisher 1935, section 21; ``scipy.stats.permutation_test`` with
    ``permutation_type="samples"``.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(
            "the systems have not as many seeds", found=f"{first.shape} and {second.shape}"
        )
    differences = first - second
    if not differences.size or not np.isfinite(differences).all():
        raise DataError("seeds can't be compared", found=f"{differences.size} finite differences")
    n = int(differences.size)
    observed = float(differences.mean())
    if n <= _ALL_SIGNS:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
        p = float((np.abs(signs @ differences) / n >= abs(observed) - TIE).mean())
        least = min(1.0, 2.0 / 2**n)
    else:
        signs = np.random.default_rng(seed).choice((1.0, -1.0), size=(rounds, n))
        extreme = int((np.abs(signs @ differences) / n >= abs(observed) - TIE).sum())
        p, least = (1 + extreme) / (1 + rounds), 1 / (1 + rounds)
    ahead, behind = int((differences > TIE).sum()), int((differences < -TIE).sum())
    return SeedTest(observed, p, least, n, ahead, behind)


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
        with_seeds: Bootstrap interval of the difference, documents and runs drawn with
            replacement; ``None`` for a single run.
        draws: The differences behind ``with_seeds`` (those behind ``interval`` for a single run).
        a_runs: The figure of every run of system A.
        b_runs: The same of system B.
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
    with_seeds: Interval | None = None
    draws: tuple[float, ...] = ()
    a_runs: tuple[float, ...] = ()
    b_runs: tuple[float, ...] = ()


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
    answer) or as label ids (empty: no answer). Where every seed has a test part of its own, truth
    is (S, N) over all documents, blank (negative or empty) where a document isn't in a seed's
    part. In each round the whole columns of A and B, all seeds together, change places on a
    random half of the documents; the statistic is the difference of the means over seeds. It
    asks about the documents: seeds are taken as they are.

    ``metric`` is a name from ``counts.averages``, or "precision", "recall" or "f1" with
    ``label`` (precision of a label never predicted counts 0), or a function of (truth,
    predictions of one run) to a number. Names are counted in bulk; a function is called 2 S
    times a round and as often for each draw of the interval. Draws of means over labels
    ("macro_...") are moved so that their mean is the difference (``intervals.centred``).

    Raises:
        ShapeError: If the shapes don't fit.
        DataError: If the metric or the label is unknown, or there is no document.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    pair = Pair.of(np.asarray(truth), np.asarray(a), np.asarray(b))
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    score = Counted(pair, metric, label) if isinstance(metric, str) else Called(pair, metric)
    runs = score.observed()
    first, second = (float(x.mean()) for x in runs)
    difference = first - second
    require_comparable(name, first, second, rounds)
    width = 2 * pair.runs * len(pair.labels)
    halves = random_halves(pair.documents, rounds, seed, width)
    swapped = np.concatenate([score.swapped(block) for block in halves])
    extreme = int((np.abs(swapped) >= abs(difference) - TIE).sum())
    draws = resamples_of(pair.documents, min(rounds, DRAWS), seed, width)
    blocks = [score.drawn(rows) for rows in draws]
    drawn = np.concatenate([left - right for left, right in blocks])
    if isinstance(metric, str) and over_labels(metric):
        drawn = moved(drawn, runs[0] - runs[1])
    both = over_runs(drawn, seed)
    return PairedTest(
        metric=f"{name} of {label}" if label is not None else name,
        a=first,
        b=second,
        difference=difference,
        interval=percentile_interval(drawn.mean(axis=1), confidence),
        p_value=(1 + extreme) / (1 + rounds),
        rounds=rounds,
        documents=pair.documents,
        differing=pair.differing,
        runs=pair.runs,
        with_seeds=percentile_interval(both, confidence) if pair.runs > 1 else None,
        draws=tuple(both.tolist()),
        a_runs=tuple(runs[0].tolist()),
        b_runs=tuple(runs[1].tolist()),
    )


def require_comparable(name: str, first: float, second: float, rounds: int) -> None:
    """Refuse a comparison of what is undefined, or without a round.

    Raises:
        DataError: If it is one.
    """
    if rounds < 1 or not np.isfinite(first - second):
        raise DataError(
            f"{name} can't be compared",
            found=f"{first} and {second} in {rounds} rounds",
            allowed="a metric that is defined for both systems, and 1 round or more",
        )


def over_runs(drawn: FloatArray, seed: int) -> FloatArray:
    """Average (R, S) over runs that are drawn with replacement as well, (R,).

    With drawn documents behind the rows, the result varies as it would with another sample of
    documents and with other seeds. Of a single run nothing can be drawn: it is returned as it is.
    """
    rounds, runs = drawn.shape
    rng = np.random.default_rng([seed, runs])
    chosen = rng.integers(0, runs, size=(rounds, runs))
    result: FloatArray = np.take_along_axis(drawn, chosen, axis=1).mean(axis=1)
    return result


def mean_interval(
    truth: Sequence[Any] | NDArray[Any],
    runs: Sequence[Any] | NDArray[Any],
    metric: str = "macro_f1",
    *,
    label: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Bootstrap interval of a system's mean over runs; documents and runs are drawn.

    truth, runs, ``metric`` and ``label`` are as in ``paired_randomisation``. With a single run,
    documents alone are drawn.

    Raises:
        ShapeError: If the shapes don't fit.
        DataError: If the metric or the label is unknown, or there is no document.
    """
    given = np.asarray(runs)
    pair = Pair.of(np.asarray(truth), given, given)
    score = Counted(pair, metric, label)
    width = 2 * pair.runs * len(pair.labels)
    blocks = [score.drawn(r)[0] for r in resamples_of(pair.documents, draws, seed, width)]
    drawn = np.concatenate(blocks)
    if over_labels(metric):
        drawn = moved(drawn, score.observed()[0])
    return within(percentile_interval(over_runs(drawn, seed), confidence))
