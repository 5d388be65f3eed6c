"""The loss of a student against a slow reference."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from attending import registry
from attending.errors import ShapeError
from attending.parts.soft_targets import Distillation
from attending.specs import SoftTargets

LOGITS = torch.tensor([[2.0, 0.0, -1.0], [0.5, 0.5, 0.0], [0.0, 1.0, 3.0], [-4.0, 1.0, 1.0]])
TEACHER = torch.tensor([[3.0, -1.0, 0.0], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0], [9.0, 0.0, -9.0]])
LABELLED = torch.tensor([True, False, True, True])
HARD = torch.tensor([0.7, 5.0, 0.1, 2.0])


def nobody(rows):
    raise AssertionError("no label counts")


def of_teacher(task, temperature):
    scaled = TEACHER / temperature
    return scaled.softmax(dim=1) if task == "single" else scaled.sigmoid()


def slow_row(task, temperature, divergence, scores, wanted):
    """What a row costs, number by number."""
    scaled = [float(s) / temperature for s in scores]
    wanted = [float(p) for p in wanted]
    total = 0.0
    if task == "single":
        norm = math.log(sum(math.exp(s) for s in scaled))
        for s, p in zip(scaled, wanted, strict=True):
            total -= p * (s - norm)
            total += p * math.log(p) if divergence and p else 0.0
    else:
        for s, p in zip(scaled, wanted, strict=True):
            q = 1 / (1 + math.exp(-s))
            for mine, yours in ((p, q), (1 - p, 1 - q)):
                total -= mine * math.log(yours)
                total += mine * math.log(mine) if divergence and mine > 0 else 0.0
        total /= len(scaled)
    return total * temperature**2 if divergence else total


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("divergence", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_equals_a_slow_reference(task, temperature, divergence, share):
    """A mean over rows: labelled ones mix both losses, the others learn from the teacher alone."""
    soft = of_teacher(task, temperature)
    total = 0.0
    for row in range(4):
        cost = slow_row(task, temperature, divergence, LOGITS[row], soft[row])
        own = share if LABELLED[row] else 0.0
        total += (1 - own) * cost + own * float(HARD[row])
    loss = Distillation(task, temperature, divergence, share)
    found = loss(LOGITS, soft, LABELLED, lambda rows: HARD[rows].mean())
    assert float(found) == pytest.approx(total / 4, rel=1e-5)


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("divergence", [False, True])
def test_the_gradient_is_right(task, divergence):
    """By finite differences, and that of a row by hand: (q - p) / T, times T^2 for divergence."""
    soft = of_teacher(task, 2.0).double()
    loss = Distillation(task, 2.0, divergence)
    logits = LOGITS.double().requires_grad_()
    assert gradcheck(lambda z: loss(z, soft, LABELLED, nobody), (logits,))
    (found,) = torch.autograd.grad(loss(logits, soft, LABELLED, nobody), logits)
    q = (logits / 2).softmax(dim=1) if task == "single" else (logits / 2).sigmoid() / 3
    p = soft if task == "single" else soft / 3
    by_hand = (q - p) / 2 / 4 * (4 if divergence else 1)
    torch.testing.assert_close(found, by_hand.detach())


@pytest.mark.parametrize("task", ["single", "multi"])
def test_divergence_keeps_the_size_of_gradients_at_high_temperatures(task):
    """Hinton et al. 2015, equation 4: without T^2 they shrink as 1 / T^2."""
    sizes = {}
    for temperature in (20.0, 40.0):
        for divergence in (True, False):
            logits = LOGITS.clone().requires_grad_()
            soft = of_teacher(task, temperature)
            loss = Distillation(task, temperature, divergence)
            loss(logits, soft, LABELLED, nobody).backward()
            sizes[temperature, divergence] = float(logits.grad.norm())
    assert sizes[40.0, True] == pytest.approx(sizes[20.0, True], rel=0.05)
    assert sizes[40.0, False] == pytest.approx(sizes[20.0, False] / 4, rel=0.05)


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_who_agrees_has_no_divergence(task, temperature):
    soft = of_teacher(task, temperature)
    loss = Distillation(task, temperature, divergence=True)
    assert abs(float(loss(TEACHER, soft, LABELLED, nobody))) < 5e-6
    certain = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    far = torch.tensor([[200.0, -200.0], [-200.0, 200.0]])
    assert abs(float(loss(far, certain, LABELLED[:2], nobody))) < 1e-30


def test_batch_mates_change_nothing():
    """The mean of single rows' losses is the batch's, whoever has a label."""
    soft = of_teacher("single", 1.0)
    loss = Distillation("single", hard_share=0.4)
    alone = [
        loss(LOGITS[[i]], soft[[i]], LABELLED[[i]], lambda rows, i=i: HARD[[i]][rows].mean())
        for i in range(4)
    ]
    whole = loss(LOGITS, soft, LABELLED, lambda rows: HARD[rows].mean())
    torch.testing.assert_close(torch.stack(alone).mean(), whole)


def test_without_a_labelled_row_labels_are_not_asked_for():
    loss = Distillation("single", hard_share=1.0)
    nothing = torch.zeros(4, dtype=torch.bool)
    found = loss(LOGITS, of_teacher("single", 1.0), nothing, nobody)
    plain = Distillation("single")(LOGITS, of_teacher("single", 1.0), nothing, nobody)
    torch.testing.assert_close(found, plain)


def test_half_precision_is_widened():
    loss = Distillation("single")
    assert (
        loss(LOGITS.bfloat16(), of_teacher("single", 1.0), LABELLED, nobody).dtype == torch.float32
    )


def test_shapes_must_fit():
    with pytest.raises(ShapeError, match="a value for each document and label"):
        Distillation("single")(LOGITS, torch.ones(4, 2), LABELLED, nobody)


def test_built_from_its_settings():
    spec = SoftTargets(temperature=2.0, loss="kl", hard_share=0.25, vectors=3.0)
    built = registry.build(spec, task="multi")
    assert (built.task, built.temperature, built.divergence, built.hard_share) == (
        "multi", 2.0, True, 0.25,
    )  # fmt: skip
    assert built.vectors == 3.0
    assert not built.state_dict()


def test_vectors_cost_their_mean_squared_difference():
    own = torch.tensor([[1.0, 2.0], [0.0, 0.0]], requires_grad=True)
    wanted = torch.tensor([[0.0, 0.0], [3.0, 1.0]])
    loss = Distillation("single", vectors=0.5).of_vectors(own, wanted)
    assert float(loss.detach()) == pytest.approx(0.5 * (1 + 4 + 9 + 1) / 4)
    loss.backward()
    torch.testing.assert_close(own.grad, 0.5 * 2 * (own.detach() - wanted) / 4)
    half = Distillation("single", vectors=0.5).of_vectors(own.bfloat16(), wanted)
    assert half.dtype == torch.float32
    with pytest.raises(ShapeError, match="as wide as its teacher's"):
        Distillation("single", vectors=1.0).of_vectors(own, wanted[:, :1])
