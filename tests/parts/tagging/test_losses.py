import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from attending.errors import RecipeError, TrainingError
from attending.parts.tagging.binary import BinaryTokenLabelsLoss, build_btl
from attending.parts.tagging.losses import (
    TokenCrossEntropyLoss,
    build_token_cross_entropy,
    tag_weights,
    weighted_mean,
)
from attending.specs import BinaryTokenLabels, TokenCrossEntropy
from attending.tags import TagSet

TAGS = TagSet(("a", "b", "c", "d"))  # O, B-a, I-a, B-b, ...
COUNTS = [[60, 10, 20, 5, 3, 1, 1, 0, 0]]


@pytest.fixture
def words():
    torch.manual_seed(5)
    targets = torch.tensor([0, 1, 2, 0, 0, 3, 1, 0, 5, 6, 0, 3]).unsqueeze(1)
    return torch.randn(len(targets), 1, 9, requires_grad=True), targets


def test_weights_by_hand():
    published, _ = tag_weights("published", [[6, 3, 1]])
    raw = torch.tensor([0.4, 0.7, 0.9])
    mean = (0.4 * 6 + 0.7 * 3 + 0.9) / 10
    assert torch.allclose(published[0], raw / mean)
    inverse, _ = tag_weights("inverse", [[6, 3, 1]])
    assert torch.allclose(inverse[0], torch.tensor([1 / 6, 1 / 3, 1.0]) * 10 / 3)
    assert tag_weights("inverse", [[6, 0, 4]])[0][0, 1] == 0
    assert torch.equal(tag_weights("published", [[6, 0]])[0], torch.ones(1, 2))
    assert tag_weights("none", None) == (None, None)


def test_published_weights_hardly_tell_rare_types_from_frequent_ones():
    (weights,), _ = tag_weights("published", [[6000, 2000, 10]])
    assert weights[2] / weights[1] < 1.4 and weights[1] / weights[0] > 2.9


def test_cross_entropy_equals_torch_s(words):
    logits, targets = words
    weights, _ = tag_weights("inverse", COUNTS)
    found = TokenCrossEntropyLoss(weights)(logits, targets).item()
    expected = cross_entropy(logits[:, 0], targets[:, 0], weight=weights[0])
    assert found == pytest.approx(expected.item(), rel=1e-6)
    hidden = targets.clone()
    hidden[3] = -100
    found = TokenCrossEntropyLoss(weights)(logits, hidden).item()
    expected = cross_entropy(logits[:, 0], hidden[:, 0], weight=weights[0])
    assert found == pytest.approx(expected.item(), rel=1e-6)


def test_focal_loss_by_hand():
    logits = torch.tensor([[[math.log(0.25), math.log(0.75)]]])
    found = TokenCrossEntropyLoss(gamma=2.0)(logits, torch.tensor([[0]]))
    assert found == pytest.approx(-(0.75**2) * math.log(0.25), rel=1e-5)


def test_layers_are_averaged():
    logits, targets = torch.randn(4, 3, 2), torch.tensor([[0, 1, 0]] * 4)
    found = TokenCrossEntropyLoss()(logits, targets)
    assert found == pytest.approx(cross_entropy(logits.flatten(0, 1), targets.flatten()).item())


def test_training_needs_the_counts_that_its_weights_are_of(words):
    loss = build_token_cross_entropy(TokenCrossEntropy(class_weights="inverse"))
    with pytest.raises(TrainingError, match="tag counts"):
        loss(*words)


@pytest.mark.parametrize("other", ["O", "ignore"])
@pytest.mark.parametrize("kind", ["none", "published", "inverse"])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_one_pass_with_soft_targets_equals_the_copies(other, kind, gamma, words):
    logits, targets = words
    weights, _ = tag_weights(kind, COUNTS)
    loss = BinaryTokenLabelsLoss(TAGS, other, "sum", weights, gamma)
    summed = loss(logits, targets)
    (gradient,) = torch.autograd.grad(summed, logits)
    copies = loss.copies_of(targets)
    assert len(copies) == 3  # a, b and c occur
    apart = torch.stack([weighted_mean(logits, t, weights, gamma) for t in copies]).mean()
    (expected,) = torch.autograd.grad(apart, logits)
    assert summed.item() == pytest.approx(apart.item(), rel=1e-6)
    assert torch.allclose(gradient, expected, atol=1e-7)


def test_copies_by_hand(words):
    _, targets = words
    loss = BinaryTokenLabelsLoss(TAGS, "O")
    of_b = loss.copies_of(targets)[1].flatten().tolist()
    assert of_b == [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3]
    ignoring = BinaryTokenLabelsLoss(TAGS, "ignore").copies_of(targets)[1].flatten().tolist()
    assert ignoring == [0, -100, -100, 0, 0, 3, -100, 0, -100, -100, 0, 3]


def test_a_batch_without_a_type_is_one_copy():
    logits, targets = torch.randn(5, 1, 9), torch.zeros(5, 1, dtype=torch.int64)
    loss = BinaryTokenLabelsLoss(TAGS)
    assert [t.tolist() for t in loss.copies_of(targets)] == [targets.tolist()]
    expected = cross_entropy(logits[:, 0], targets[:, 0])
    assert loss(logits, targets) == pytest.approx(expected.item())


def test_scores_lean_to_the_outside_as_the_number_of_types_says():
    """With |E| types and equal weights, a word of a type tends to 1/|E| for it, not to 1."""
    tags = TagSet(tuple("abcde"), begins=False)
    targets = torch.tensor([1, 2, 3, 4, 5]).unsqueeze(1)
    logits = torch.zeros(5, 1, 6, requires_grad=True)
    loss = BinaryTokenLabelsLoss(tags)
    step = torch.optim.Adam([logits], lr=0.05)
    for _ in range(400):
        step.zero_grad()
        loss(logits, targets).backward()
        step.step()
    likely = logits.softmax(-1)[torch.arange(5), 0, targets[:, 0]]
    assert torch.allclose(likely, torch.full((5,), 1 / 5), atol=0.01)


def test_a_layer_a_type_is_binary_as_it_is():
    with pytest.raises(RecipeError, match="in layers there are none"):
        build_btl(BinaryTokenLabels(class_weights="none"), tags=TagSet(("a",), layered=True))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_focal_loss_of_a_sure_word_has_a_gradient(gamma):
    logits = torch.tensor([[[20.0, 0.0, 0.0]], [[0.0, 30.0, 0.0]]], requires_grad=True)
    loss = TokenCrossEntropyLoss(gamma=gamma)(logits, torch.tensor([[0], [2]]))
    loss.backward()
    assert torch.isfinite(logits.grad).all() and logits.grad.abs().max() > 0
