"""LAME's cross-attention against the library's multi-head attention and a slow reference."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from attending.errors import RecipeError
from attending.parts.cross_attention import build_cross
from attending.specs import CrossAttention
from attending.tensors import LabelStates, TokenStates

MASK = torch.arange(9) < torch.tensor([9, 2, 5]).unsqueeze(1)


@pytest.fixture
def inputs(encoder):
    random = torch.Generator().manual_seed(0)
    states = torch.randn(3, 9, encoder.width, generator=random)
    return TokenStates(states, MASK), LabelStates(torch.randn(4, encoder.width, generator=random))


@pytest.fixture
def cross(encoder):
    def build(**settings):
        torch.manual_seed(1)
        return build_cross(CrossAttention(heads=4, **settings), encoder=encoder).eval()

    return build


def rows(part):
    return {n: p.detach().double().numpy() for n, p in part.named_parameters()}


def layer_norm(x, weight, bias):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-5) * weight + bias


def slow_block(p, label, states, heads):
    """One label, one document without padding: its state and the mean weights over its tokens."""
    size = len(label) // heads
    query = p["query.weight"] @ label + p["query.bias"]
    keys = [p["key.weight"] @ s + p["key.bias"] for s in states]
    values = [p["value.weight"] @ s + p["value.bias"] for s in states]
    mixed, total = [], np.zeros(len(states))
    for head in range(heads):
        here = slice(head * size, head * size + size)
        scores = np.array([query[here] @ k[here] for k in keys]) / np.sqrt(size)
        weights = np.exp(scores) / np.exp(scores).sum()
        mixed.append(sum(w * v[here] for w, v in zip(weights, values, strict=True)))
        total += weights / heads
    pooled = p["out.weight"] @ np.concatenate(mixed) + p["out.bias"]
    first = layer_norm(label + pooled, p["norm1.weight"], p["norm1.bias"])
    inside = np.maximum(p["inner.weight"] @ first + p["inner.bias"], 0)
    outside = p["outer.weight"] @ inside + p["outer.bias"]
    return layer_norm(first + outside, p["norm2.weight"], p["norm2.bias"]), total


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("blocks", [1, 2])
def test_equals_the_slow_reference(weights, blocks, cross, inputs):
    part = cross(ffn=40, blocks=blocks)
    with torch.no_grad():
        for number, parameter in enumerate(part.parameters()):
            random = torch.Generator().manual_seed(number)
            parameter += 0.1 * torch.randn(parameter.shape, generator=random)
        attended = part(part.prepare(inputs[0]), inputs[1], weights)
    tables = [rows(block) for block in part.blocks]
    for row, length in enumerate(MASK.sum(dim=1).tolist()):
        states = inputs[0].states[row, :length].double().numpy()
        for label in range(4):
            state = inputs[1].states[label].double().numpy()
            for table in tables:
                state, found = slow_block(table, state, states, 4)
            np.testing.assert_allclose(attended.context[row, label].numpy(), state, atol=1e-5)
            if weights:
                seen = attended.weights[row, label].numpy()
                np.testing.assert_allclose(seen[:length], found, atol=1e-5)
                assert (seen[length:] == 0).all()


def test_equals_the_library_s_multi_head_attention(cross, inputs, encoder):
    tokens, labels = inputs
    part = cross(ffn=40)
    block = part.blocks[0]
    library = nn.MultiheadAttention(encoder.width, 4, batch_first=True)
    pieces = (block.query, block.key, block.value)
    with torch.no_grad():
        library.in_proj_weight.copy_(torch.cat([x.weight for x in pieces]))
        library.in_proj_bias.copy_(torch.cat([x.bias for x in pieces]))
        library.out_proj.load_state_dict(block.out.state_dict())
        queries = labels.states.expand(3, -1, -1)
        pooled, weights = library(queries, tokens.states, tokens.states, key_padding_mask=~MASK)
        first = block.norm1(queries + pooled)
        expected = block.norm2(first + block.outer(functional.relu(block.inner(first))))
        attended = part(part.prepare(tokens), labels)
    torch.testing.assert_close(attended.context, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(attended.weights, weights, atol=1e-6, rtol=0)


def test_without_a_mask_padding_would_count(cross, inputs):
    """The public code's fault, so that the tests above are known to see it."""
    tokens, labels = inputs
    part = cross()
    masked = part(part.prepare(tokens), labels).context
    unmasked = TokenStates(tokens.states, torch.ones_like(MASK))
    gap = (part(part.prepare(unmasked), labels).context - masked).abs().amax(dim=(1, 2))
    assert gap[0] == 0 and (gap[1:] > 0.01).all()


@pytest.mark.parametrize("setting", ["dropout", "attention_dropout"])
@pytest.mark.parametrize("weights", [True, False])
def test_dropout_is_on_in_training_only(setting, weights, cross, inputs):
    part = cross(**{"dropout": 0.0, setting: 0.5})
    tokens, labels = inputs

    def run():
        return part(part.prepare(tokens), labels, weights).context

    assert torch.equal(run(), run())
    part.train()
    assert not torch.equal(run(), run())


def test_heads_must_divide_the_width(encoder):
    with pytest.raises(RecipeError, match=r"heads = 12 .*width 32; allowed: 1, 2, 4, 8, 16, 32\)"):
        build_cross(CrossAttention(), encoder=encoder)


def test_defaults_are_lame_s():
    spec = CrossAttention()
    assert (spec.heads, spec.blocks, spec.ffn) == (12, 1, 2048)
