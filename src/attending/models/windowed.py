"""Raw scores of rows by a model that reads windows of tokens. No torch here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.data.layout import by_length
from attending.data.windows import Windowed, Windower
from attending.models.base import Progress, Scored, unreadable
from attending.records import Coverage, Document, Row, Unreadable

_CHUNK = 2048

Logits = Callable[[Sequence[Document], Sequence[Windowed]], NDArray[np.float64]]
"""From documents and their windows to raw scores, (B, L)."""
Together = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""``map``, or what does the same with several threads."""


def score_windowed(
    rows: Sequence[Row],
    windower: Windower,
    logits: Logits,
    batch: int,
    progress: Progress | None = None,
    together: Together = map,
) -> list[Scored]:
    """Return raw scores of each row, in order.

    Documents are scored ``batch`` at a time, longest first among a chunk of rows; one with nothing
    to read gets its status instead, one whose scores are not finite fails. ``together`` maps
    ``logits`` over the groups, in order.
    """

    def score(members: Sequence[tuple[int, Document, Windowed]]) -> NDArray[np.float64]:
        return logits([d for _, d, _ in members], [w for _, _, w in members])

    results: list[Scored] = [Scored("failed", Coverage(0, 0, 0))] * len(rows)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        to_read = _window(chunk, windower, results, start)
        done = start + len(chunk) - len(to_read)
        lengths = [w.length for _, _, w in to_read]
        groups = [[to_read[i] for i in group] for group in by_length(lengths, batch)]
        for members, found in zip(groups, together(score, groups), strict=True):
            for (i, _, windowed), row in zip(members, found, strict=True):
                results[i] = _scored(windowed, row)
            done += len(members)
            if progress is not None:
                progress(done, len(rows))
    return results


def _window(
    rows: Sequence[Row], windower: Windower, results: list[Scored], start: int
) -> list[tuple[int, Document, Windowed]]:
    """Return number, document and windows of rows with something to read; settle the others."""
    windowed = iter(windower([row.text for row in rows if isinstance(row, Document)]))
    to_read = []
    for i, row in enumerate(rows, start):
        if isinstance(row, Unreadable):
            results[i] = unreadable(row)
            continue
        found = next(windowed)
        if found.windows:
            to_read.append((i, row, found))
        else:
            results[i] = Scored(found.status, found.read, None, found.status)
    return to_read


def _scored(windowed: Windowed, logits: NDArray[np.float64]) -> Scored:
    if np.isfinite(logits).all():
        return Scored("ok", windowed.read, logits)
    return Scored("failed", windowed.read, None, "the scores are not finite")
