"""Samplers: which documents make a batch, in which order, the same for the same seed and epoch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from attending.specs import BalancedSampler, BucketedSampler, ShuffledSampler


class BatchSampler(ABC):
    """Yields batches of positions; ``set_epoch`` chooses the order.

    Args:
        size: Documents a batch.
        seed: With the epoch, decides the order.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.batch_size = size
        self.drop_last = False
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        yield from self.batches(np.random.default_rng([self.seed, self.epoch]))

    @abstractmethod
    def batches(self, random: np.random.Generator) -> list[list[int]]:
        """Return the batches of an epoch."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of batches of an epoch."""


class Shuffled(BatchSampler):
    """Every position once an epoch, in random order."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        super().__init__(size, seed)
        self.count = count

    def batches(self, random: np.random.Generator) -> list[list[int]]:
        """Return the batches of an epoch."""
        return _cut(random.permutation(self.count).tolist(), self.batch_size)

    def __len__(self) -> int:
        return -(-self.count // self.batch_size)


class Bucketed(Shuffled):
    """Every position once an epoch; batches of like length in random order.

    Positions are shuffled, taken in pools of ``pool`` batches, and sorted by length within a
    pool, so that little is padded and batches still differ from epoch to epoch.
    """

    def __init__(self, lengths: Sequence[int], size: int, seed: int, pool: int) -> None:
        super().__init__(len(lengths), size, seed)
        self.lengths = np.asarray(lengths)
        self.pool = pool

    def batches(self, random: np.random.Generator) -> list[list[int]]:
        """Return the batches of an epoch."""
        order = random.permutation(self.count)
        batches: list[list[int]] = []
        for pool in _cut(order.tolist(), self.batch_size * self.pool):
            ranked = sorted(pool, key=lambda i: -int(self.lengths[i]))
            batches += _cut(ranked, self.batch_size)
        return [batches[i] for i in random.permutation(len(batches))]


class Balanced(BatchSampler):
    """As many documents of every label in each batch.

    Every label is repeated, reshuffled each time, up to the size of the largest, and gives
    ``size // labels`` documents to each batch (at least one).
    Source: public code of Si et al. 2020.
    """

    def __init__(self, targets: Sequence[int], size: int, seed: int) -> None:
        super().__init__(size, seed)
        self.members = [np.flatnonzero(np.asarray(targets) == t) for t in sorted(set(targets))]
        self.largest = max(len(m) for m in self.members)
        self.each = max(1, size // len(self.members))

    def batches(self, random: np.random.Generator) -> list[list[int]]:
        """Return the batches of an epoch."""
        columns = []
        for members in self.members:
            rounds = -(-self.largest // len(members))
            repeated = np.concatenate([random.permutation(members) for _ in range(rounds)])
            columns.append(_cut(repeated[: self.largest].tolist(), self.each))
        return [[i for part in parts for i in part] for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return -(-self.largest // self.each)


def _cut(items: list[int], size: int) -> list[list[int]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def build_shuffled(
    spec: ShuffledSampler, *, lengths: Sequence[int], size: int, seed: int, **_: object
) -> Shuffled:
    """Build a shuffled sampler."""
    return Shuffled(len(lengths), size, seed)


def build_bucketed(
    spec: BucketedSampler, *, lengths: Sequence[int], size: int, seed: int, **_: object
) -> Bucketed:
    """Build a length-bucketed sampler."""
    return Bucketed(lengths, size, seed, spec.pool)


def build_balanced(
    spec: BalancedSampler, *, targets: Sequence[int], size: int, seed: int, **_: object
) -> Balanced:
    """Build a class-balanced sampler."""
    return Balanced(targets, size, seed)
