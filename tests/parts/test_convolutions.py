"""Convolutions and norms that never see padding."""

import torch

from attending.parts.convolutions import Convolution, RealBatchNorm


def test_even_kernels_keep_the_length_and_drop_the_last_of_the_published_positions():
    layer = Convolution(2, 3, 4)
    x = torch.randn(1, 2, 6)
    published = torch.nn.functional.conv1d(x, layer.weight, layer.bias, padding=2)
    assert published.shape[-1] == 7
    torch.testing.assert_close(layer(x), published[..., :6])


def test_norms_learn_from_real_tokens_alone():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    x = torch.randn(2, 4, 3)
    x[1, :, 1:] = 1e6
    norm = RealBatchNorm(4).train()
    real = x.transpose(1, 2)[mask]
    found = norm(x, mask).transpose(1, 2)[mask]
    expected = (real - real.mean(0)) / torch.sqrt(real.var(0, unbiased=False) + norm.eps)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(norm.running_mean, 0.1 * real.mean(0))
    torch.testing.assert_close(norm.running_var, 0.9 + 0.1 * real.var(0))
    plain = torch.nn.BatchNorm1d(4).train()
    torch.testing.assert_close(RealBatchNorm(4)(x[:1], mask[:1]), plain(x[:1]))


def test_a_batch_of_one_token_can_be_trained_on():
    norm = RealBatchNorm(2).train()
    x = torch.tensor([[[1.0, 5.0], [2.0, 5.0]]])
    found = norm(x, torch.tensor([[True, False]]))
    torch.testing.assert_close(found[..., 0], torch.tensor([[1.0, 2.0]]), atol=1e-4, rtol=1e-4)
    assert not norm.running_mean.any()
