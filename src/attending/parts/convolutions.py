"""Convolutions over word vectors that keep the length and never see padding.

States run channels first, (W, C, T), as the kernels want them; mask is (W, T) bool. Whatever
enters a convolution is zero at padding, so that a text's end looks the same in every batch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Convolution(nn.Conv1d):
    """A convolution whose output is as long as its input, (W, C, T) to (W, F, T).

    A position sees floor(k/2) positions before it. Deviation: for even k the public code of CAML
    pads floor(k/2) on both sides and so gains a position at the end; that one is left out.
    """

    def __init__(self, channels: int, filters: int, kernel: int, *, bias: bool = True) -> None:
        super().__init__(channels, filters, kernel, padding=kernel // 2, bias=bias)
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Convolve states that are zero at padding."""
        return super().forward(input)[..., : input.shape[-1]]


class RealBatchNorm(nn.BatchNorm1d):
    """Batch normalisation whose statistics are of real tokens alone.

    Deviation: the public code of MultiResCNN counts padding in, so that a score changes with the
    batch it is computed in. Here, too, training sees each batch's own statistics; at prediction
    the running ones make a document's states independent of its batch.
    """

    def forward(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalise states (W, C, T), each channel over the tokens that ``mask`` (W, T) calls real.

        Padding gets numbers that mean nothing.
        """
        if not self.training or mask is None or (bool(mask.all()) and mask.numel() > 1):
            return super().forward(input)
        if int(mask.sum()) < 2:  # one token has no spread
            return nn.functional.batch_norm(
                input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        last = input.transpose(1, 2)
        out = torch.zeros_like(last)
        out[mask] = super().forward(last[mask]).to(out.dtype)
        return out.transpose(1, 2)


class ParallelConvolutions(nn.Module):
    """One convolution or several side by side, each followed by the activation; concatenated.

    Source: CAML, arXiv:1802.05695, section 2.1 (one, tanh); Kim 2014, section 2 (several, ReLU).
    Deviation: Kim's convolutions are narrow, so that no text may be shorter than a kernel.

    Args:
        channels: Width of what comes in.
        kernels: Length of each branch's filters.
        filters: Number of each branch's filters.
        activation: ``tanh`` or ``relu``.
    """

    def __init__(
        self, channels: int, kernels: Sequence[int], filters: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        self.width = sum(filters)
        self.branches = nn.ModuleList(
            Convolution(channels, f, k) for k, f in zip(kernels, filters, strict=True)
        )
        self.activation = nn.Tanh() if activation == "tanh" else nn.ReLU()

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, T, H) of vectors (W, T, D) that are zero at padding."""
        first = vectors.transpose(1, 2)
        states = [self.activation(branch(first)) for branch in self.branches]
        return torch.cat(states, dim=1).transpose(1, 2)


class ResidualBranch(nn.Module):
    """A tanh convolution of one kernel, then a residual block of two more.

    Source: MultiResCNN, arXiv:1912.00862, sections 3.2 and 3.3, with batch normalisation and
    without biases as in the public code.

    Args:
        channels: Width of what comes in.
        filters: Number of the block's filters.
        kernel: Length of all filters but the shortcut's.
        dropout: After the block.
    """

    def __init__(self, channels: int, filters: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.first = Convolution(channels, channels, kernel, bias=False)
        self.second = Convolution(channels, filters, kernel, bias=False)
        self.third = Convolution(filters, filters, kernel, bias=False)
        self.shortcut = Convolution(channels, filters, 1, bias=False)
        self.second_norm = RealBatchNorm(filters)
        self.third_norm = RealBatchNorm(filters)
        self.shortcut_norm = RealBatchNorm(filters)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, F, T) of vectors (W, C, T) that are zero at padding."""
        real = mask.unsqueeze(1)
        # Without biases and after tanh, padding would still hold what its neighbours sent.
        first = torch.tanh(self.first(vectors)) * real
        inner = torch.tanh(self.second_norm(self.second(first), mask)) * real
        block = self.third_norm(self.third(inner), mask)
        short = self.shortcut_norm(self.shortcut(first), mask)
        states: Tensor = self.dropout(torch.tanh(block + short))
        return states


class ResidualConvolutions(nn.Module):
    """Residual branches of several kernels, concatenated, tanh.

    Source: MultiResCNN, as ``ResidualBranch``.
    """

    def __init__(self, channels: int, kernels: Sequence[int], filters: int, dropout: float) -> None:
        super().__init__()
        self.width = filters * len(kernels)
        self.branches = nn.ModuleList(
            ResidualBranch(channels, filters, kernel, dropout) for kernel in kernels
        )

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, T, H) of vectors (W, T, D) that are zero at padding."""
        first = vectors.transpose(1, 2)
        states = torch.cat([branch(first, mask) for branch in self.branches], dim=1)
        return torch.tanh(states).transpose(1, 2)
