"""Iterative stratification: parts of documents with several labels that keep every label's share.

The rarest label is served first, since a frequent one can still be balanced later. Each of its
documents goes to the part that lacks most of the label, then to the part that lacks most
documents, then by lot.
Source: Sechidis, Tsoumakas and Vlahavas, On the stratification of multi-label data, ECML PKDD
2011, algorithm 1. Extended to units of several documents that must stay together: a unit counts
with all the labels and documents in it, and larger units are dealt first within a label.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from attending.data.units import require
from attending.data.wording import plural, shown_label, some
from attending.errors import DataError
from attending.records import Document


def several_labels(documents: Iterable[Document]) -> bool:
    """Say whether some document has more than one label, so that labels are no strata."""
    return any(d.labels is not None and len(d.labels) > 1 for d in documents)


def deal_by_labels(
    labels: Sequence[Sequence[str]], units: Sequence[int], shares: Sequence[float], seed: int
) -> list[int]:
    """Return the part of each document, from 0.

    Args:
        labels: The labels of each document.
        units: Documents of the same number get the same part.
        shares: The share of the documents that each part should have; they sum to 1.
        seed: Seed of the order and of ties.
    """
    chance = random.Random(seed)
    sizes, carried = Counter(units), dict[int, Counter[str]]()
    for unit, of_document in zip(units, labels, strict=True):
        carried.setdefault(unit, Counter()).update(of_document)
    order = list(carried)
    chance.shuffle(order)
    order.sort(key=lambda unit: -sizes[unit])
    dealer = _Dealer(order, carried, sizes, shares, chance)
    dealer.deal()
    return [dealer.part[unit] for unit in units]


class _Dealer:
    """State of one run: what each part still lacks, and what is left of each label."""

    def __init__(
        self,
        order: Sequence[int],
        carried: dict[int, Counter[str]],
        sizes: Counter[int],
        shares: Sequence[float],
        chance: random.Random,
    ) -> None:
        self._order, self._carried, self._sizes, self._chance = order, carried, sizes, chance
        total = sum(sizes.values())
        self._room = [share * total for share in shares]
        self._left: Counter[str] = Counter()
        self._holders: dict[str, list[int]] = {}
        for unit in order:
            self._left.update(carried[unit])
            for label in carried[unit]:
                self._holders.setdefault(label, []).append(unit)
        self._lack = {x: [share * n for share in shares] for x, n in sorted(self._left.items())}
        self.part: dict[int, int] = {}

    def deal(self) -> None:
        """Give every unit a part."""
        rarest = [(n, label) for label, n in self._left.items()]
        heapify(rarest)
        while rarest:
            n, label = heappop(rarest)
            # Counts fall while labels wait: an outdated entry has a newer one below it.
            if n != self._left[label] or not n:
                continue
            for unit in self._holders[label]:
                if unit not in self.part:
                    touched = self._give(unit, self._lack[label])
                    for other in touched:
                        heappush(rarest, (self._left[other], other))
        for unit in self._order:
            if unit not in self.part:
                self._give(unit, self._room)

    def _give(self, unit: int, lack: Sequence[float]) -> Counter[str]:
        wish = [(need, room) for need, room in zip(lack, self._room, strict=True)]
        best = max(wish)
        tied = [i for i, pair in enumerate(wish) if pair == best]
        part = tied[0] if len(tied) == 1 else self._chance.choice(tied)
        self.part[unit] = part
        self._room[part] -= self._sizes[unit]
        carried = self._carried[unit]
        for label, n in carried.items():
            self._left[label] -= n
            self._lack[label][part] -= n
        return carried


def rare_for_folds(labels: Sequence[Sequence[str]], k: int, strict: bool) -> list[str]:
    """Return the note on labels with fewer examples than folds.

    Raises:
        DataError: If there are any and ``strict`` is set.
    """
    counts = Counter(label for of_document in labels for label in of_document)
    rare = {label: n for label, n in sorted(counts.items()) if n < k}
    if not rare:
        return []
    named = some([f"{shown_label(x)} has {plural(n, 'example')}" for x, n in rare.items()])
    if strict:
        raise DataError(
            f"too few examples for {k} folds: {named}", step="Use fewer folds or merge labels."
        )
    return [f"fewer examples than folds ({k}): {named}; some test parts lack them"]


def require_parts(units: Sequence[int], k: int) -> None:
    """Raise a ``DataError`` if there are fewer things to deal than parts."""
    distinct = len(set(units))
    require(
        distinct >= k, f"{k} parts need at least {k} documents that may be apart", f"{distinct}"
    )
