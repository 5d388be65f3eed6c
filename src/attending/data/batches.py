"""Batches: windows of some documents, padded to the longest of them."""

from collections.abc import Sequence

import torch

from attending.data.windows import Windowed
from attending.tensors import Batch


def collate(documents: Sequence[Windowed], pad: int, targets: Sequence[int] | None = None) -> Batch:
    """Make a batch of windowed documents; ``pad`` is the id of the padding token.

    Returns ids and mask (W, T), document (W,), targets (B,) or ``None``.
    """
    rows = [(i, w.ids) for i, d in enumerate(documents) for w in d.windows]
    width = max(len(ids) for _, ids in rows)
    ids = torch.full((len(rows), width), pad, dtype=torch.int64)
    mask = torch.zeros((len(rows), width), dtype=torch.bool)
    for row, (_, window) in enumerate(rows):
        ids[row, : len(window)] = torch.tensor(window)
        mask[row, : len(window)] = True
    return Batch(
        ids=ids,
        mask=mask,
        document=torch.tensor([i for i, _ in rows]),
        size=len(documents),
        targets=None if targets is None else torch.tensor(list(targets)),
    )


def by_length(lengths: Sequence[int], size: int, most_tokens: int = 16384) -> list[list[int]]:
    """Group positions into batches of like length, longest first, for prediction.

    A batch holds at most ``size`` documents and, unless it is a single one, ``most_tokens``
    tokens after padding.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    for i in order:
        batch = batches[-1] if batches else None
        if batch and len(batch) < size and lengths[batch[0]] * (len(batch) + 1) <= most_tokens:
            batch.append(i)
        else:
            batches.append([i])
    return batches
