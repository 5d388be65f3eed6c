"""The one masked softmax, in every number type."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attending.errors import ShapeError
from attending.parts.losses import CrossEntropyLoss
from attending.parts.masking import mask_value, masked_mean, masked_softmax

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.fixture
def half(case):
    folder = case("D20")
    given_ = json.loads((folder / "attn.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return given_, expected["values"]


@pytest.mark.parametrize("dtype", TYPES)
def test_weights_of_half_precision_scores(half, dtype):
    row, values = half
    scores = torch.tensor(row["scores"], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor(row["mask"]).bool())
    assert weights.dtype == dtype
    assert weights.tolist() == pytest.approx(
        values["weights"], abs=1e-3 if dtype != torch.bfloat16 else 3e-3
    )
    assert weights[-1] == 0
    wide = masked_softmax(scores.float(), torch.tensor(row["mask"]).bool())
    assert wide.tolist() == pytest.approx(values["weights"], abs=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_mask_value_fits_the_type(half, dtype):
    assert torch.isfinite(torch.tensor(mask_value(dtype), dtype=dtype))
    assert -mask_value(torch.float16) == half[1]["float16_max"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_loss_of_a_nearly_certain_answer_is_finite(half, dtype):
    """1 - 1e-7 is exactly 1 in half precision, so a loss must not be taken from probabilities."""
    probability = half[0]["probability"]
    assert torch.tensor(probability, dtype=dtype) == 1
    gap = torch.tensor(probability / (1 - probability)).log()
    for target in (0, 1):
        logits = torch.stack([gap, gap * 0])[None].to(dtype).requires_grad_()
        loss = CrossEntropyLoss(None)(logits, torch.tensor([target]))
        loss.backward()
        assert torch.isfinite(loss) and torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("dtype", TYPES)
@given(
    scores=st.lists(st.floats(-60000, 60000, width=16), min_size=1, max_size=9),
    data=st.data(),
)
def test_weights_are_a_distribution_over_real_places(dtype, scores, data):
    mask = torch.tensor(
        data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    )
    weights = masked_softmax(torch.tensor(scores, dtype=dtype), mask)
    assert torch.isfinite(weights).all() and (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert float(weights.double().sum()) == pytest.approx(float(mask.any()), abs=0.02)


def test_masking_equals_leaving_out():
    scores = torch.randn(4, 3, 6, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([True, False, True, True, False, True])
    expected = torch.softmax(scores[..., mask], dim=-1)
    torch.testing.assert_close(masked_softmax(scores, mask)[..., mask], expected)
    turned = masked_softmax(scores.transpose(1, 2), mask[:, None], dim=1)
    torch.testing.assert_close(turned.transpose(1, 2)[..., mask], expected)


def test_only_a_bool_mask_is_a_mask():
    with pytest.raises(ShapeError, match=r"torch.int64.*torch.bool"):
        masked_softmax(torch.zeros(3), torch.tensor([1, 1, 0]))


def test_no_gradient_reaches_padding():
    scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    masked_softmax(scores, torch.tensor([True, True, False]))[0].backward()
    assert scores.grad[2] == 0 and scores.grad[0] != 0


def test_mean_over_real_tokens():
    states = torch.arange(12.0).reshape(2, 3, 2)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert masked_mean(states, mask).tolist() == [[1.0, 2.0], [6.0, 7.0]]
    longer = functional.pad(states, (0, 0, 0, 5), value=99.0)
    padded = masked_mean(longer, functional.pad(mask, (0, 5), value=False))
    assert torch.equal(padded, masked_mean(states, mask))
