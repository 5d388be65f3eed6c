"""Checks where documents have several labels: labels a document, frequency of labels, ceilings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from attending.data.corpora import Corpus

CUTOFFS = (5, 50)
"""Documents up to which a label is of the tail, and up to which of the torso, as in evaluation."""
_ROUNDS = 50

LabelSetCounts = Counter[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class LabelsPerDocument:
    """How many labels the labelled documents have; ``none`` counts those labelled with none."""

    mean: float
    median: float
    largest: int
    none: int

    @classmethod
    def of(cls, corpus: Corpus) -> "LabelsPerDocument | None":
        """Count the labels of a corpus; ``None`` if every document has one, or no labels."""
        numbers = [len(d.labels) for d in corpus if d.labels is not None]
        if not corpus.multi_label:
            return None
        return cls(mean(numbers), median(numbers), max(numbers), numbers.count(0))


@dataclass(frozen=True, slots=True)
class Frequency:
    """Labels that occur about equally often, from ``low`` to ``high`` (``None``: no end) times."""

    name: str
    low: int
    high: int | None
    labels: int
    examples: int


def frequencies(counts: Mapping[str, int]) -> tuple[Frequency, ...]:
    """Group labels into head, torso, tail and those that occur once (part of the tail too)."""
    tail, torso = CUTOFFS
    borders = (("head", torso + 1, None), ("torso", tail + 1, torso), ("tail", 1, tail),
               ("once", 1, 1))  # fmt: skip
    found = []
    for name, low, high in borders:
        inside = [n for n in counts.values() if n >= low and (high is None or n <= high)]
        found.append(Frequency(name, low, high, len(inside), sum(inside)))
    return tuple(found)


def micro_f1_ceiling(texts: Sequence[LabelSetCounts]) -> float:
    """Return the highest micro-F1 of a model that gives each distinct text one set of labels.

    A label is worth giving to a text if the share of the text's documents that have it is above
    half of the F1 that is reached: the answer and the F1 are found in turn, from an F1 of 1
    downwards (Dinkelbach's method for ratios), which ends at the maximum.

    Args:
        texts: For each distinct text, its documents' label sets with their numbers.
    """
    held = [
        (Counter({x: sum(n for s, n in sets.items() if x in s) for s in sets for x in s}),
         sets.total())
        for sets in texts
    ]  # fmt: skip
    true = sum(counts.total() for counts, _ in held)
    best = 1.0
    for _ in range(_ROUNDS):
        chosen = [(n, of) for counts, of in held for n in counts.values() if n > best / 2 * of]
        right, given = sum(n for n, _ in chosen), sum(of for _, of in chosen)
        reached = 2 * right / (given + true) if given + true else 1.0
        if abs(reached - best) < 1e-12:
            break
        best = reached
    return best
