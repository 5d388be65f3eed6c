"""One temperature for all document-label cells."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from attending.errors import ShapeError
from attending.evaluation import cell_temperature as c


def cells(rows=200, sharpen=1.0, seed=0):
    """Logits that are right about themselves, then multiplied by ``sharpen``."""
    random = np.random.default_rng(seed)
    logits = random.normal(-1, 1.5, (rows, 20))
    return logits * sharpen, random.random((rows, 20)) < expit(logits)


@pytest.mark.parametrize("sharpen", [0.25, 1.0, 4.0])
def test_it_recovers_the_factor(sharpen):
    logits, truth = cells(sharpen=sharpen)
    found = c.fit_cell_temperature(logits, truth)
    assert found.reason is None and found.value == pytest.approx(sharpen, rel=0.1)
    assert found.after <= found.before + 1e-12
    assert found.before == pytest.approx(log_loss(truth.ravel(), expit(logits).ravel()))
    grid = [log_loss(truth.ravel(), expit(logits / x).ravel()) for x in np.geomspace(0.1, 10, 30)]
    assert found.after <= min(grid) + 1e-9


def test_blocks_change_nothing(monkeypatch):
    logits, truth = cells(sharpen=2.0)
    whole = c.fit_cell_temperature(logits, truth)
    monkeypatch.setattr(c, "CELLS_AT_ONCE", 60)
    assert c.fit_cell_temperature(logits, truth).value == pytest.approx(whole.value, rel=1e-4)


@pytest.mark.parametrize(
    ("logits", "truth", "why"),
    [
        (*cells(19), "19 rows"),
        (cells(30)[0], np.zeros((30, 20), bool), "no row has a label"),
        (cells(30)[0], np.ones((30, 20), bool), "every label"),
        (np.zeros((30, 20)), cells(30)[1], "all 0"),
        (np.where(cells(30)[1], 2.0, -3.0), cells(30)[1], "answered right"),
        (np.zeros((0, 3)), np.zeros((0, 3), bool), "0 rows"),
    ],
)
def test_it_stays_one_with_a_reason(logits, truth, why):
    found = c.fit_cell_temperature(logits, truth)
    assert found.value == 1.0 and why in found.reason


def test_it_refuses_what_does_not_fit():
    with pytest.raises(ShapeError):
        c.fit_cell_temperature(np.zeros((30, 3)), np.zeros((30, 2), bool))
    with pytest.raises(ShapeError):
        c.fit_cell_temperature(np.full((30, 3), np.nan), np.zeros((30, 3), bool))
