"""Losses of documents with any number of labels."""

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from torch import nn
from torch.autograd import gradcheck

from attending import registry
from attending.errors import ShapeError, TrainingError
from attending.parts.decoders import build_threshold
from attending.parts.multilabel_losses import (
    AsymmetricBinaryCrossEntropyLoss,
    BalancedBinaryCrossEntropyLoss,
    BinaryCrossEntropyLoss,
    FMeasureLoss,
    FocalBinaryCrossEntropyLoss,
    MultiLabelLoss,
    build_balanced_bce,
    build_bce,
)
from attending.records import LabelSet
from attending.specs import (
    AsymmetricBinaryCrossEntropy,
    BalancedBinaryCrossEntropy,
    BinaryCrossEntropy,
    FMeasure,
    FocalBinaryCrossEntropy,
    ThresholdDecoder,
)
from attending.specs.losses import mean_alpha

LABELS = LabelSet.from_ids(["a", "b", "c", "d"])
COUNTS = (6, 3, 1, 0)
DOCUMENTS = 8
LOGITS = torch.tensor([[2.0, -1.0, 0.5, -3.0], [-0.5, 0.25, 1.0, 0.0], [1.5, -2.0, -0.25, 0.75]])
TARGETS = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SPECS = [
    BinaryCrossEntropy(),
    BinaryCrossEntropy(positive_weights="sqrt-inverse"),
    BalancedBinaryCrossEntropy(),
    BalancedBinaryCrossEntropy(alpha="corpus"),
    FMeasure(),
    FMeasure(average="micro", classes="both"),
    FMeasure(classes="both"),
    FocalBinaryCrossEntropy(),
    FocalBinaryCrossEntropy(gamma=0.5, alpha=0.75),
    AsymmetricBinaryCrossEntropy(),
    AsymmetricBinaryCrossEntropy(gamma_positive=1, gamma_negative=2.5, margin=0),
]


def build(spec):
    return registry.build(spec, labels=LABELS, counts=COUNTS, documents=DOCUMENTS)


def of_probabilities(*rows):
    shares = torch.tensor(rows, dtype=torch.float64)
    return (shares / (1 - shares)).log()


# All of them.


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_gradients_are_right(spec):
    loss = build(spec)
    assert gradcheck(lambda z: loss(z, TARGETS), (LOGITS.double().requires_grad_(),))


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_far_out_loss_and_gradient_stay_finite(spec):
    loss = build(spec)
    for targets in (TARGETS, torch.zeros(3, 4), torch.ones(3, 4)):
        for scale in (0.0, 1e4, -1e4):
            logits = (LOGITS * scale).requires_grad_()
            value = loss(logits, targets)
            value.backward()
            assert torch.isfinite(value) and torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_half_precision_is_widened(spec):
    loss = build(spec)
    found = loss(LOGITS.bfloat16(), TARGETS.bfloat16())
    assert found.dtype == torch.float32 and found.ndim == 0
    torch.testing.assert_close(found, loss(LOGITS.bfloat16().float(), TARGETS))


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_the_order_of_labels_and_documents_means_nothing(spec):
    loss = build(spec)
    columns, rows = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
    counts = [COUNTS[i] for i in columns]
    turned = registry.build(spec, labels=LABELS, counts=counts, documents=DOCUMENTS)
    torch.testing.assert_close(
        turned(LOGITS[:, columns][rows], TARGETS[:, columns][rows]), loss(LOGITS, TARGETS)
    )


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_training_gets_the_labels_right(spec):
    torch.manual_seed(0)
    logits = torch.zeros(3, 4, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.3)
    loss = build(spec)
    for _ in range(60):
        optimiser.zero_grad()
        loss(logits, TARGETS).backward()
        optimiser.step()
    learned = TARGETS.any(dim=0) if spec.kind == "f-measure" else torch.ones(4, dtype=torch.bool)
    assert torch.equal((logits > 0)[:, learned], TARGETS.bool()[:, learned])


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_one_position_a_document_is_refused(spec):
    with pytest.raises(ShapeError, match=r"each document and label.*cross-entropy"):
        build(spec)(LOGITS, torch.tensor([0, 1, 2]))


def test_nothing_of_a_loss_is_saved_with_the_model():
    assert not any(build(spec).state_dict() for spec in SPECS)


