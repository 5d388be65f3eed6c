import pytest
import torch

from attending.parts.awd_lstm import AwdLstm


def test_without_dropout_it_is_a_stack_of_lstms():
    part = AwdLstm(3, 5, 4, layers=2).eval()
    vectors = torch.randn(2, 6, 3)
    found = part(vectors, torch.ones(2, 6, dtype=torch.bool))
    first, _ = part.layers[0](vectors)
    assert torch.equal(found, part.layers[1](first)[0]) and found.shape == (2, 6, 4)


def test_padding_reaches_no_token():
    part = AwdLstm(3, 5, 4).eval()
    vectors = torch.randn(1, 6, 3)
    mask = torch.arange(6)[None] < 4
    short = part(vectors[:, :4], mask[:, :4])
    torch.testing.assert_close(part(vectors, mask)[:, :4], short)


def test_dropped_weights_change_states_and_are_trained():
    torch.manual_seed(0)
    part = AwdLstm(3, 5, 4, layers=1, weight_dropout=0.5)
    vectors, mask = torch.randn(2, 6, 3), torch.ones(2, 6, dtype=torch.bool)
    first, second = part(vectors, mask), part(vectors, mask)
    assert torch.equal(first[:, 0], second[:, 0])  # no hidden state before the first token
    assert not torch.allclose(first[:, 2:], second[:, 2:])
    first.sum().backward()
    assert part.layers[0].weight_hh_l0.grad.abs().sum() > 0
    part.eval()
    assert torch.equal(part(vectors, mask), part(vectors, mask))


@pytest.mark.parametrize("where", ["input_dropout", "hidden_dropout"])
def test_columns_are_dropped_for_a_whole_text(where):
    torch.manual_seed(0)
    part = AwdLstm(8, 8, 8, layers=1, **{where: 0.5})
    dropped = part._locked(torch.ones(3, 5, 8), 0.5)
    assert (dropped == dropped[:, :1]).all() and 0 < (dropped == 0).float().mean() < 1
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
