"""The attention function that the library's encoders call."""

import copy

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attending.parts.attention import UNFUSED_TOKENS, AttentionCall, label_queries, unfused
from attending.tensors import AttentionTrace

FAMILIES = ("bert", "roberta", "electra", "distilbert")


def heads(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("room", [1, 2**20], ids=["a window at a time", "all at once"])
@pytest.mark.parametrize("masked", [False, True])
def test_plain_products_equal_the_fused_kernel(masked, room, monkeypatch):
    monkeypatch.setattr("attending.parts.attention.GROUP_BYTES", room)
    query, key, value = (heads(3, 2, 7, size) * size**0.5 for size in (8, 8, 8))
    mask = None
    if masked:
        real = torch.tensor([7, 3, 1])[:, None] > torch.arange(7)
        mask = real[:, None, None, :].expand(3, 1, 7, 7)
    found = unfused(query, key, value, mask, scaling=0.25)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.25)
    torch.testing.assert_close(found, expected.transpose(1, 2))


@pytest.mark.parametrize("family", FAMILIES)
def test_training_without_dropout_computes_what_prediction_does(family, encoder_of, padded):
    encoder = encoder_of(family)
    ids, mask = padded(encoder)
    assert ids.shape[1] <= UNFUSED_TOKENS
    dropouts = [m for m in encoder.modules() if isinstance(m, torch.nn.Dropout)]
    rates = [m.p for m in dropouts]
    expected = encoder(ids, mask).states
    for module in dropouts:
        module.p = 0.0
    try:
        found = encoder.train()(ids, mask).states
    finally:
        for module, rate in zip(dropouts, rates, strict=True):
            module.p = rate
        encoder.eval()
    real = mask.unsqueeze(-1).expand_as(found)
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=0)


def test_a_layer_s_own_map_projects_the_labels(encoder_of):
    for family, name in (("bert", "query"), ("distilbert", "q_lin")):
        encoder = encoder_of(family)
        module = next(m for m in encoder.modules() if hasattr(m, name))
        labels = heads(3, encoder.width)
        found = label_queries(module, labels, 4)
        assert found.shape == (4, 3, 8)
        flat = labels @ getattr(module, name).weight.T + getattr(module, name).bias
        torch.testing.assert_close(found[2], flat[:, 16:24])


def test_layers_are_counted_and_chosen():
    mask = torch.ones(1, 2, dtype=torch.bool)
    call = AttentionCall(mask=mask, label_rows=torch.ones(1, 4), layers=frozenset({1}))
    assert [call.next_sees_labels() for _ in range(3)] == [False, True, False]
    assert not AttentionCall(mask=mask).next_sees_labels()
    assert AttentionCall(mask=mask, inserted=2).next_sees_labels()


@pytest.mark.parametrize("family", FAMILIES)
def test_recording_a_plain_pass_gives_the_library_s_own_weights(family, encoder_of, padded):
    encoder = copy.deepcopy(encoder_of(family)).double()
    ids, mask = padded(encoder)
    trace = AttentionTrace()
    with torch.no_grad():
        watched = encoder(ids, mask, AttentionCall(mask=mask, trace=trace)).states
        plain = encoder(ids, mask).states
        before = encoder.config._attn_implementation
        encoder.model.set_attn_implementation("eager")
        try:
            attentions = encoder.model(ids, attention_mask=mask, output_attentions=True).attentions
        finally:
            encoder.model.set_attn_implementation(before)
    torch.testing.assert_close(watched, plain, atol=1e-6, rtol=0)
    for recorded, expected in zip(trace.cls, attentions, strict=True):
        torch.testing.assert_close(recorded, expected[:, :, 0], atol=1e-6, rtol=0)