@pytest.mark.parametrize(
    "spec",
    [BinaryCrossEntropy(positive_weights="inverse"), BalancedBinaryCrossEntropy(alpha="corpus")],
    ids=lambda spec: spec.kind,
)
def test_without_counts_a_loss_is_built_for_a_saved_model_and_refuses_to_train(spec):
    loss = registry.build(spec, labels=LABELS)
    with pytest.raises(TrainingError, match="label counts of the training rows"):
        loss(LOGITS, TARGETS)


# Binary cross-entropy.


def test_bce_equals_torch():
    expected = nn.BCEWithLogitsLoss()(LOGITS, TARGETS)
    torch.testing.assert_close(BinaryCrossEntropyLoss()(LOGITS, TARGETS), expected)


def test_weights_of_true_labels_by_hand():
    """Inverse of 6, 3 and 1: the scale that makes their mean over 10 true cells 1 is 10/3."""
    loss = build_bce(BinaryCrossEntropy(positive_weights="inverse"), counts=COUNTS)
    assert loss.weights.tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3, 0])
    logits = torch.zeros(2, 4)
    targets = torch.tensor([[0.0, 0, 1, 0], [1, 0, 0, 0]])
    cells = 6 + 10 / 3 + 10 / 18  # each true or other cell costs log 2
    assert float(loss(logits, targets)) == pytest.approx(cells * math.log(2) / 8)


# Balanced.


