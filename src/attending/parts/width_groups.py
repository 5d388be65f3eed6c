"""Which windows of a batch to encode together, so that little of what is computed is padding.

A document's last window is mostly shorter than the others, so batches of long documents are padded
by about a third, and attention over padding costs with the square. Windows of like width are
encoded apart from longer ones, where that saves enough.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from attending.parts.attention import AttentionCall
from attending.tensors import STEP

SAVED = 1 / 16
"""The part of a batch's cells that a group of its own must save, to be worth a pass of its own."""
FEWEST = 256
"""The fewest cells that it must save."""


def width_groups(mask: Tensor) -> list[tuple[Tensor, int]]:
    """Group windows, mask (W, T) bool, real tokens first: their rows, int64, and their width.

    No groups, so that all go in one pass, where nothing is worth a pass of its own: where that
    saves too little, where tokens don't come first, on an accelerator, for which one product is
    quicker than two, and while a graph is recorded. Otherwise two or more, each row in one, the
    widest first.
    """
    if not is_plain(mask) or len(mask) < 2:
        return []
    lengths, order = mask.sum(dim=1).sort(descending=True, stable=True)
    widths = (-(-lengths // STEP) * STEP).clamp(min=STEP, max=mask.shape[1]).tolist()
    cuts = _cuts([mask.shape[1], *widths[1:]], max(FEWEST, int(SAVED * mask.numel())))
    if len(cuts) == 1:
        return []
    ends = [*cuts[1:], len(mask)]
    firsts = [mask.shape[1], *(widths[i] for i in cuts[1:])]
    return [(order[a:b], width) for a, b, width in zip(cuts, ends, firsts, strict=True)]


def is_plain(mask: Tensor) -> bool:
    """Say whether windows, mask (W, T), can be taken apart: on a CPU, with real tokens first."""
    if torch.compiler.is_compiling() or mask.ndim != 2 or mask.device.type != "cpu":
        return False
    return not bool((mask[:, 1:] > mask[:, :-1]).any())


def _cuts(widths: list[int], least: int) -> list[int]:
    """Return where groups start, in falling ``widths``: the best cut, then the best of the rest."""
    cuts, start = [0], 0
    while True:
        rest = len(widths) - start
        saved, cut = max(
            ((widths[start] - widths[start + i]) * (rest - i), start + i) for i in range(rest)
        )
        if saved < least:
            return cuts
        cuts.append(cut)
        start = cut


def in_groups(
    encode: Callable[[Tensor, Tensor, AttentionCall | None], Tensor],
    vectors: Tensor,
    mask: Tensor,
    groups: Sequence[tuple[Tensor, int]],
    call: AttentionCall | None = None,
) -> Tensor:
    """Encode groups one after another: vectors (W, T, E) and mask (W, T) to states (W, T, H).

    ``encode`` takes both of one group, as wide as its longest window, and its part of the
    ``call``. States beyond are 0, and so is what a call records there.
    """
    order = torch.cat([rows for rows, _ in groups]).argsort()
    calls = [call and call.part(rows, width) for rows, width in groups]
    found = []
    for (rows, width), part in zip(groups, calls, strict=True):
        states = encode(vectors[rows, :width], mask[rows, :width], part)
        found.append(functional.pad(states, (0, 0, 0, mask.shape[1] - width)))
    if call is not None:
        call.record([part.trace for part in calls if part is not None], order)
    return torch.cat(found)[order]
