"""Heads."""

import torch
from torch import nn

from attending.parts.heads import build_linear
from attending.records import LabelSet
from attending.specs import LinearHead

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