def test_balanced_bce_by_hand():
    """Alpha is 3 for one label of four, 1 for two, 0 for none; all cells cost log 2 at logit 0."""
    targets = torch.tensor([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    found = BalancedBinaryCrossEntropyLoss()(torch.zeros(3, 4), targets)
    cells = (3 * 1 + 3) + (1 * 2 + 2) + 4
    assert float(found) == pytest.approx(cells * math.log(2) / 12)
    corpus = BalancedBinaryCrossEntropyLoss(alpha=3.0)(torch.zeros(3, 4), targets)
    assert float(corpus) == pytest.approx((3 * 3 + 9) * math.log(2) / 12)


def test_true_and_other_labels_of_a_document_weigh_the_same():
    loss = BalancedBinaryCrossEntropyLoss()
    logits = torch.zeros(1, 10, requires_grad=True)
    loss(logits, torch.eye(10)[:1]).backward()
    assert float(-logits.grad[0, 0]) == pytest.approx(float(logits.grad[0, 1:].sum()))


def test_the_published_cut_stops_learning_beyond_it():
    logits = torch.tensor([[-20.0, -10.0]])
    targets = torch.tensor([[1.0, 1.0]])
    slopes = []
    for clamp in (14.0, None):
        own = logits.clone().requires_grad_()
        BalancedBinaryCrossEntropyLoss(alpha=1.0, clamp=clamp)(own, targets).backward()
        slopes.append(own.grad[0].tolist())
    assert slopes[0][0] == 0 and slopes[0][1] == pytest.approx(-0.5, abs=1e-4)
    assert slopes[1] == pytest.approx([-0.5, -0.5], abs=1e-4)


def test_mean_alpha_is_the_mean_over_true_cells_of_documents_own():
    random = np.random.default_rng(0)
    truth = random.random((200, 12)) < 0.15
    sizes = truth.sum(axis=1)
    own = np.repeat(12 - sizes, sizes) / np.repeat(sizes, sizes)
    found = mean_alpha(truth.sum(axis=0).tolist(), int((sizes > 0).sum()))
    assert found == pytest.approx(own.mean())


@pytest.mark.parametrize("share", [0.02, 0.3, 0.49, 0.51, 0.9])
def test_a_constant_predictor_learns_too_high_a_probability_and_the_shift_restores_it(share):
    """With alpha a the optimum is a p / (a p + 1 - p); the corrected one is over 1/2 if p is."""
    documents, others = 1000, 49
    true = round(share * documents)
    # One label of interest; a second one keeps every document's number of labels at 1.
    targets = torch.zeros(documents, others + 1, dtype=torch.float64)
    targets[:true, 0] = 1
    targets[true:, 1] = 1
    counts = targets.sum(dim=0).int().tolist()
    loss = build_balanced_bce(BalancedBinaryCrossEntropy())
    logits = torch.zeros(others + 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([logits], lr=1, max_iter=200, tolerance_grad=1e-12)

    def step():
        optimiser.zero_grad()
        value = 50 * loss(logits.expand_as(targets), targets)
        value.backward()
        return value

    optimiser.step(step)
    learned = float(torch.sigmoid(logits[0]).detach())
    alpha = 49.0
    assert learned == pytest.approx(alpha * share / (alpha * share + 1 - share), abs=1e-3)
    assert learned > 0.49  # at 1/2 nearly everything would be assigned
    shift = BalancedBinaryCrossEntropy().shift(counts, documents)
    assert shift == pytest.approx(-math.log(alpha))
    decision = build_threshold(ThresholdDecoder(), shift=shift)
    probabilities = decision.probabilities(logits.detach().numpy()[None])
    assert probabilities[0, 0] == pytest.approx(share, abs=1e-3)
    labels = LabelSet.from_ids([f"l{i}" for i in range(others + 1)])
    assert ("l0" in decision.decode(probabilities, labels)[0]) == (share > 0.5)
    # The same said of the learned probability: its threshold is a / (1 + a).
    assert (learned > alpha / (1 + alpha)) == (share > 0.5)


@pytest.mark.parametrize(
    "spec", [s for s in SPECS if s.kind != "balanced-bce"], ids=lambda spec: spec.kind
)
def test_other_losses_need_no_shift(spec):
    assert spec.shift(COUNTS, DOCUMENTS) == 0


# F-measure.


def test_f_measure_by_hand():
    """Micro: tp .8 + .5, given 1.6, true 2. Macro: labels one and two have a true document."""
    logits = of_probabilities([0.8, 0.2, 0.05], [0.1, 0.5, 0.05])
    targets = torch.tensor([[1.0, 0, 0], [0, 1, 0]])
    micro = 2 * 1.3 / (1.7 + 2)
    assert float(FMeasureLoss("micro")(logits, targets)) == pytest.approx(1 - micro)
    one, two = 2 * 0.8 / (0.9 + 1), 2 * 0.5 / (0.7 + 1)
    assert float(FMeasureLoss("macro")(logits, targets)) == pytest.approx(1 - (one + two) / 2)
    without = 2 * (4.3 - 0.7) / (4.3 + 4)  # given "not" 6 - 1.7, of which fn .2 + .5 wrongly
    found = FMeasureLoss("micro", "both")(logits, targets)
    assert float(found) == pytest.approx(1 - (micro + without) / 2)
    not_one = [2 * 0.9 / (1.1 + 1), 2 * 0.8 / (1.3 + 1), 2 * 1.9 / (1.9 + 2)]
    found = FMeasureLoss("macro", "both")(logits, targets)
    assert float(found) == pytest.approx(1 - ((one + two) / 2 + sum(not_one) / 3) / 2)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_with_sure_scores_it_is_one_minus_f1(average):
    random = np.random.default_rng(1)
    truth, guess = (random.random((30, 5)) < 0.4 for _ in range(2))
    logits = torch.tensor(np.where(guess, 60.0, -60.0))
    targets = torch.tensor(truth, dtype=torch.float64)
    expected = f1_score(truth, guess, average=average)
    assert float(FMeasureLoss(average)(logits, targets)) == pytest.approx(1 - expected)
    both = (expected + f1_score(~truth, ~guess, average=average)) / 2
    assert float(FMeasureLoss(average, "both")(logits, targets)) == pytest.approx(1 - both)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_a_batch_without_a_true_label_has_the_loss_one_and_no_gradient(average):
    logits = LOGITS.clone().requires_grad_()
    loss = FMeasureLoss(average)(logits, torch.zeros(3, 4))
    loss.backward()
    assert float(loss.detach()) == 1 and not logits.grad.any()


# Focal and asymmetric.


def test_focal_by_hand():
    logits = of_probabilities([0.75, 0.25])
    targets = torch.tensor([[1.0, 1.0]])
    sure, unsure = 0.25**2 * -math.log(0.75), 0.75**2 * -math.log(0.25)
    found = FocalBinaryCrossEntropyLoss(2.0)(logits, targets)
    assert float(found) == pytest.approx((sure + unsure) / 2)
    turned = FocalBinaryCrossEntropyLoss(2.0)(logits, 1 - targets)
    assert float(turned) == pytest.approx((sure + unsure) / 2)
    weighted = FocalBinaryCrossEntropyLoss(2.0, alpha=0.9)
    assert float(weighted(logits, targets)) == pytest.approx(0.9 * (sure + unsure) / 2)
    assert float(weighted(logits, 1 - targets)) == pytest.approx(0.1 * (sure + unsure) / 2)


def test_without_fading_focal_and_asymmetric_are_bce():
    expected = nn.BCEWithLogitsLoss()(LOGITS, TARGETS)
    torch.testing.assert_close(FocalBinaryCrossEntropyLoss(0.0)(LOGITS, TARGETS), expected)
    plain = AsymmetricBinaryCrossEntropyLoss(0.0, 0.0, 0.0)
    torch.testing.assert_close(plain(LOGITS, TARGETS), expected)


def test_asymmetric_by_hand():
    """A label at .05 or lower that isn't true costs nothing; at .45 it counts as one at .4."""
    logits = of_probabilities([0.8, 0.45, 0.04])
    targets = torch.tensor([[1.0, 0, 0]])
    loss = AsymmetricBinaryCrossEntropyLoss(1.0, 4.0, 0.05)
    expected = 0.2 * -math.log(0.8) + 0.4**4 * -math.log(0.6)
    assert float(loss(logits, targets)) == pytest.approx(expected / 3)
    own = logits.clone().requires_grad_()
    loss(own, targets).backward()
    assert own.grad[0, 2] == 0 and own.grad[0, 0] < 0 < own.grad[0, 1]


def test_asymmetric_learns_at_the_edge_of_its_margin():
    """The slope of a root is infinite where nothing is left of a probability."""
    logits = of_probabilities([0.05, 0.0500001, 0.01]).float().requires_grad_()
    AsymmetricBinaryCrossEntropyLoss(0.5, 0.5, 0.05)(logits, torch.zeros(1, 3)).backward()
    assert torch.isfinite(logits.grad).all()


# The pull of descriptions.


def test_the_pull_by_hand():
    """Distances (mean over width 2) are 2.5, 0 and 8; documents have labels {0, 2}, {0}, {}."""
    vectors = torch.tensor([[1.0, 2.0], [3.0, 3.0], [4.0, 0.0]])
    described = torch.tensor([[0.0, 0.0], [3.0, 3.0], [0.0, 0.0]])
    targets = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 0]])
    loss = MultiLabelLoss(description_pull=10.0)
    found = loss.pull(vectors, described, targets)
    # As published: number of labels x mean over labels and width, then the mean over documents.
    published = (2 * (2.5 + 8) / 2 + 1 * 2.5 + 0) / 3
    assert float(found) == pytest.approx(10 * published)


