"""Losses of single-label recipes."""

import pytest
import torch
from torch import nn

from attending.errors import TrainingError
from attending.parts.losses import CrossEntropyLoss, build_cross_entropy, class_weights
from attending.records import LabelSet
from attending.specs import CrossEntropy

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
    with pytest.raises(TrainingError, match="counts of the training rows"):
        build_cross_entropy(spec, labels=labels)


def test_weights_are_not_saved_with_the_model():
    assert not CrossEntropyLoss(torch.ones(3)).state_dict()
