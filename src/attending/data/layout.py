"""Where the tokens of windows lie: in whole documents, in texts, in groups of like length.

No torch here: exported models lay their windows out in the same way.

Letters: B documents, W windows, T cells of a window, S columns of a document.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attending.data.windows import Windowed, owners

Ints = NDArray[np.int64]


def document_layout(documents: Sequence[Windowed], width: int) -> tuple[Ints, Ints]:
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
    shape = len(found), max(len(cells) for cells, _ in found)
    layout, positions = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
    for i, (cells, numbers) in enumerate(found):
        layout[i, : len(cells)] = cells
        positions[i, : len(cells)] = numbers
    return layout, positions


def _layout(document: Windowed, row: int, width: int) -> tuple[Ints, Ints]:
    """Return cells and token numbers of one document, whose first window is ``row``."""
    owner = owners(document)
    starts = np.array([i * width + w.before - w.first for i, w in enumerate(document.windows)])
    cells = row * width + starts[owner] + np.arange(len(owner))
    first, last = document.windows[0], document.windows[-1]
    before = row * width + np.arange(first.before)
    end = last.before + last.tokens
    after = (row + len(document.windows) - 1) * width + np.arange(end, len(last.ids))
    numbers = np.concatenate(
        [np.full(len(before), -1), np.arange(len(cells)), np.full(len(after), -1)]
    )
    return np.concatenate([before, cells, after]), numbers


def words_under(documents: Sequence[Windowed], width: int) -> Ints:
    """Return the word under each cell, (W, width), 0 for special tokens and padding."""
    found = np.zeros((sum(len(d.windows) for d in documents), width), np.int64)
    row = 0
    for document in documents:
        for window in document.windows:
            own = document.words[window.first : window.first + window.tokens]
            found[row, window.before : window.before + len(own)] = own
            row += 1
    return found


def over_tokens(document: Windowed, table: NDArray[np.float32], adds_up: bool) -> tuple[float, ...]:
    """Lay the windows' columns (W, T) over a text's tokens; overlaps are summed or averaged."""
    total = np.zeros(len(document.offsets))
    times = np.zeros(len(document.offsets))
    for window, row in zip(document.windows, table, strict=True):
        here = slice(window.first, window.first + window.tokens)
        total[here] += row[window.before : window.before + window.tokens]
        times[here] += 1
    return tuple((total if adds_up else total / np.maximum(times, 1)).tolist())


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