def test_the_pull_moves_only_labels_of_the_batch_and_both_of_their_vectors():
    loss = MultiLabelLoss(description_pull=0.1)
    torch.manual_seed(0)
    vectors, described = (torch.randn(4, 3, dtype=torch.float64) for _ in range(2))
    assert gradcheck(
        lambda a, b: loss.pull(a, b, TARGETS),
        (vectors.requires_grad_(), described.requires_grad_()),
    )
    loss.pull(vectors, described, TARGETS).backward()
    assert vectors.grad.any(dim=1).tolist() == [True, True, True, False]
    torch.testing.assert_close(vectors.grad, -described.grad)


def test_the_pull_refuses_what_does_not_fit():
    with pytest.raises(ShapeError, match="4 rows"):
        MultiLabelLoss(1.0).pull(torch.ones(3, 2), torch.ones(3, 2), TARGETS)
    with pytest.raises(ShapeError, match="classifiers and descriptions"):
        MultiLabelLoss(1.0).pull(torch.ones(4, 2), torch.ones(4, 3), TARGETS)


def test_settings_reach_the_losses():
    for kind in (type(s) for s in SPECS):
        assert build(kind(description_pull=0.5)).description_pull == 0.5
        assert kind(description_pull=0.5).needs() == ("descriptions",) and not kind().needs()
        assert kind.task == "multi"
    made = build(BalancedBinaryCrossEntropy(alpha="corpus", clamp=14))
    assert made.alpha == pytest.approx((4 * 8 - 10) / 10) and made.clamp == 14
    made = build(AsymmetricBinaryCrossEntropy(gamma_positive=1, gamma_negative=3, margin=0.1))
    assert (made.gamma_positive, made.gamma_negative, made.margin) == (1, 3, 0.1)
    made = build(FMeasure(average="micro", classes="both"))
    assert (made.average, made.classes) == ("micro", "both")
