"""Vector scaling helps where labels are off by different amounts, and is refused elsewhere."""

import numpy as np
import pytest

from attending.evaluation.calibration import fit_temperature, log_loss, softmax
from attending.evaluation.vector_scaling import fit_vector_scaling


def sample(rows=600, seed=0):
    """Logits of which targets are drawn."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 2, (rows, 3))
    drawn = (softmax(logits).cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    return logits, drawn


def test_what_was_done_to_the_logits_is_undone():
    logits, targets = sample(4000)
    found = fit_vector_scaling(logits * [2.0, 0.5, 1.0] + [0.0, 2.0, -1.0], targets)
    assert found.reason is None
    assert found.scales == pytest.approx((0.5, 2.0, 1.0), rel=0.15)
    back = logits * [2.0, 0.5, 1.0] + [0.0, 2.0, -1.0]
    fitted = softmax(back * np.array(found.scales) + np.array(found.biases))
    assert log_loss(fitted, targets) == pytest.approx(log_loss(softmax(logits), targets), abs=0.01)
    assert found.vector < found.temperature
    assert np.mean(found.biases) == pytest.approx(0, abs=1e-9)


def test_it_is_refused_where_one_temperature_does():
    logits, targets = sample(400)
    found = fit_vector_scaling(logits * 3.0, targets)
    assert (found.scales, found.biases) == ((), ())
    assert "with one temperature" in found.reason


def test_it_needs_rows_of_every_label():
    logits, targets = sample(60)
    targets[targets == 2] = 1
    targets[:3] = 2
    assert "a label has only 3 rows" in fit_vector_scaling(logits, targets).reason


def test_it_needs_what_a_temperature_needs():
    logits, targets = sample(12)
    reason = fit_temperature(logits, targets).reason
    assert fit_vector_scaling(logits, targets).reason == reason and "12 rows" in reason
