"""What an encoder that isn't trained makes of windows, kept from one pass to the next."""

from collections.abc import Callable

import torch
from torch import Tensor

from attending.tensors import STEP

MOST_BYTES = 2 * 2**30
"""States beyond this are made anew each time: those of about 3,700 abstracts of 370 tokens at
width 384."""


class RememberedStates:
    """Encodes each distinct window once, a window at a time, and keeps its states.

    Apart from each other, windows have the same states whatever they come with, so that a training
    that is taken up again, with nothing kept, goes on as it would have.

    Args:
        encode: From ids and mask, (1, T), to states (1, T, H).
        most: Bytes that may be kept.

    Attributes:
        size: Bytes that are kept.
        encoded: Windows that were encoded so far.
    """

    def __init__(self, encode: Callable[[Tensor, Tensor], Tensor], most: int = MOST_BYTES) -> None:
        self.encode, self.most = encode, most
        self.size = self.encoded = 0
        self._kept: dict[tuple[bytes, torch.dtype | None], Tensor] = {}

    @torch.no_grad()
    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return states (W, T, H) of windows, ids and mask (W, T), on a CPU; 0 on padding.

        Tokens of a window must come first.
        """
        rows = []
        for row, length in zip(ids, mask.sum(dim=1).tolist(), strict=True):
            rows.append(self._states(row[: -(-length // STEP) * STEP], length))
        found = rows[0].new_zeros(*ids.shape, rows[0].shape[-1])
        for row, states in zip(found, rows, strict=True):
            row[: len(states)] = states
        return found

    def _states(self, ids: Tensor, length: int) -> Tensor:
        """Return the states (length, H) of one window, of which so many ids are real."""
        precision = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
        key = ids[:length].numpy().tobytes(), precision
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        states = self.encode(ids[None], (torch.arange(len(ids)) < length)[None])[0, :length].clone()
        self.encoded += 1
        size = states.numel() * states.element_size()
        if self.size + size <= self.most:
            self._kept[key], self.size = states, self.size + size
        return states
