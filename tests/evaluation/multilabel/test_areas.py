"""Areas under curves and thresholds: against scikit-learn, ties and missing scores included."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from attending.evaluation.multilabel.areas import areas
from attending.evaluation.multilabel.calibration import cell_calibration, mean_of_assigned


def sparse(scores, kept):
    """Keep the best ``kept`` scores of each row; return them sparse, and dense with the rest -1."""
    from scipy.sparse import csr_array

    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    rows = np.repeat(np.arange(len(scores)), kept)
    cells = (rows, order.ravel())
    dense = np.full(scores.shape, -1.0)
    dense[cells] = scores[cells]
    return csr_array((scores[cells], cells), shape=scores.shape), dense


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kept", [3, 12])
def test_areas_agree_with_scikit_learn(random_case, outcome_of, ties, kept):
    truth, _, scores = random_case(2, ties=ties)
    truth[:, 4] = 0
    truth[:, 5] = 1
    stored, dense = sparse(scores, kept)
    found = areas(outcome_of(truth, np.zeros_like(truth), stored))
    for name, theirs in (
        ("roc_auc", roc_auc_score),
        ("average_precision", average_precision_score),
    ):
        ours = getattr(found, name)
        assert ours.micro == pytest.approx(theirs(truth.ravel(), dense.ravel()))
        some = [k for k in range(12) if 0 < truth[:, k].sum() < len(truth)]
        values = [theirs(truth[:, k], dense[:, k]) for k in some]
        assert [ours.per_label[k] for k in some] == pytest.approx(values)
        assert ours.macro == pytest.approx(np.mean(values))
        assert ours.per_label[4] is None and ours.per_label[5] is None
        assert (ours.defined, ours.labels) == (len(some), 12)
        assert ours.reasons[4] != ours.reasons[5]


def test_thresholds_do_what_the_curve_says(random_case, outcome_of):
    truth, assigned, scores = random_case(4, ties=True)
    found = areas(outcome_of(truth, assigned, scores))
    assert len(found.curve) > 5
    for point in found.curve:
        given = scores >= point.threshold
        assert point.f1 == pytest.approx(f1_score(truth, given, average="micro"))
        assert point.labels_per_document == pytest.approx(given.sum(axis=1).mean())
        assert point.precision == pytest.approx(truth[given].mean())
        assert point.recall == pytest.approx(given[truth == 1].mean())
    every = [f1_score(truth, scores >= t, average="micro") for t in np.unique(scores)]
    assert found.best.f1 == pytest.approx(max(every))


def test_calibration_is_over_all_cells(random_case, outcome_of):
    truth, assigned, scores = random_case(5)
    found = cell_calibration(outcome_of(truth, assigned, scores))
    assert found.brier == pytest.approx(((scores - truth) ** 2).mean())
    assert sum(b.count for b in found.bins) == truth.size
    place = np.minimum(np.ceil(scores * 15).astype(int) - 1, 14).clip(0)
    gap = sum(
        (place == b).sum() * abs(scores[place == b].mean() - truth[place == b].mean())
        for b in np.unique(place)
    )
    assert found.ece == pytest.approx(gap / truth.size)
    assert mean_of_assigned(outcome_of(truth, assigned, scores)) == pytest.approx(
        scores[assigned == 1].mean()
    )


def test_calibration_needs_every_probability(random_case, outcome_of):
    truth, assigned, scores = random_case(6)
    nothing = np.zeros_like(truth)
    assert "best 3 of 12" in cell_calibration(outcome_of(truth, nothing, sparse(scores, 3)[0]))
    assert "not probabilities" in cell_calibration(outcome_of(truth, assigned, scores * 9))
    assert mean_of_assigned(outcome_of(truth, assigned, scores * 9)) is None
