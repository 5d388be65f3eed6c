"""Heads."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from attending import registry
from attending.errors import RecipeError, ShapeError
from attending.parts.heads import (
    build_identity,
    build_linear,
    build_per_label,
    prior_logits,
)
from attending.records import LabelSet
from attending.specs import (
    CosineHead,
    IdentityHead,
    LameHead,
    LinearHead,
    MatchHead,
    PerLabelHead,
    SharedHead,
)
from attending.tensors import LabelStates

LABELS = LabelSet.from_ids(["a", "b", "c"])


def test_scores_by_hand(encoder):
    head = build_linear(LinearHead(), encoder=encoder, labels=LABELS).eval()
    context = torch.randn(5, encoder.width, generator=torch.Generator().manual_seed(0))
    dense = torch.tanh(context @ head.dense.weight.T + head.dense.bias)
    expected = dense @ head.out.weight.T + head.out.bias
    torch.testing.assert_close(head(context), expected)
    assert head(context).shape == (5, 3)


def test_the_dense_layer_starts_from_the_pretrained_pooler(fresh_encoder):
    encoder = fresh_encoder()
    head = build_linear(LinearHead(), encoder=encoder, labels=LABELS)
    assert torch.equal(head.dense.weight, encoder.pretrained_pooler.weight)
    assert head.dense.weight.data_ptr() != encoder.pretrained_pooler.weight.data_ptr()
    assert not any("pooler" in name for name, _ in encoder.named_parameters())


def test_an_encoder_without_pooler_gets_a_new_dense_layer(encoder_of):
    encoder = encoder_of("distilbert")
    assert encoder.pretrained_pooler is None
    head = build_linear(LinearHead(), encoder=encoder, labels=LABELS)
    assert head.dense.weight.std() < 0.03
    assert (head.dense.bias == 0).all()


def test_without_a_dense_layer_the_head_is_linear(encoder):
    head = build_linear(LinearHead(dense=False), encoder=encoder, labels=LABELS).eval()
    context = torch.randn(2, encoder.width, generator=torch.Generator().manual_seed(0))
    assert [name for name, _ in head.named_parameters()] == ["out.weight", "out.bias"]
    torch.testing.assert_close(head(context), nn.functional.linear(context, *head.out.parameters()))


def test_dropout_is_on_in_training_only(encoder):
    head = build_linear(LinearHead(dropout=0.5), encoder=encoder, labels=LABELS)
    context = torch.ones(1, encoder.width)
    torch.manual_seed(0)
    assert not torch.equal(head.train()(context), head(context))
    assert torch.equal(head.eval()(context), head(context))


# Heads that score label by label.

WISE = {
    "per-label": PerLabelHead(),
    "shared": SharedHead(),
    "lame": LameHead(),
    "lame-shared": LameHead(shared=True),
    "match": MatchHead(),
    "match-loud": MatchHead(scale="none"),
    "match-plain": MatchHead(map="none"),
    "cosine": CosineHead(),
}
HOLDS_LABELS = ("per-label", "lame", "cosine")
SAME_WIDTH = ("match-plain", "cosine")


def build(name, **settings):
    """Build a head for contexts of width 6 and label vectors of width 4, or 6 if compared."""
    spec = WISE[name].model_copy(update=settings)
    torch.manual_seed(0)
    encoder = SimpleNamespace(width=6 if name in SAME_WIDTH else 4)
    head = registry.build(spec, encoder=encoder, labels=LABELS, width=6).eval()
    with torch.no_grad():
        for number, parameter in enumerate(head.parameters()):
            random = torch.Generator().manual_seed(number)
            parameter += 0.5 * torch.randn(parameter.shape, generator=random)
        if name == "cosine":
            head.means += torch.tensor([0.1, -0.2, 0.3])
    return head


def contexts(name, labels=3):
    random = torch.Generator().manual_seed(8)
    width = 6 if name in SAME_WIDTH else 4
    context = torch.randn(2, labels, 6, generator=random)
    return context, LabelStates(torch.randn(labels, width, generator=random))


def slow(name, p, v, u, label):
    """Score one context against one label from a table of weights, number by number."""
    if name.startswith("match"):
        scale = 1 if name == "match-loud" else len(u) ** -0.5
        return (p["map.weight"] @ v if "map.weight" in p else v) @ u * scale + p["bias"]
    if name == "cosine":
        cosine = v @ u / np.sqrt((v @ v) * (u @ u))
        like = (cosine - p["means"][label]) * p["scale"] / 0.1
        return like + p["vectors"][label] @ v + p["biases"][label]
    if name.startswith("lame"):
        inside = np.tanh(p["inner.weight"] @ v + p["inner.bias"])
        v = np.tanh(p["outer.weight"] @ inside + p["outer.bias"])
        p = {key.removeprefix("out."): x for key, x in p.items()}
    if name in HOLDS_LABELS:
        return p["weights"][label] @ v + p["biases"][label]
    return p.get("out.weight", p.get("weight"))[0] @ v + p.get("out.bias", p.get("bias"))[0]


@pytest.mark.parametrize("name", WISE)
def test_label_wise_scores_equal_the_slow_reference(name):
    head = build(name)
    context, labels = contexts(name)
    names = dict(head.named_parameters())
    if name == "lame-shared":
        names = {k.replace("out.out.", "out."): x for k, x in names.items()}
    names |= dict(head.named_buffers())
    table = {k: x.detach().double().numpy() for k, x in names.items()}
    found = head(context, labels)
    assert found.shape == (2, 3) and head.per_label
    for row in range(2):
        for label in range(3):
            v, u = context[row, label].double().numpy(), labels.states[label].double().numpy()
            assert found[row, label].item() == pytest.approx(slow(name, table, v, u, label), 1e-5)


@pytest.mark.parametrize("name", WISE)
def test_some_labels_score_as_among_all(name):
    head = build(name)
    context, labels = contexts(name)
    whole = head(context, labels)
    for which in (slice(1, 3), torch.tensor([2, 0])):
        some = head(context[:, which], labels.rows(which), which)
        torch.testing.assert_close(some, whole[:, which])


@pytest.mark.parametrize("name", WISE)
def test_permuting_labels_permutes_label_wise_scores(name):
    order = torch.tensor([2, 0, 1])
    head, turned = build(name), build(name)
    state = {k: x[order] if k.endswith(("weights", "biases", "vectors", "means")) else x
             for k, x in head.state_dict().items()}  # fmt: skip
    turned.load_state_dict(state)
    context, labels = contexts(name)
    after = turned(context[:, order], labels.rows(order))
    torch.testing.assert_close(after, head(context, labels)[:, order])


@pytest.mark.parametrize("name", WISE)
def test_only_some_heads_can_score_a_label_that_no_row_trained(name):
    """The others hold weights of each label."""
    head = build(name)
    held = [n for n, p in head.named_parameters() if len(LABELS) in p.shape]
    assert bool(held) == (name in HOLDS_LABELS)
    if not held:
        context, labels = contexts(name, labels=9)
        assert head(context, labels).shape == (2, 9)


@pytest.mark.parametrize("name", WISE)
def test_label_wise_dropout_is_on_in_training_only(name):
    head = build(name, dropout=0.5)
    context, labels = contexts(name)
    assert torch.equal(head(context, labels), head(context, labels))
    head.train()
    assert not torch.equal(head(context, labels), head(context, labels))


def test_per_label_weights_are_the_label_vectors(encoder):
    head = build_per_label(PerLabelHead(), encoder=encoder, labels=LABELS, width=50)
    assert head.label_vectors is head.weights
    assert head.weights.shape == (3, 50) and head.weights.requires_grad
    assert head.weights.abs().max() <= (6 / 53) ** 0.5
    many = LabelSet.from_ids([f"l{i}" for i in range(200)])
    spread = build_per_label(PerLabelHead(spread=0.03), encoder=encoder, labels=many, width=50)
    assert spread.weights.std().item() == pytest.approx(0.03, rel=0.05)
    narrow = build_per_label(PerLabelHead(), encoder=encoder, labels=LABELS)
    assert narrow.weights.shape == (3, encoder.width)


@pytest.mark.parametrize("name", ["match", "match-plain", "cosine"])
def test_matching_needs_equal_widths(name):
    with pytest.raises(ShapeError, match=rf'"{WISE[name].kind}" .*found \d and 5'):
        build(name)(contexts(name)[0], LabelStates(torch.zeros(3, 5)))
    assert MatchHead().needs() == ("label_states",)


def test_a_cosine_head_starts_from_likeness_above_the_mean_and_from_nothing_else():
    torch.manual_seed(0)
    encoder = SimpleNamespace(width=6)
    head = registry.build(CosineHead(temperature=0.5), encoder=encoder, labels=LABELS).eval()
    context, labels = contexts("cosine")
    cosine = nn.functional.cosine_similarity(context, labels.states, dim=-1)
    torch.testing.assert_close(head(context, labels), cosine / 0.5)
    with head.measuring():
        head(context[:1, :2], labels.rows(slice(0, 2)), slice(0, 2))
        head(context[1:, [1, 0]], labels.rows(torch.tensor([1, 0])), torch.tensor([1, 0]))
    mean = cosine.mean(dim=0)
    torch.testing.assert_close(head.means, torch.tensor([mean[0], mean[1], 0]))  # "c" saw none
    torch.testing.assert_close(head(context, labels), (cosine - head.means) / 0.5)
    head.start_at(torch.tensor([-1.0, 0.0, 2.0]))
    torch.testing.assert_close(head(context, labels).mean(dim=0)[:2], torch.tensor([-1.0, 0.0]))
    bare = registry.build(CosineHead(vectors=False), encoder=encoder, labels=LABELS)
    assert {n for n, _ in bare.named_parameters()} == {"scale", "biases"}


def test_a_stopped_measuring_leaves_the_means():
    head = build("cosine")
    before = head.means.clone()
    with pytest.raises(KeyboardInterrupt), head.measuring():
        head(*contexts("cosine"))
        raise KeyboardInterrupt
    assert torch.equal(head.means, before)
    with head.measuring():
        pass
    assert torch.equal(head.means, before)


def test_identity_hands_scores_on(encoder):
    head = build_identity(IdentityHead(), encoder=encoder, width=1)
    assert head.per_label and not list(head.parameters())
    scores = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(head(scores.unsqueeze(-1)), scores)
    with pytest.raises(RecipeError, match=r"width 6; allowed: .*position-bilinear"):
        build_identity(IdentityHead(), encoder=encoder, width=6)


@pytest.mark.parametrize(
    "spec",
    [
        LinearHead(),
        PerLabelHead(),
        SharedHead(),
        LameHead(),
        LameHead(shared=True),
        MatchHead(),
        CosineHead(),
    ],
    ids=lambda s: f"{s.kind}-{getattr(s, 'shared', '')}",
)
def test_a_silenced_head_starts_from_zero_and_still_learns(spec, encoder):
    torch.manual_seed(0)
    head = registry.build(spec, encoder=encoder, labels=LABELS).eval()
    labels = LabelStates(torch.randn(3, encoder.width))
    shape = (2, 3, encoder.width) if head.per_label else (2, encoder.width)
    read = [torch.randn(shape), *((labels, slice(None)) if head.per_label else ())]
    assert head(*read).abs().max() > 1e-3
    head.silence()
    assert torch.equal(head(*read), torch.zeros(2, 3))
    (head(*read) - 1).square().sum().backward()
    assert any(p.grad is not None and bool(p.grad.any()) for p in head.parameters())
    with torch.no_grad():
        for p in head.parameters():
            if p.grad is not None:
                p.sub_(0.01 * p.grad)
    assert head(*read).mean() > 0


class TestBiases:
    COUNTS, DOCUMENTS = (90, 10, 0), 100

    def test_prior_logits_by_hand(self):
        found = prior_logits(self.COUNTS, self.DOCUMENTS, shift=-1.0)
        odds = [90.5 / 10.5, 10.5 / 90.5, 0.5 / 100.5]
        np.testing.assert_allclose(found, np.log(odds) + 1.0, rtol=1e-6)
        assert prior_logits((5,), 5).isfinite().all()

    @pytest.mark.parametrize(
        "spec", [LinearHead(), PerLabelHead(), LameHead(), SharedHead(), LameHead(shared=True),
                 MatchHead(), CosineHead()],
    )  # fmt: skip
    def test_a_head_starts_at_the_labels_shares(self, encoder, spec):
        head = registry.build(spec, encoder=encoder, labels=LABELS, width=encoder.width).eval()
        wanted = prior_logits(self.COUNTS, self.DOCUMENTS)
        head.start_at(wanted)
        head.silence()
        states = LabelStates(torch.zeros(3, encoder.width))
        context = torch.randn(4, 3, encoder.width)
        found = head(context, states) if head.per_label else head(context[:, 0])
        own = isinstance(spec, (LinearHead, PerLabelHead, CosineHead)) or spec == LameHead()
        if own:
            torch.testing.assert_close(found, wanted.expand(4, 3))
        else:  # one bias for all: their mean probability
            torch.testing.assert_close(
                found.sigmoid(), wanted.sigmoid().mean().expand(4, 3), rtol=1e-4, atol=1e-5
            )
