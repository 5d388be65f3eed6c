"""Joint label attention: groups first, then labels."""

import numpy as np
import pytest
import torch

from attending.parts.joint import build_joint
from attending.records import LabelSet
from attending.specs import JointAttention
from attending.tensors import LabelStates, TokenStates

IDS = ("C34.1", "A01.0", "C34.9", "C34")
LENGTHS = (6, 3)
LABELS = LabelSet.from_ids(IDS)


@pytest.fixture
def joint(encoder):
    def build(labels=LABELS, **settings):
        torch.manual_seed(0)
        spec = JointAttention(size=10, appended=4, **settings)
        part = build_joint(spec, encoder=encoder, labels=labels)
        with torch.no_grad():
            for number, parameter in enumerate(part.parameters()):
                random = torch.Generator().manual_seed(number)
                parameter += 0.3 * torch.randn(parameter.shape, generator=random)
        return part

    return build


@pytest.fixture
def tokens(encoder):
    states = torch.randn(2, 6, encoder.width, generator=torch.Generator().manual_seed(1))
    return TokenStates(states, torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slow_pool(vector, keys, states):
    scores = keys @ vector
    raised = np.exp(scores - scores.max())
    return raised / raised.sum() @ states


def test_equals_the_slow_reference(joint, tokens, encoder):
    part = joint()
    p = {n: x.detach().double().numpy() for n, x in part.named_parameters()}
    labels = LabelStates(torch.randn(4, 10, generator=torch.Generator().manual_seed(2)))
    prepared = part.prepare(tokens)
    attended = part(prepared, labels)
    assert part.width == encoder.width + 4 == attended.context.shape[-1]
    assert prepared.groups.shape == (2, 2)
    for row, length in enumerate(LENGTHS):
        states = tokens.states[row, :length].double().numpy()
        keys = np.tanh(states @ p["group_project.weight"].T)
        logits = np.array(
            [
                slow_pool(u, keys, states) @ w + b
                for u, w, b in zip(
                    p["group_vectors"], p["group_weights"], p["group_biases"], strict=True
                )
            ]
        )
        np.testing.assert_allclose(prepared.groups[row].detach().numpy(), logits, atol=1e-5)
        told = sigmoid(p["tell.weight"] @ sigmoid(logits))
        keys = np.tanh(states @ p["project.weight"].T)
        for label, u in enumerate(labels.states.double().numpy()):
            expected = np.concatenate([slow_pool(u, keys, states), told])
            found = attended.context[row, label].detach().numpy()
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_order_of_labels_moves_no_group(joint, tokens):
    part = joint()
    turned = joint(LabelSet.from_ids(IDS[::-1]))
    assert turned.group_ids == part.group_ids == ("A01", "C34")
    assert part.group_of.tolist() == turned.group_of.tolist()[::-1] == [1, 0, 1, 1]
    turned.load_state_dict(part.state_dict())
    assert torch.equal(turned.prepare(tokens).groups, part.prepare(tokens).groups)
    assert turned.group_of.tolist() == [1, 1, 0, 1]
