"""LSAN's mixture against a slow reference."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attending.errors import RecipeError
from attending.parts.lsan import build_lsan
from attending.specs import LsanAttention
from attending.tensors import LabelStates, TokenStates

LENGTHS = (7, 3)
VARIANTS = [
    {},
    {"directions": 1},
    {"normalise": "softmax"},
    {"self_queries": "projected"},
    {"directions": 1, "normalise": "softmax", "self_queries": "projected"},
]


def softmax(scores):
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def slow(part, spec, states, vector):
    """One label and one document without padding: context and weights."""
    p = {n: x.detach().double().numpy() for n, x in part.named_parameters()}
    size = len(states[0]) // spec.directions
    matched = vector[:size]
    query = vector[size:] if spec.self_queries == "own" else p["query.weight"] @ matched
    keys = np.tanh(states @ p["project.weight"].T + p["project.bias"])
    own_weights = softmax(keys @ query)
    own = own_weights @ states
    label, shares = [], []
    for direction in range(spec.directions):
        half = states[:, direction * size : direction * size + size]
        scores = half @ matched
        if spec.normalise == "softmax":
            scores = softmax(scores)
        label.append(scores @ half)
        shares.append(np.abs(scores) / np.abs(scores).sum())
    label = np.concatenate(label)
    gates = [
        1 / (1 + np.exp(-(p[f"gate_{n}.weight"][0] @ c + p[f"gate_{n}.bias"][0])))
        for n, c in (("label", label), ("self", own))
    ]
    first = gates[0] / sum(gates)
    weights = first * np.mean(shares, axis=0) + (1 - first) * own_weights
    return first * label + (1 - first) * own, weights


@pytest.mark.parametrize("settings", VARIANTS)
def test_equals_the_slow_reference(settings, encoder):
    torch.manual_seed(0)
    spec = LsanAttention(size=9, **settings)
    part = build_lsan(spec, encoder=encoder)
    states = torch.randn(2, 7, encoder.width)
    labels = LabelStates(torch.randn(3, part.label_width))
    mask = torch.arange(7) < torch.tensor(LENGTHS).unsqueeze(1)
    attended = part(part.prepare(TokenStates(states, mask)), labels)
    for row, length in enumerate(LENGTHS):
        for label in range(3):
            context, weights = slow(
                part,
                spec,
                states[row, :length].double().numpy(),
                labels.states[label].double().numpy(),
            )
            found = attended.context[row, label].detach().numpy()
            np.testing.assert_allclose(found, context, atol=1e-5, rtol=1e-5)
            seen = attended.weights[row, label].detach().numpy()
            np.testing.assert_allclose(seen[:length], weights, atol=1e-5)


def test_widths(encoder):
    half = encoder.width // 2
    assert build_lsan(LsanAttention(), encoder=encoder).label_width == half + 200
    described = LsanAttention(directions=1, self_queries="projected")
    part = build_lsan(described, encoder=encoder)
    assert part.label_width == part.width == encoder.width


def test_closed_gates_stay_finite(encoder):
    """Both sigmoids underflow for large contexts: as printed, the gate would be 0 / 0."""
    torch.manual_seed(0)
    part = build_lsan(LsanAttention(size=4), encoder=encoder)
    with torch.no_grad():
        part.gate_label.bias.fill_(-1e4)
        part.gate_self.bias.fill_(-2e4)
    tokens = TokenStates(torch.randn(1, 5, encoder.width), torch.ones(1, 5, dtype=torch.bool))
    labels = LabelStates(torch.randn(2, part.label_width))
    context = part(part.prepare(tokens), labels).context
    context.sum().backward()
    assert torch.isfinite(context).all()
    assert torch.isfinite(part.gate_label.weight.grad).all()


def test_states_of_odd_width_have_no_halves():
    with pytest.raises(RecipeError, match=r"directions = 2 .*width 7.*directions = 1"):
        build_lsan(LsanAttention(), encoder=SimpleNamespace(width=7))
