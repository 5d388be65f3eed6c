"""Losses of single-label recipes."""

import math

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from attending import registry
from attending.errors import ShapeError, TrainingError
from attending.parts.losses import (
    CrossEntropyLoss,
    FocalCrossEntropyLoss,
    LogitAdjustedLoss,
    MarginLoss,
    build_cross_entropy,
    build_ldam,
    build_logit_adjusted,
    class_weights,
)
from attending.records import LabelSet
from attending.specs import (
    CrossEntropy,
    FocalCrossEntropy,
    LogitAdjustedCrossEntropy,
    MarginCrossEntropy,
)

COUNTS = (90, 9, 1)
LOGITS = torch.tensor([[2.0, 0.0, -1.0], [0.5, 0.5, 0.0], [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
TARGETS = torch.tensor([0, 1, 1, 2])


def test_weights_by_hand():
    """Inverse: 1/90, 1/9, 1/1; their sum over 100 rows is 3, so the scale is 100/3."""
    assert class_weights("none", COUNTS) is None
    assert class_weights("inverse", COUNTS) == pytest.approx([100 / 270, 100 / 27, 100 / 3])
    roots = [90**0.5, 3, 1]
    scale = 100 / sum(roots)
    assert class_weights("sqrt-inverse", COUNTS) == pytest.approx([scale / r for r in roots])
    effective = [0.001 / (1 - 0.999**n) for n in COUNTS]
    mean = sum(w * n for w, n in zip(effective, COUNTS, strict=True)) / 100
    assert class_weights("effective", COUNTS) == pytest.approx([w / mean for w in effective])


@pytest.mark.parametrize("kind", ["inverse", "sqrt-inverse", "effective"])
def test_weights_average_to_one_over_training_rows(kind):
    weights = class_weights(kind, (5, 0, 45))
    assert weights[1] == 0
    assert weights[0] > 1 > weights[2] > 0
    assert (5 * weights[0] + 45 * weights[2]) / 50 == pytest.approx(1)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_equals_torch(smoothing):
    loss = CrossEntropyLoss(None, smoothing)(LOGITS, TARGETS)
    expected = nn.CrossEntropyLoss(label_smoothing=smoothing)(LOGITS, TARGETS)
    torch.testing.assert_close(loss, expected)


def test_with_weights_the_mean_is_over_rows():
    """torch divides by the sum of weights, which would cancel them in a batch of one label."""
    weights = torch.tensor([0.5, 2.0, 8.0])
    loss = CrossEntropyLoss(weights)(LOGITS, TARGETS)
    summed = nn.CrossEntropyLoss(weight=weights, reduction="sum")(LOGITS, TARGETS)
    torch.testing.assert_close(loss, summed / 4)
    rare = CrossEntropyLoss(weights)(LOGITS[3:], TARGETS[3:])
    torch.testing.assert_close(rare, 8 * CrossEntropyLoss(None)(LOGITS[3:], TARGETS[3:]))


def test_the_labels_own_loss():
    label_logits = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    own = nn.CrossEntropyLoss()(label_logits, torch.arange(3))
    plain = CrossEntropyLoss(None)(LOGITS, TARGETS)
    with_own = CrossEntropyLoss(None, label_loss=5.0)(LOGITS, TARGETS, label_logits)
    torch.testing.assert_close(with_own, plain + 5 * own)
    assert torch.equal(CrossEntropyLoss(None)(LOGITS, TARGETS, label_logits), plain)


def test_built_from_the_counts_of_training_rows():
    labels = LabelSet.from_ids(["a", "b", "c"])
    spec = CrossEntropy(class_weights="inverse", label_smoothing=0.1, label_loss=2.0)
    loss = build_cross_entropy(spec, labels=labels, counts=COUNTS)
    assert loss.weights.tolist() == pytest.approx(class_weights("inverse", COUNTS))
    assert (loss.label_smoothing, loss.label_loss) == (0.1, 2.0)
    assert build_cross_entropy(CrossEntropy(), labels=labels).weights is None


NEED_COUNTS = [
    CrossEntropy(class_weights="inverse"),
    FocalCrossEntropy(class_weights="effective"),
    LogitAdjustedCrossEntropy(),
    MarginCrossEntropy(),
]


@pytest.mark.parametrize("spec", NEED_COUNTS, ids=lambda spec: spec.kind)
def test_without_counts_a_loss_is_built_for_a_saved_model_and_refuses_to_train(spec):
    loss = registry.build(spec, labels=LabelSet.from_ids(["a", "b", "c"]))
    with pytest.raises(TrainingError, match=r"counts of (the )?training rows"):
        loss(LOGITS, TARGETS)


def test_nothing_of_a_loss_is_saved_with_the_model():
    assert not CrossEntropyLoss(torch.ones(3)).state_dict()
    assert not LogitAdjustedLoss(torch.ones(3)).state_dict()
    assert not MarginLoss(torch.ones(3), weights=torch.ones(3)).state_dict()


SINGLE = [CrossEntropy(), FocalCrossEntropy(), LogitAdjustedCrossEntropy(), MarginCrossEntropy()]


@pytest.mark.parametrize("spec", SINGLE, ids=lambda spec: spec.kind)
def test_targets_of_many_labels_are_refused(spec):
    loss = registry.build(spec, labels=LabelSet.from_ids(["a", "b", "c"]), counts=COUNTS)
    with pytest.raises(ShapeError, match=r"one label a document.*bce"):
        loss(LOGITS, torch.zeros(4, 3))


@pytest.mark.parametrize("spec", SINGLE, ids=lambda spec: spec.kind)
def test_half_precision_is_widened_and_gradients_are_right(spec):
    loss = registry.build(spec, labels=LabelSet.from_ids(["a", "b", "c"]), counts=COUNTS)
    assert loss(LOGITS.bfloat16(), TARGETS).dtype == torch.float32
    assert gradcheck(loss, (LOGITS.double().requires_grad_(), TARGETS))


def test_focal_by_hand():
    """Two labels at logits (0, log 3): p of the second is 3/4, so its row counts (1/4)^2."""
    logits = torch.tensor([[0.0, math.log(3)], [0.0, math.log(3)]])
    found = FocalCrossEntropyLoss(2.0)(logits, torch.tensor([1, 0]))
    sure, unsure = 0.25**2 * -math.log(0.75), 0.75**2 * -math.log(0.25)
    assert float(found) == pytest.approx((sure + unsure) / 2)


def test_focal_without_fading_is_cross_entropy():
    plain = CrossEntropyLoss(None)(LOGITS, TARGETS)
    torch.testing.assert_close(FocalCrossEntropyLoss(0.0)(LOGITS, TARGETS), plain)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_focal_stays_finite_far_out(gamma):
    logits = torch.tensor([[500.0, -500.0], [-500.0, 500.0]], requires_grad=True)
    loss = FocalCrossEntropyLoss(gamma)(logits, torch.tensor([0, 0]))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(500.0)
    assert torch.isfinite(logits.grad).all()


def test_logit_adjustment_by_hand():
    """Equal logits: the adjusted probabilities are the labels' shares, .9, .09 and .01."""
    loss = build_logit_adjusted(LogitAdjustedCrossEntropy(), counts=COUNTS)
    found = loss(torch.zeros(1, 3), torch.tensor([2]))
    assert float(found) == pytest.approx(-math.log(0.01))
    none = build_logit_adjusted(LogitAdjustedCrossEntropy(tau=0), counts=COUNTS)
    torch.testing.assert_close(none(LOGITS, TARGETS), CrossEntropyLoss(None)(LOGITS, TARGETS))


def test_a_label_without_rows_is_adjusted_as_one_with_a_single_row():
    loss = build_logit_adjusted(LogitAdjustedCrossEntropy(), counts=(8, 0, 1))
    assert loss.offsets.tolist() == pytest.approx([math.log(x / 10) for x in (8, 1, 1)])


def test_the_best_constant_of_logit_adjustment_scores_all_labels_alike():
    """Log shares are what a constant predictor learns; the adjustment leaves nothing to learn."""
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    loss = build_logit_adjusted(LogitAdjustedCrossEntropy(), counts=COUNTS)
    rows = torch.tensor([0] * 90 + [1] * 9 + [2])
    loss(logits.expand(100, 3), rows).backward()
    assert logits.grad.abs().max() < 1e-7


def test_margins_by_hand():
    """n^(-1/4) of 256, 16 and 1 rows is 1/4, 1/2 and 1; the largest becomes .5."""
    loss = build_ldam(MarginCrossEntropy(), counts=(256, 16, 1, 0))
    assert loss.margins.tolist() == pytest.approx([0.125, 0.25, 0.5, 0.0])
    found = loss(torch.zeros(1, 4), torch.tensor([2]))
    own = math.exp(-0.5)
    assert float(found) == pytest.approx(-math.log(own / (own + 3)))
    scaled = build_ldam(MarginCrossEntropy(scale=30), counts=(256, 16, 1, 0))
    own = math.exp(-15)
    found = scaled(torch.zeros(1, 4), torch.tensor([2]))
    assert float(found) == pytest.approx(-math.log(own / (own + 3)))


def test_deferred_weights_count_from_their_time_on():
    spec = MarginCrossEntropy(max_margin=0, class_weights="inverse", deferred=0.8)
    loss = build_ldam(spec, counts=COUNTS)
    with pytest.raises(TrainingError, match="how far training is"):
        loss(LOGITS, TARGETS)
    plain = CrossEntropyLoss(None)(LOGITS, TARGETS)
    weighted = CrossEntropyLoss(torch.tensor(class_weights("inverse", COUNTS)))(LOGITS, TARGETS)
    loss.progress(0.79)
    torch.testing.assert_close(loss(LOGITS, TARGETS), plain)
    loss.progress(0.8)
    torch.testing.assert_close(loss(LOGITS, TARGETS), weighted)
    at_once = build_ldam(spec.model_copy(update={"deferred": 0.0}), counts=COUNTS)
    torch.testing.assert_close(at_once(LOGITS, TARGETS), weighted)
