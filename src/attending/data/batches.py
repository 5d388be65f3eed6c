"""Batches: windows of some documents, padded to the longest of them."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attending.data.windows import Windowed
from attending.tensors import Batch


def collate(
    documents: Sequence[Windowed],
    pad: int,
    targets: Sequence[int] | Sequence[Sequence[int]] | None = None,
    *,
    labels: int = 0,
    join: bool = False,
    evidence: Sequence[Sequence[tuple[int, int]]] = (),
) -> Batch:
    """Make a batch of windowed documents; ``pad`` is the id of the padding token.

    ``targets`` are one label position a document, or with ``labels`` (their number) any number of
    them. ``join`` adds the layout of whole documents, and with it ``evidence``: (label position,
    token number) of each document's annotated tokens. Returns ids and mask (W, T), document (W,),
    targets (B,) int64 or (B, L) float32 of 0 and 1, layout and positions (B, S).
    """
    rows = [(i, w.ids) for i, d in enumerate(documents) for w in d.windows]
    width = max(len(ids) for _, ids in rows)
    ids = torch.full((len(rows), width), pad, dtype=torch.int64)
    mask = torch.zeros((len(rows), width), dtype=torch.bool)
    for row, (_, window) in enumerate(rows):
        ids[row, : len(window)] = torch.tensor(window)
        mask[row, : len(window)] = True
    layout, positions = whole_documents(documents, width) if join else (None, None)
    return Batch(
        ids=ids,
        mask=mask,
        document=torch.tensor([i for i, _ in rows]),
        size=len(documents),
        targets=None if targets is None else _targets(targets, labels),
        layout=layout,
        positions=positions,
        evidence=_cells(documents, evidence) if join and any(evidence) else None,
    )


def _cells(documents: Sequence[Windowed], evidence: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """Return annotated cells (E, 3): document row, label position, column of the layout."""
    rows = [
        (row, label, document.windows[0].before + token)
        for row, (document, pairs) in enumerate(zip(documents, evidence, strict=True))
        for label, token in pairs
        if token < document.read.tokens
    ]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)


def _targets(targets: Sequence[int] | Sequence[Sequence[int]], labels: int) -> Tensor:
    if not labels:
        return torch.tensor(list(targets))
    hot = torch.zeros((len(targets), labels))
    for row, members in enumerate(targets):
        hot[row, torch.tensor(members, dtype=torch.int64)] = 1.0
    return hot


def whole_documents(documents: Sequence[Windowed], width: int) -> tuple[Tensor, Tensor]:
    """Return where each column of each document lies in windows of ``width`` cells.

    layout (B, S): the cell, counted over all windows of the batch row by row, -1 for padding;
    positions (B, S): the number of the text's token there, -1 for special tokens and padding. A
    token that several windows read is taken from the one in whose middle it lies most, where it
    sees most of its surroundings. Special tokens are those before the first window's text and
    after the last one's.
    """
    found = []
    row = 0
    for document in documents:
        found.append(_layout(document, row, width))
        row += len(document.windows)
    longest = max(len(cells) for cells, _ in found)
    layout = torch.full((len(found), longest), -1, dtype=torch.int64)
    positions = torch.full((len(found), longest), -1, dtype=torch.int64)
    for i, (cells, numbers) in enumerate(found):
        layout[i, : len(cells)] = torch.from_numpy(cells)
        positions[i, : len(cells)] = torch.from_numpy(numbers)
    return layout, positions


def _layout(
    document: Windowed, row: int, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return cells and token numbers of one document, whose first window is ``row``."""
    cells = np.zeros(document.windows[-1].first + document.windows[-1].tokens, dtype=np.int64)
    margin = np.full(len(cells), -1)
    for number, window in enumerate(document.windows):
        column = np.arange(window.tokens)
        inside = np.minimum(column, window.tokens - 1 - column)
        here = slice(window.first, window.first + window.tokens)
        better = inside > margin[here]
        start = (row + number) * width + window.before
        cells[here] = np.where(better, start + column, cells[here])
        margin[here] = np.where(better, inside, margin[here])
    first, last = document.windows[0], document.windows[-1]
    before = row * width + np.arange(first.before)
    end = last.before + last.tokens
    after = (row + len(document.windows) - 1) * width + np.arange(end, len(last.ids))
    numbers = np.concatenate(
        [np.full(len(before), -1), np.arange(len(cells)), np.full(len(after), -1)]
    )
    return np.concatenate([before, cells, after]), numbers


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
