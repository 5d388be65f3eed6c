"""A step on some of the labels: which, who stands for whom, and that nothing is biased by it."""

from itertools import permutations

import pytest
import torch

from attending.parts import label_sample as module
from attending.parts.label_sample import label_sample
from attending.parts.lexical_mixture import LexicalMixture
from attending.parts.multilabel_losses import (
    AsymmetricBinaryCrossEntropyLoss,
    BalancedBinaryCrossEntropyLoss,
    BinaryCrossEntropyLoss,
    FMeasureLoss,
    FocalBinaryCrossEntropyLoss,
)
from attending.tensors import LexicalMatches

L, OWN = 7, (1, 4)
"""Five labels are lacking: two drawn stand for three and two of them."""
TARGETS = torch.zeros(3, L)
TARGETS[0, 1] = TARGETS[2, 4] = TARGETS[2, 1] = 1


def draws(monkeypatch, size=2, labels=L, targets=TARGETS):
    """Yield the sample of every order in which the lacking labels can be drawn."""
    for order in permutations(range(labels - len(OWN))):
        with monkeypatch.context() as patch:
            patch.setattr(module.torch, "randperm", lambda n, order=order: torch.tensor(order[:n]))
            yield label_sample(targets, labels, size)


def test_the_batchs_labels_are_scored_and_as_many_others_as_asked_for():
    torch.manual_seed(0)
    sample = label_sample(TARGETS, L, 2)
    which = sample.which.tolist()
    assert which == sorted(which) and len(which) == 4 and set(OWN) < set(which)
    assert set(sample.others.tolist()) == set(which) - set(OWN)
    again = [label_sample(TARGETS, L, 2).others.tolist() for _ in range(20)]
    assert len({tuple(o) for o in again}) > 5


def test_labels_left_out_are_stood_in_for_evenly_and_by_none_that_a_document_has():
    torch.manual_seed(1)
    for size in (1, 2, 3, 4):
        sample = label_sample(TARGETS, L, size)
        stands = sample.which[sample.column].tolist()
        assert [stands[i] for i in sample.which] == sample.which.tolist()
        load = [stands.count(i) for i in sample.others.tolist()]
        assert sum(load) == L - len(OWN) and max(load) - min(load) <= 1
        assert [stands.count(i) for i in OWN] == [1, 1]


def test_positions_of_single_label_rows_are_their_labels():
    torch.manual_seed(2)
    sample = label_sample(torch.tensor([4, 1, 4]), L, 2)
    assert set(OWN) < set(sample.which.tolist()) and len(sample.which) == 4
    assert len(label_sample(None, L, 2).which) == 2


def test_nothing_is_drawn_where_no_label_would_be_left_out():
    assert label_sample(TARGETS, L, L - len(OWN)) is None
    assert label_sample(TARGETS, L, 100) is None
    assert label_sample(torch.ones(2, L), L, 1) is None


@pytest.mark.parametrize(
    "loss",
    [
        BinaryCrossEntropyLoss(),
        BinaryCrossEntropyLoss(torch.linspace(0.5, 2, L).double()),
        BalancedBinaryCrossEntropyLoss(),
        FocalBinaryCrossEntropyLoss(alpha=0.3),
        AsymmetricBinaryCrossEntropyLoss(),
        FMeasureLoss("macro"),
    ],
    ids=["bce", "weighted", "balanced", "focal", "asymmetric", "macro-f"],
)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_loss_and_gradient_over_all_draws_are_those_of_all_labels(monkeypatch, loss, size):
    torch.manual_seed(3)
    logits = torch.randn(3, L, dtype=torch.float64, requires_grad=True)
    truth = TARGETS.double()
    whole = loss(logits, truth)
    (wanted,) = torch.autograd.grad(whole, logits)
    whole = whole.detach()
    values, slopes = [], []
    for sample in draws(monkeypatch, size):
        value = loss(sample.whole(logits[:, sample.which]), truth)
        values.append(value.detach())
        slopes.append(torch.autograd.grad(value, logits)[0])
    assert len(values) == 120
    assert float(torch.stack(values).mean()) == pytest.approx(float(whole), abs=1e-12)
    assert torch.allclose(torch.stack(slopes).mean(dim=0), wanted, atol=1e-12)
    # One draw alone is not it, except where labels that nobody has don't count.
    alone = torch.allclose(slopes[0], wanted, atol=1e-6)
    assert alone == isinstance(loss, FMeasureLoss)


def test_words_say_of_the_labels_of_a_step_what_they_say_of_them_among_all():
    torch.manual_seed(4)
    said = LexicalMatches(
        document=torch.tensor([0, 0, 2, 2]),
        label=torch.tensor([1, 6, 0, 4]),
        score=torch.tensor([2.0, -1.0, 0.5, 3.0]),
        view=torch.tensor([0, 1, 0]),
        silent=torch.randn(2, L),
        counts=torch.arange(2.0 * L).reshape(2, L),
    )
    mixture, logits = LexicalMixture(), torch.randn(3, L)
    with torch.no_grad():
        mixture.lines.add_(0.02 * torch.randn_like(mixture.lines))
    for seed in range(8):
        torch.manual_seed(seed)
        sample = label_sample(TARGETS, L, 2)
        narrow = mixture(logits[:, sample.which], sample.matches(said))
        assert torch.equal(narrow, mixture(logits, said)[:, sample.which])
