"""Which one label a document gets where some labels have a recall to keep. Plain numpy.

A label with a threshold goes to every document that reaches it and to no other, so that the
number of alerts is that of the point that was chosen. Letters: N documents, L labels.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attending.records import LabelSet

Array = NDArray[np.float64]


def reach(probabilities: Array, labels: LabelSet, label: str) -> Array:
    """Return what is compared with a label's threshold, (N,).

    Of ordered labels it is the probability of *at least* this level, the sum over it and all above;
    else the label's own.
    """
    place = labels.position(label)
    if labels.ordered:
        return np.asarray(probabilities[:, place:].sum(axis=1))
    return np.asarray(probabilities[:, place])


def at_least(truth: NDArray[np.int64], labels: LabelSet, label: str) -> NDArray[np.bool_]:
    """Return which documents, by true position (N,), have a label, or of ordered ones more."""
    place = labels.position(label)
    return np.asarray(truth >= place if labels.ordered else truth == place)


def in_turn(labels: LabelSet, wanted: Mapping[str, float]) -> list[str]:
    """Return labels in the order in which they take documents.

    Of ordered labels the highest comes first; else the order is that of ``wanted``.
    """
    if labels.ordered:
        return sorted(wanted, key=labels.position, reverse=True)
    return list(wanted)


def choose(
    scores: Array, probabilities: Array, labels: LabelSet, thresholds: Mapping[str, float]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the position of each document's label, and which came by a threshold, both (N,).

    ``scores`` (N, L) rank the labels where no threshold decides. Unordered: the first label in
    turn whose threshold is reached; else the best of those without a threshold. Ordered: a
    document that reaches a level's threshold gets this level or a higher one, one that doesn't
    gets a lower one; the higher level's threshold goes first.
    """
    allowed = np.ones(probabilities.shape, bool)
    taken = np.zeros(len(probabilities), bool)
    for label in in_turn(labels, thresholds):
        place = labels.position(label)
        reached = reach(probabilities, labels, label) >= thresholds[label]
        new = reached & ~taken
        if labels.ordered:
            allowed[new, :place] = False
            allowed[~reached & ~taken, place:] = False
        else:
            allowed[new] = False
            allowed[new, place] = True
            allowed[~reached & ~taken, place] = False
        taken |= new
    # Where every label has a threshold and none is reached, the best of all is as good as any.
    allowed[~allowed.any(axis=1)] = True
    return np.asarray(np.where(allowed, scores, -np.inf).argmax(axis=1)), taken


def lead(probabilities: Array, chosen: NDArray[np.intp]) -> Array:
    """Return how far the chosen label's probability is ahead of the next, (N,); below 0: behind."""
    rows = np.arange(len(probabilities))
    others = probabilities.copy()
    others[rows, chosen] = -np.inf
    ahead = probabilities[rows, chosen] - others.max(axis=1, initial=-np.inf)
    return np.asarray(np.where(np.isfinite(ahead), ahead, 1.0))
