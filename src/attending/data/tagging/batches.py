"""Batches of windows of words, and the copies of a batch in which one type alone is to be seen.

Letters: W windows, T tokens, N words of all windows together, K layers, C tags.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attending.data.batches import padded
from attending.data.samplers import BatchSampler
from attending.data.tagging.units import Unit
from attending.errors import ShapeError
from attending.tags import OUTSIDE, TagSet

IGNORED = -100
"""A target that counts nothing."""


@dataclass(frozen=True, slots=True)
class TagBatch:
    """Windows of one step and the words in them.

    ids (W, T) int64; mask (W, T) bool; cells (N,) int64: where each word's piece is, counting the
    W x T cells row by row; lengths (W,) int64: words of each window, which sum to N; targets
    (N, K) int64 tags, ``IGNORED`` for what doesn't count, or ``None``; shapes (W, T) int64: how the
    words are written that pieces are of, 0 for special tokens and padding, where that is read.
    """

    ids: Tensor
    mask: Tensor
    cells: Tensor
    lengths: Tensor
    targets: Tensor | None = None
    shapes: Tensor | None = None

    def __post_init__(self) -> None:
        if self.targets is not None and self.targets.shape[:1] != self.cells.shape:
            raise ShapeError(
                "one row of targets a word",
                found=str(tuple(self.targets.shape)),
                allowed=f"({len(self.cells)}, layers)",
            )

    def to(self, device: torch.device) -> "TagBatch":
        """Return the batch with its tensors on a device."""
        moved: dict[str, Any] = {
            f.name: value.to(device)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True, slots=True)
class TagExample:
    """A window to train on, and the tags (n, K) of its words (or of their pieces)."""

    unit: Unit
    targets: NDArray[np.int64]


def collate_units(
    units: Sequence[Unit],
    pad: int,
    targets: Sequence[NDArray[np.int64]] | None = None,
    limit: int = 0,
) -> TagBatch:
    """Make a batch of windows; ``pad`` is the padding token's id, ``limit`` as for ``padded``."""
    ids, mask = padded([u.window for u in units], pad, limit)
    width = ids.shape[1]
    cells = np.concatenate([row * width + u.columns for row, u in enumerate(units)])
    return TagBatch(
        ids=ids,
        mask=mask,
        cells=torch.from_numpy(cells),
        lengths=torch.tensor([len(u.columns) for u in units]),
        targets=None if targets is None else torch.from_numpy(np.concatenate(targets)),
        shapes=_shapes(units, width),
    )


def _shapes(units: Sequence[Unit], width: int) -> Tensor | None:
    """Return the shapes of pieces (W, T), if they were looked for."""
    if not any(len(u.shapes) for u in units):
        return None
    found = torch.zeros((len(units), width), dtype=torch.int64)
    for row, unit in enumerate(units):
        start = unit.window.before
        found[row, start : start + len(unit.shapes)] = torch.tensor(unit.shapes)
    return found


def collate_examples(examples: Sequence[TagExample], pad: int, limit: int = 0) -> TagBatch:
    """Make a batch of training examples."""
    return collate_units([e.unit for e in examples], pad, [e.targets for e in examples], limit)


def inside(targets: NDArray[np.int64], goes_on: NDArray[np.bool_], tags: TagSet) -> Any:
    """Turn the first tag of a span into the one that follows it, for pieces that go on a word."""
    layer = np.arange(targets.shape[1])
    follows = tags.first[layer, targets] & goes_on[:, None]
    return np.where(follows, targets + 1, targets)


class Copies(Sequence[TagExample]):
    """Examples seen with one type alone: number ``i * L + label`` is example i with that type.

    Args:
        examples: What to copy; one layer of tags.
        tags: The tags, of L types.
        ignore: Leave words of other types out, instead of having them outside.
    """

    def __init__(self, examples: Sequence[TagExample], tags: TagSet, ignore: bool) -> None:
        self.examples, self.ignore = examples, ignore
        self.types = len(tags.labels)
        self._type_of = tags.type_of[0]

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, key: Any) -> Any:
        example = self.examples[key // self.types]
        types = self._type_of[example.targets]
        other = (types >= 0) & (types != key % self.types)
        hidden = IGNORED if self.ignore else OUTSIDE
        return replace(example, targets=np.where(other, hidden, example.targets))

    def present(self, members: Sequence[int]) -> list[int]:
        """Return the types that occur in some examples; the first type where none does."""
        types = [self._type_of[self.examples[i].targets] for i in members]
        return [int(t) for t in np.unique(np.concatenate(types)) if t >= 0] or [0]


class OneTypeAtATime(BatchSampler):
    """Every batch once for each type that occurs in it, one after the other.

    Which examples make a batch is drawn once, so that all epochs have the same number of steps;
    the order of batches and of types within a batch changes from epoch to epoch.
    """

    def __init__(self, base: BatchSampler, copies: Copies) -> None:
        super().__init__(base.batch_size, base.seed)
        self.copies = copies
        self.members = list(base)
        self.types = [copies.present(m) for m in self.members]

    def batches(self, random: np.random.Generator) -> list[list[int]]:
        """Return the batches of an epoch, as numbers of copies."""
        made = []
        for place in random.permutation(len(self.members)).tolist():
            for label in random.permutation(self.types[place]).tolist():
                made.append([i * self.copies.types + label for i in self.members[place]])
        return made

    def __len__(self) -> int:
        return sum(len(types) for types in self.types)
