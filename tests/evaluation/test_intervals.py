"""Bootstrap and Wilson intervals."""

import numpy as np
import pytest

from attending.errors import DataError
from attending.evaluation.intervals import (
    bootstrap_interval,
    percentile_interval,
    resamples_of,
    wilson_interval,
)


def test_wilson_by_hand():
    # z = 1.959964: (0.9 + z^2/20 +- z sqrt(0.09/10 + z^2/400)) / (1 + z^2/10)
    found = wilson_interval(9, 10)
    assert (found.low, found.high) == pytest.approx((0.59585, 0.98212), abs=1e-5)


def test_wilson_does_not_shrink_to_a_point():
    everything, nothing = wilson_interval(34, 34), wilson_interval(0, 34)
    assert everything.high == 1.0 and everything.low == pytest.approx(0.8985, abs=1e-4)
    assert nothing.low == 0.0 and nothing.high == pytest.approx(1 - everything.low)
    assert wilson_interval(0, 0) is None


def test_bootstrap_of_a_mean_agrees_with_its_standard_error():
    values = np.random.default_rng(1).normal(5, 2, 400)
    found = bootstrap_interval(400, lambda rows: values[rows].mean(axis=1), resamples=4000)
    half = 1.96 * values.std() / 400**0.5
    assert found.draws == 4000
    assert found.low == pytest.approx(values.mean() - half, abs=0.02)
    assert found.high == pytest.approx(values.mean() + half, abs=0.02)


def test_bootstrap_is_the_same_for_the_same_seed():
    values = np.arange(50.0)

    def run(seed):
        return bootstrap_interval(50, lambda rows: values[rows].mean(axis=1), seed=seed)

    assert run(3) == run(3) and run(3) != run(4)


def test_blocks_sum_to_the_number_asked_for():
    blocks = list(resamples_of(1000, 4500, 0))
    assert len(blocks) > 1
    assert sum(len(b) for b in blocks) == 4500
    assert all(len(b) <= 10 for b in resamples_of(5, 100, 0, width=200_000))


def test_undefined_draws_are_left_out():
    found = percentile_interval(np.array([np.nan, 1.0, 1.0]), 0.9)
    assert (found.low, found.high, found.draws) == (1.0, 1.0, 2)
    assert percentile_interval(np.array([np.nan]), 0.9) is None


def test_bad_settings_are_refused():
    with pytest.raises(DataError, match="confidence"):
        wilson_interval(1, 2, 1.0)
    with pytest.raises(DataError, match="at least one document"):
        bootstrap_interval(0, lambda rows: rows.mean(axis=1))
