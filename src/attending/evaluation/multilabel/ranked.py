"""How well the labels of a document are ranked: P@k, R@k, nDCG@k, R-precision, average precision.

Letters: N documents, L labels, K cut-offs. Only documents that truly have a label are judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attending.errors import DataError
from attending.evaluation.counts import BoolArray, FloatArray, IntArray, ratio
from attending.evaluation.multilabel.decisions import only
from attending.evaluation.multilabel.outcome import (
    MultiLabelOutcome,
    cells_of,
    rows_of,
    sizes,
)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """What the rankings of N documents hold, each array in the order of the documents.

    Attributes:
        ks: The cut-offs.
        true: True labels, (N,).
        listed: Ranked labels, (N,).
        hits: True labels among the first k, (N, K).
        gain: Their discounted gain, (N, K).
        average_precision: Precision at each true label that is ranked, summed and divided by
            true labels; 0 for a document without any (N,).
        first_true: True labels among the first as many as there are (N,).
        label_hits: For each label, documents that truly have it and rank it among the first k,
            (K, L).
    """

    ks: tuple[int, ...]
    true: IntArray
    listed: IntArray
    hits: IntArray
    gain: FloatArray
    average_precision: FloatArray
    first_true: IntArray
    label_hits: IntArray


def check_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """Return the cut-offs, each once and in order.

    Raises:
        DataError: If there is none or one is below 1.
    """
    if not ks or min(ks) < 1:
        raise DataError(
            "cut-offs of a ranking must be whole numbers from 1",
            found=", ".join(str(k) for k in ks) or "none",
        )
    return tuple(sorted(set(ks)))


@dataclass(slots=True)
class _Block:
    """The ranked cells of some documents: row, rank (from 1), label, and whether it is true."""

    rows: IntArray
    ranks: IntArray
    columns: IntArray
    hit: BoolArray
    documents: int

    @classmethod
    def of(
        cls,
        outcome: MultiLabelOutcome,
        block: slice,
        assigned_only: bool,
        keep: BoolArray | None,
    ) -> "_Block":
        pointer = outcome.scores.indptr
        span = slice(int(pointer[block.start]), int(pointer[block.stop]))
        rows, columns = rows_of(outcome.scores, block), outcome.scores.indices[span]
        values = outcome.scores.data[span]
        wanted = np.ones(rows.size, bool) if keep is None else keep[columns]
        if assigned_only:
            wanted &= cells_of(outcome.assigned, block)[rows, columns]
        rows, columns, values = rows[wanted], columns[wanted], values[wanted]
        order = np.lexsort((columns, -values, rows))
        rows, columns = rows[order], columns[order]
        count = block.stop - block.start
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        hit = cells_of(outcome.truth, block)[rows, columns]
        return cls(rows, np.arange(rows.size) - starts[rows] + 1, columns, hit, count)

    def per_document(self, values: FloatArray | BoolArray) -> FloatArray:
        """Sum a value of each cell over the cells of each document."""
        total = np.bincount(self.rows, weights=values, minlength=self.documents)
        return np.asarray(total, np.float64)

    def hits_so_far(self) -> IntArray:
        """Return for each cell how many true labels its document has up to it, itself included."""
        total = np.cumsum(self.hit)
        before = np.concatenate([[0], total])
        first = np.searchsorted(self.rows, self.rows, side="left")
        return np.asarray(total - before[first])


def rank_documents(
    outcome: MultiLabelOutcome,
    ks: Sequence[int] = (5,),
    *,
    assigned_only: bool = False,
    keep: BoolArray | None = None,
) -> Ranked:
    """Read the rankings of an outcome, block by block, so that memory stays flat.

    ``assigned_only`` takes the assigned labels alone, in the order of their scores, as a file of
    answers holds them; ``keep`` (L,) bool leaves labels out of truth and ranking.

    Raises:
        DataError: If a cut-off is below 1.
    """
    cuts = check_ks(ks)
    true = sizes(outcome.truth if keep is None else only(outcome.truth, keep))
    shape = (outcome.documents, len(cuts))
    hits, gain = np.zeros(shape, np.int64), np.zeros(shape)
    listed, first = np.zeros(outcome.documents, np.int64), np.zeros(outcome.documents, np.int64)
    precision = np.zeros(outcome.documents)
    label_hits = np.zeros((len(cuts), outcome.width), np.int64)
    for span in outcome.blocks():
        block = _Block.of(outcome, span, assigned_only, keep)
        of_hits = block.hit / block.ranks
        precision[span] = block.per_document(of_hits * block.hits_so_far())
        listed[span] = np.bincount(block.rows, minlength=block.documents)
        discounted = block.hit / np.log2(block.ranks + 1.0)
        first[span] = block.per_document(block.hit & (block.ranks <= true[span][block.rows]))
        for column, k in enumerate(cuts):
            within = block.ranks <= k
            hits[span, column] = block.per_document(block.hit & within)
            gain[span, column] = block.per_document(discounted * within)
            label_hits[column] += np.bincount(
                block.columns[block.hit & within], minlength=outcome.width
            )
    average = np.where(true > 0, precision / np.maximum(true, 1), 0.0)
    return Ranked(cuts, true, listed, hits, gain, average, first, label_hits)


def ranking_values(ranked: Ranked) -> dict[str, FloatArray]:
    """Give the ranking figures of each document, (N,); NaN for one that truly has no label.

    P@k divides by k however few labels there are. The ideal of nDCG@k holds at most k labels;
    gain is 1 for a true label, discounted by log2(rank + 1).
    Source: Jaervelin and Kekaelaeinen 2002 (nDCG, with the discount from rank 1 on).
    """
    judged = ranked.true > 0
    deepest = max(int(ranked.true.max(initial=0)), max(ranked.ks))
    ideal = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(deepest) + 2.0))])
    values = {}
    for column, k in enumerate(ranked.ks):
        best = ideal[np.minimum(ranked.true, k)]
        values[f"p_at_{k}"] = np.where(judged, ranked.hits[:, column] / k, np.nan)
        values[f"r_at_{k}"] = ratio(ranked.hits[:, column], ranked.true)
        values[f"ndcg_at_{k}"] = ratio(ranked.gain[:, column], best)
    values["r_precision"] = ratio(ranked.first_true, ranked.true)
    values["map"] = np.where(judged, ranked.average_precision, np.nan)
    return values


def present_only(ranked: Ranked) -> FloatArray:
    """Give the average precision of each document that lists a label, (N,); NaN for the others.

    Its mean is what the scorer of CANTEMIST prints: it averages over the documents in the file of
    answers, so leaving a hard document out raises it.
    """
    return np.where((ranked.true > 0) & (ranked.listed > 0), ranked.average_precision, np.nan)
