"""The pooled form of position-bilinear attention against the published four-axis computation."""

import pytest
import torch
from torch import nn

from attending.errors import RecipeError, ShapeError
from attending.parts.bilinear import build_position_bilinear
from attending.specs import PositionBilinearAttention, Windows
from attending.tensors import LabelStates, TokenStates

WINDOW, DESCRIPTION = 10, 6


@pytest.fixture
def part(encoder):
    torch.manual_seed(0)
    spec = PositionBilinearAttention(label_tokens=DESCRIPTION)
    built = build_position_bilinear(spec, encoder=encoder, windows=Windows(max_tokens=WINDOW))
    with torch.no_grad():
        for number, parameter in enumerate(built.parameters()):
            parameter.copy_(some(*parameter.shape, seed=number))
    return built


def some(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def published(part, documents, descriptions):
    """Every pair of tokens, then one linear map over each side's positions; all in float64."""
    w1, w2 = nn.Linear(WINDOW, 1).double(), nn.Linear(DESCRIPTION, 1).double()
    w1.load_state_dict(part.of_window.state_dict())
    w2.load_state_dict(part.of_description.state_dict())
    pairs = torch.einsum("bih,cjh->bcji", documents.double(), descriptions.double())
    return w2(w1(pairs).squeeze(-1)).squeeze(-1)


def padded(states, mask, length):
    """Zero under false masks, then zeros up to a length."""
    states = states * mask.unsqueeze(-1)
    return nn.functional.pad(states, (0, 0, 0, length - states.shape[1]))


def score(part, tokens, labels):
    attended = part(part.prepare(tokens), labels)
    assert attended.weights is None and attended.context.shape[-1] == 1
    return attended.context.squeeze(-1)


def test_full_windows_score_as_published(part, encoder):
    documents = some(3, WINDOW, encoder.width, seed=5)
    descriptions = some(4, DESCRIPTION, encoder.width, seed=6)
    tokens = TokenStates(documents, torch.ones(3, WINDOW, dtype=torch.bool))
    mask = torch.ones(4, DESCRIPTION, dtype=torch.bool)
    found = score(part, tokens, LabelStates(descriptions[:, 0], descriptions, mask))
    expected = published(part, documents, descriptions)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)
    wide = part.double()
    twice = score(
        wide,
        TokenStates(documents.double(), tokens.mask),
        LabelStates(descriptions[:, 0], descriptions.double(), mask),
    )
    torch.testing.assert_close(twice, expected, atol=1e-12, rtol=1e-12)


def test_a_padded_position_is_a_zero_vector(part, encoder):
    """Shorter batches and descriptions score as if padded with zeros to the full size."""
    documents, descriptions = some(3, 8, encoder.width, seed=5), some(4, 5, encoder.width, seed=6)
    mask = torch.arange(8) < torch.tensor([8, 3, 5]).unsqueeze(1)
    read = torch.arange(5) < torch.tensor([5, 1, 2, 4]).unsqueeze(1)
    found = score(
        part, TokenStates(documents, mask), LabelStates(descriptions[:, 0], descriptions, read)
    )
    expected = published(
        part, padded(documents, mask, WINDOW), padded(descriptions, read, DESCRIPTION)
    )
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


def test_the_offset_is_the_same_for_all_labels(part, encoder):
    nothing = TokenStates(torch.zeros(1, 4, encoder.width), torch.ones(1, 4, dtype=torch.bool))
    read = torch.arange(5) < torch.tensor([5, 1, 2, 4]).unsqueeze(1)
    found = score(
        part, nothing, LabelStates(torch.zeros(4, 1), some(4, 5, encoder.width, seed=1), read)
    )
    weights = part.of_description.weight.sum()
    expected = part.of_window.bias * weights + part.of_description.bias
    torch.testing.assert_close(found, expected.expand(1, 4))


def test_tokens_without_a_weight_are_refused_and_padding_is_not(part, encoder):
    long = TokenStates(
        some(2, WINDOW + 3, encoder.width, seed=1), torch.arange(WINDOW + 3).expand(2, -1) < 9
    )
    part.prepare(long)
    real = TokenStates(long.states, torch.ones_like(long.mask))
    with pytest.raises(ShapeError, match=r"windows\.max_tokens is too small.*position 13.*10"):
        part.prepare(real)
    pooled = part.prepare(long)
    tokens = some(2, DESCRIPTION + 2, encoder.width, seed=2)
    labels = LabelStates(tokens[:, 0], tokens, torch.ones(2, DESCRIPTION + 2, dtype=torch.bool))
    with pytest.raises(ShapeError, match=r"label_attention\.label_tokens is too small"):
        part(pooled, labels)


def test_labels_must_come_token_by_token(part, encoder):
    pooled = part.prepare(
        TokenStates(some(1, 4, encoder.width, seed=1), torch.ones(1, 4, dtype=torch.bool))
    )
    with pytest.raises(ShapeError, match=r'token by token.*"described"'):
        part(pooled, LabelStates(some(2, encoder.width, seed=2)))


def test_whole_documents_have_no_last_position(encoder):
    windows = Windows(join="tokens")
    with pytest.raises(RecipeError, match=r'windows\.join = "tokens"; allowed'):
        build_position_bilinear(PositionBilinearAttention(), encoder=encoder, windows=windows)


def test_it_starts_as_published(encoder):
    part = build_position_bilinear(
        PositionBilinearAttention(label_tokens=400),
        encoder=encoder,
        windows=Windows(max_tokens=400),
    )
    for linear in (part.of_window, part.of_description):
        assert linear.weight.std().item() == pytest.approx(0.02, rel=0.15)
        assert linear.bias.item() == 0
