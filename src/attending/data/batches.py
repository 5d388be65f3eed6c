"""Batches: windows of some documents, padded to the longest of them."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attending.data.layout import document_layout, words_under
from attending.data.windows import Window, Windowed
from attending.tensors import STEP, Batch, LexicalMatches


def collate(
    documents: Sequence[Windowed],
    pad: int,
    targets: Sequence[int | None] | Sequence[Sequence[int] | None] | None = None,
    *,
    labels: int = 0,
    join: bool = False,
    evidence: Sequence[Sequence[tuple[int, int]]] = (),
    lexical: LexicalMatches | None = None,
    soft: Sequence[NDArray[np.float32] | None] = (),
    limit: int = 0,
    shortlist: NDArray[np.int64] | None = None,
    vectors: Sequence[NDArray[np.float32] | None] = (),
) -> Batch:
    """Make a batch of windowed documents; ``pad`` is the id of the padding token.

    With a ``limit``, the longest that a window can be, batches have few different widths.

    ``targets`` are one label position a document, or with ``labels`` (their number) any number of
    them; ``None`` for a document without labels, of which ``soft``, a row (L,) each, then says all.
    ``vectors``, a row (H,) each, are a teacher's of the documents.
    ``join`` adds the layout of whole documents, and with it ``evidence``: (label position,
    token number) of each document's annotated tokens. ``lexical`` is what words say of these
    documents, and ``shortlist`` (B, K) are the labels that are to be scored of each: both go along
    as they are. Returns ids and mask (W, T), document (W,),
    targets (B,) int64 or (B, L) float32 of 0 and 1, -1 where there are none, soft (B, L), vectors
    (B, H), layout and positions (B, S).
    """
    rows = [(i, w) for i, d in enumerate(documents) for w in d.windows]
    ids, mask = padded([w for _, w in rows], pad, limit)
    layout, positions = whole_documents(documents, ids.shape[1]) if join else (None, None)
    return Batch(
        ids=ids,
        mask=mask,
        document=torch.tensor([i for i, _ in rows]),
        size=len(documents),
        targets=None if targets is None else _targets(targets, labels),
        soft=_stacked(soft),
        layout=layout,
        positions=positions,
        evidence=_cells(documents, evidence) if join and any(evidence) else None,
        lexical=lexical,
        words=torch.from_numpy(words_under(documents, ids.shape[1]))
        if any(d.words for d in documents)
        else None,
        shortlist=None if shortlist is None else torch.from_numpy(shortlist),
        vectors=_stacked(vectors),
    )


def rounded(width: int, limit: int) -> int:
    """Return the next multiple of ``STEP``, but not beyond ``limit`` where ``width`` is not."""
    return max(width, min(-(-width // STEP) * STEP, limit))


def padded(windows: Sequence[Window], pad: int, limit: int = 0) -> tuple[Tensor, Tensor]:
    """Return ids (W, T) int64 and mask (W, T) bool.

    They are as long as the longest window, ``rounded`` where there is a ``limit``.
    """
    width = rounded(max(len(w.ids) for w in windows), limit)
    ids = torch.full((len(windows), width), pad, dtype=torch.int64)
    mask = torch.zeros((len(windows), width), dtype=torch.bool)
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
        mask[row, : len(window.ids)] = True
    return ids, mask


def _cells(documents: Sequence[Windowed], evidence: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """Return annotated cells (E, 3): document row, label position, column of the layout."""
    rows = [
        (row, label, document.windows[0].before + token)
        for row, (document, pairs) in enumerate(zip(documents, evidence, strict=True))
        for label, token in pairs
        if token < document.read.tokens
    ]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)


def _stacked(rows: Sequence[NDArray[np.float32] | None]) -> Tensor | None:
    """Return what a teacher says of each document, a row each, if it says anything."""
    known = [row for row in rows if row is not None]
    return torch.from_numpy(np.stack(known)) if known else None


def _targets(targets: Sequence[int | None] | Sequence[Sequence[int] | None], labels: int) -> Tensor:
    if not labels:
        return torch.tensor([-1 if target is None else target for target in targets])
    hot = torch.zeros((len(targets), labels))
    for row, members in enumerate(targets):
        if members is None:
            hot[row] = -1.0
        else:
            hot[row, torch.tensor(members, dtype=torch.int64)] = 1.0
    return hot


def whole_documents(documents: Sequence[Windowed], width: int) -> tuple[Tensor, Tensor]:
    """Return layout and positions (B, S) of whole documents; see ``document_layout``."""
    layout, positions = document_layout(documents, width)
    return torch.from_numpy(layout), torch.from_numpy(positions)
