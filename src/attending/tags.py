"""Tags of words: what a tagger scores instead of labels. No torch here.

Letters: K layers, C tags a layer. A flat scheme has one layer with the tags of all types, a
layered one has a layer for each type. In every layer, tag 0 is ``O``, outside.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attending.records import LabelSet

OUTSIDE = 0


@dataclass(frozen=True)
class TagSet:
    """The tags of a set of types.

    Args:
        labels: Type ids in order.
        begins: Whether the first word of a span has a tag of its own (BIO), or not (IO).
        layered: Whether each type has a layer of its own.
    """

    labels: tuple[str, ...]
    begins: bool = True
    layered: bool = False

    @classmethod
    def of(cls, labels: LabelSet, begins: bool = True, layered: bool = False) -> "TagSet":
        """Make the tags of a label set."""
        return cls(labels.ids, begins, layered)

    @property
    def states(self) -> int:
        """Tags of one type: 2 with a first tag, else 1."""
        return 2 if self.begins else 1

    @property
    def shape(self) -> tuple[int, int]:
        """K layers and C tags a layer."""
        if self.layered:
            return len(self.labels), 1 + self.states
        return 1, 1 + self.states * len(self.labels)

    def place(self, label: int) -> tuple[int, int]:
        """Return the layer of the type at a position, and its first tag there."""
        return (label, 1) if self.layered else (0, 1 + self.states * label)

    @cached_property
    def type_of(self) -> NDArray[np.int64]:
        """The position of every tag's type, (K, C); -1 for outside."""
        layers, tags = self.shape
        found = np.full((layers, tags), -1, dtype=np.int64)
        for label in range(len(self.labels)):
            layer, first = self.place(label)
            found[layer, first : first + self.states] = label
        return found

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which tags are a span's first, (K, C); with IO none is."""
        found = np.zeros(self.shape, dtype=bool)
        if self.begins:
            found[:, 1::2] = True
        return found

    @cached_property
    def can_start(self) -> NDArray[np.bool_]:
        """Which tags the first word of a text may have, (K, C)."""
        if not self.begins:
            return np.ones(self.shape, dtype=bool)
        return (self.type_of < 0) | self.first

    @cached_property
    def can_follow(self) -> NDArray[np.bool_]:
        """Which tag may come after which: (K, C before, C after)."""
        same = self.type_of[:, :, None] == self.type_of[:, None, :]
        found: NDArray[np.bool_] = same | self.can_start[:, None, :]
        return found

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The tags' usual names, layer by layer: ``O``, ``B-Disease``, ``I-Disease``."""
        return tuple(
            tuple(
                "O" if label < 0 else f"{'B' if first else 'I'}-{self.labels[label]}"
                for label, first in zip(types, firsts, strict=True)
            )
            for types, firsts in zip(self.type_of.tolist(), self.first.tolist(), strict=True)
        )
