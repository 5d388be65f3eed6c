"""How scores become labels is settled on development rows, and on nothing else."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from attending.errors import TrainingError
from attending.evaluation.calibration import fit_temperature
from attending.evaluation.cell_temperature import fit_cell_temperature
from attending.evaluation.thresholds import best_threshold, per_label_thresholds
from attending.models.base import Scored
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Coverage, Document, LabelSet
from attending.training.settle import settle, untuned

LABELS = LabelSet.from_ids(["a", "b", "c", "d"])
COUNTS = {"a": 40, "b": 20, "c": 5, "d": 0}
DOCUMENTS = 50
READ = Coverage(1, 1, 1)


class Known:
    """A model whose scores are known."""

    labels = LABELS

    def __init__(self, logits):
        self.logits = logits
        self.decision = Decision()

    def scores(self, rows, *, progress=None):
        assert len(rows) == len(self.logits)
        return [
            Scored("empty_text", Coverage(0, 0, 0)) if x is None else Scored("ok", READ, x)
            for x in self.logits
        ]


def recipe(decoder=None, loss=None):
    table = {"decoder": decoder or {"kind": "threshold"}}
    if loss is not None:
        table["loss"] = loss
    settings = {f"{slot}.{key}": v for slot, body in table.items() for key, v in body.items()}
    return Recipe.load("bert" if loss else "tfidf-svm").override(settings)


def cells(rows=60, seed=0, offset=0.0):
    """Logits of which labels are drawn, ``offset`` too high; label ``d`` never occurs."""
    random = np.random.default_rng(seed)
    logits = random.normal([0, -1, -2, -9], 1.5, (rows, 4))
    truth = random.random((rows, 4)) < expit(logits)
    truth[:, 3] = False
    return logits + offset, truth


def documents(truth):
    return [
        Document(str(i), "words", tuple(LABELS.ids[k] for k in np.flatnonzero(row)))
        for i, row in enumerate(truth)
    ]


def settled(spec, logits, truth, **more):
    model = Known(list(logits))
    decision, metrics, reason = settle(model, documents(truth), spec, COUNTS, DOCUMENTS, **more)
    assert model.decision is decision and decision.note == reason
    return decision, metrics, reason


# Many labels.


def test_temperature_and_threshold_come_from_development_rows():
    logits, truth = cells()
    decision, metrics, reason = settled(recipe(), logits, truth)
    assert reason is None
    assert decision.temperature == fit_cell_temperature(logits, truth).value
    probabilities = expit(logits / decision.temperature)
    best = best_threshold(probabilities, truth)
    assert decision.threshold == best.value and not decision.thresholds
    assert metrics["micro_f1"] == pytest.approx(best.figure)


def test_one_threshold_a_label():
    logits, truth = cells()
    spec = recipe({"kind": "threshold", "tune": "per-label", "shrinkage": 3, "metric": "macro_f1"})
    decision, _, _ = settled(spec, logits, truth)
    probabilities = decision.probabilities(logits)
    shared = best_threshold(probabilities, truth, "macro_f1").value
    own = per_label_thresholds(probabilities, truth, shared=shared, shrinkage=3)
    assert decision.threshold == shared
    assert decision.thresholds == dict(zip("abc", own.tolist(), strict=False))


def test_settings_can_leave_everything_as_it_is():
    logits, truth = cells()
    spec = recipe({"kind": "threshold", "tune": "none", "threshold": 0.3, "calibrate": "none"})
    decision, _, reason = settled(spec, logits, truth)
    assert decision == Decision("threshold", threshold=0.3) and reason is None


def test_the_shift_of_the_loss_is_undone_before_anything_is_fitted():
    """Logits too high by log(alpha) end in the same decision as right ones without a shift."""
    alpha = (4 * DOCUMENTS - 65) / 65
    logits, truth = cells(offset=math.log(alpha))
    shifted, more, _ = settled(recipe(loss={"kind": "balanced-bce"}), logits, truth)
    assert shifted.shift == pytest.approx(-math.log(alpha))
    right, figures, _ = settled(recipe(loss={"kind": "bce"}), *cells())
    assert right.shift == 0
    assert shifted.temperature == pytest.approx(right.temperature)
    assert shifted.threshold == pytest.approx(right.threshold)
    assert more == pytest.approx(figures)


def test_k_is_the_rounded_mean_of_training_documents_unless_set():
    logits, truth = cells()
    decision, _, _ = settled(recipe({"kind": "top-k"}), logits, truth)
    assert decision.k == 1  # 65 labels in 50 documents
    assert untuned(recipe({"kind": "top-k"}), LABELS, COUNTS, 26).k == 3  # 2.5
    assert untuned(recipe({"kind": "top-k"}), LABELS, COUNTS, 3).k == 4  # no more than there are
    assert untuned(recipe({"kind": "top-k", "k": 2}), LABELS, COUNTS, 26).k == 2


def test_rows_that_were_not_read_are_left_out_of_the_fit_and_count_in_the_score():
    logits, truth = cells()
    decision, metrics, _ = settled(recipe(), logits, truth)
    unread, also = [*logits, None, None], np.concatenate([truth, np.eye(4, dtype=bool)[:2]])
    again, worse, _ = settled(recipe(), unread, also)
    assert again == decision
    assert worse["micro_f1"] < metrics["micro_f1"]


def test_no_development_rows():
    decision, metrics, reason = settled(recipe(), [], np.zeros((0, 4), bool))
    assert (decision.temperature, decision.threshold, metrics) == (1.0, 0.5, {})
    assert "not calibrated: no development rows" in reason
    assert "no threshold is tuned: no development rows; it is 0.5" in reason


def test_no_true_cell():
    spec = recipe({"kind": "threshold", "threshold": 0.4, "tune": "per-label"})
    decision, _, reason = settled(spec, cells()[0], np.zeros((60, 4), bool))
    assert (decision.temperature, decision.threshold, decision.thresholds) == (1.0, 0.4, {})
    assert "no document truly has a label among the development rows; it is 0.4" in reason


def test_few_true_cells_are_said():
    logits, truth = cells(25, seed=2)
    truth[:] = False
    truth[0, 0] = truth[3, 1] = True
    decision, _, reason = settled(recipe({"kind": "threshold", "calibrate": "none"}), logits, truth)
    assert reason == "the threshold rests on only 2 labels of development rows"
    assert decision.threshold != 0.5


def test_nothing_of_the_training_rows_but_counts_is_needed():
    """Settling reads the scores of development rows once, and no other rows."""
    asked = []
    logits, truth = cells()
    model = Known(list(logits))
    scores = model.scores
    model.scores = lambda rows, **more: asked.append(rows) or scores(rows, **more)
    rows = documents(truth)
    settle(model, rows, recipe(), COUNTS, DOCUMENTS)
    assert len(asked) == 1 and asked[0] is rows


# One label.


def test_a_single_label_recipe_gets_its_temperature():
    random = np.random.default_rng(0)
    logits = random.normal(size=(60, 4)) * 3
    targets = logits.argmax(axis=1)
    targets[:20] = random.integers(0, 4, 20)
    spec = Recipe.load("bert")
    decision, metrics, reason = settled(spec, logits, np.eye(4, dtype=bool)[targets])
    assert reason is None
    assert decision == Decision(temperature=fit_temperature(logits, targets).value)
    assert set(metrics) == {"macro_f1", "accuracy", "log_loss"}


def test_why_there_is_no_temperature():
    _, _, reason = settled(Recipe.load("bert"), [], np.zeros((0, 4), bool))
    assert reason == "probabilities are not calibrated: no development rows"
    logits = np.eye(4)[:3]
    decision, _, reason = settled(Recipe.load("bert"), logits, np.eye(4, dtype=bool)[:3])
    assert "only 3 rows" in reason and decision.temperature == 1
    off = Recipe.load("bert").override({"decoder.calibrate": "none"})
    assert settled(off, logits, np.eye(4, dtype=bool)[:3])[2] is None


# Before anything is fitted.


def test_without_a_training_label_there_is_nothing_to_decide():
    for counts, rows in (({}, 3), (COUNTS, 0)):
        with pytest.raises(TrainingError, match="no training row has a label"):
            untuned(recipe(loss={"kind": "balanced-bce"}), LABELS, counts, rows)


def test_where_every_row_has_every_label_there_is_nothing_to_balance():
    one = LabelSet.from_ids(["a"])
    with pytest.raises(TrainingError, match="every row has every label"):
        untuned(recipe(loss={"kind": "balanced-bce"}), one, {"a": 7}, 7)
    assert untuned(recipe(loss={"kind": "bce"}), one, {"a": 7}, 7).shift == 0


def test_a_loss_of_another_package_may_say_its_shift(monkeypatch):
    spec = recipe()
    own = SimpleNamespace(shift=lambda counts, rows: float(sum(counts) + rows))
    monkeypatch.setattr(Recipe, "get", lambda self, slot: own if slot == "loss" else None)
    assert untuned(spec, LABELS, COUNTS, DOCUMENTS).shift == 115


def test_the_published_decision_is_the_uncorrected_one_half():
    labels = LabelSet.from_ids(["a", "b", "c", "d"])
    counts = {"a": 4, "b": 1, "c": 1, "d": 0}
    published = untuned(Recipe.load("label-description-as-published"), labels, counts, 4)
    assert (published.shift, published.threshold) == (0.0, 0.5)
    assert untuned(Recipe.load("encoder-baseline"), labels, counts, 4).shift < 0
