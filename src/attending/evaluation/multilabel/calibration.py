"""Do probabilities of document-label pairs mean what they say."""

from dataclasses import dataclass

import numpy as np

from attending.evaluation.calibration import BINS, Bin
from attending.evaluation.counts import BoolArray
from attending.evaluation.multilabel.outcome import (
    NO_SCORES,
    MultiLabelOutcome,
    cells_of,
    rows_of,
    sizes,
)


@dataclass(frozen=True, slots=True)
class CellCalibration:
    """Calibration over all document-label cells of documents with scores.

    brier is the mean squared distance of a cell's probability from 0 or 1, ece the gap between
    probability and share true over bins of equal width, weighted by their cells.
    """

    brier: float
    ece: float
    bins: tuple[Bin, ...]


def incomplete(outcome: MultiLabelOutcome) -> str | None:
    """Say why the scores aren't a probability for every label, or ``None`` if they are."""
    if outcome.incomparable is not None:
        return outcome.incomparable
    kept = sizes(outcome.scores)
    scored = kept[kept > 0]
    if not scored.size:
        return NO_SCORES
    if scored.min() < outcome.width:
        return (
            f"scores are of the best {int(np.median(scored))} of {outcome.width} labels"
            " (the median); calibration over all cells needs every one"
        )
    if outcome.scores.data.min() < 0 or outcome.scores.data.max() > 1:
        return "the scores are not probabilities from 0 to 1"
    return None


def cell_calibration(outcome: MultiLabelOutcome) -> CellCalibration | str:
    """Judge the probabilities of all cells, block by block, or say why that can't be done.

    Source: Naeini et al. 2015, with cells for documents.
    """
    reason = incomplete(outcome)
    if reason is not None:
        return reason
    edges = np.linspace(0.0, 1.0, BINS + 1)
    count, sure, right = np.zeros(BINS, np.int64), np.zeros(BINS), np.zeros(BINS)
    squared = 0.0
    pointer = outcome.scores.indptr
    for block in outcome.blocks():
        span = slice(int(pointer[block.start]), int(pointer[block.stop]))
        probs = outcome.scores.data[span]
        rows, columns = rows_of(outcome.scores, block), outcome.scores.indices[span]
        true: BoolArray = cells_of(outcome.truth, block)[rows, columns]
        squared += float(((probs - true) ** 2).sum())
        place = np.clip(np.searchsorted(edges, probs, side="left") - 1, 0, BINS - 1)
        count += np.bincount(place, minlength=BINS)
        sure += np.bincount(place, weights=probs, minlength=BINS)
        right += np.bincount(place, weights=true, minlength=BINS)
    total = int(count.sum())
    bins = tuple(
        Bin(
            float(edges[k]),
            float(edges[k + 1]),
            int(n),
            float(sure[k] / n) if n else None,
            float(right[k] / n) if n else None,
        )
        for k, n in enumerate(count)
    )
    return CellCalibration(squared / total, float(np.abs(sure - right).sum() / total), bins)


def mean_of_assigned(outcome: MultiLabelOutcome) -> float | None:
    """Return the mean score of assigned pairs where scores are probabilities, else ``None``."""
    data = outcome.scores.data
    if outcome.incomparable is not None or not data.size or data.min() < 0 or data.max() > 1:
        return None
    given = data[outcome.stored_in(outcome.assigned)]
    return float(given.mean()) if given.size else None
