"""Label attention a few labels at a time, so that its memory is flat in their number."""

from collections.abc import Iterator

from attending.tensors import TokenStates

CELLS = 2**24
"""Cells of label attention, documents x labels x (tokens + width), that are held at a time."""


def label_chunks(labels: int, tokens: TokenStates) -> Iterator[slice]:
    """Yield slices of labels whose attention over these tokens stays within ``CELLS`` cells."""
    size = label_chunk(tokens)
    for start in range(0, labels, size):
        yield slice(start, min(labels, start + size))


def label_chunk(tokens: TokenStates) -> int:
    """Return how many labels may attend over these tokens at a time."""
    rows, length, width = tokens.states.shape
    return max(1, CELLS // (rows * (length + width)))
