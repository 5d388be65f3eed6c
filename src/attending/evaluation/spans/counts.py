"""What every figure on entities needs of each document: counts, so that sums give the figures.

Letters: N documents, T types, R resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from attending.evaluation.counts import FloatArray
from attending.evaluation.multilabel.outcome import Sparse, Unknown
from attending.evaluation.spans.matching import SCHEMES, Rest, rest_of, tallies, within_types
from attending.evaluation.spans.outcome import SpanOutcome, Words, match_spans
from attending.evaluation.spans.tokens import OUTSIDE, word_types
from attending.records import LabelSet, Prediction, Row

BY_TYPE = (
    "gold",
    "found",
    "right",
    "partial",
    "overlap",
    "words_gold",
    "words_found",
    "words_right",
)
"""Counts of each type. gold and found: entities; right: those that are the same; partial: overlaps
within the type, each as two if the place is the same, else as one; overlap: overlaps within the
type whatever the place; words_*: words that belong to the type, and to it on both sides."""
IN_ALL = (
    *(f"{scheme}_{what}" for scheme in SCHEMES for what in ("correct", "incorrect", "partial")),
    "gold_all",
    "found_all",
    "words",
    "words_same",
)
"""Counts over all types: each scheme's tallies, entities, words, and words of the same type (or
of none) on both sides."""


@dataclass(frozen=True, slots=True, eq=False)
class SpanCounts:
    """Counts of every document of one set of predictions.

    ids are the documents', labels the types. by_type maps the names in ``BY_TYPE`` to sparse
    (N, T), in_all is (N, len(IN_ALL)).
    """

    ids: tuple[str, ...]
    labels: LabelSet
    by_type: Mapping[str, Sparse]
    in_all: FloatArray

    def laid(self, blocks: Sequence[str], types: Sequence[int] | None = None) -> Sparse:
        """Lay the counts named ``blocks`` side by side, sparse (N, D).

        ``types`` leaves the other types out of the counts by type.
        """
        parts = []
        for name in blocks:
            if name in self.by_type:
                part = self.by_type[name]
                parts.append(part if types is None else part[:, list(types)])
            else:
                parts.append(csr_array(self.in_all[:, [IN_ALL.index(name)]]))
        return hstack(parts, format="csr")


def sums_of(sums: FloatArray, blocks: Sequence[str], types: int) -> dict[str, Any]:
    """Take sums (R, D) that were laid out by ``blocks`` apart: (R, T) by type, (R,) in all."""
    found: dict[str, Any] = {}
    at = 0
    whole = np.rint(sums).astype(np.int64)
    for name in blocks:
        if name in BY_TYPE:
            found[name] = whole[:, at : at + types]
            at += types
        else:
            found[name] = whole[:, at]
            at += 1
    return found


def count_spans(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    words: Words | None = None,
    unknown: Unknown = "error",
) -> SpanCounts:
    """Count one set of predictions, ready for ``paired_spans``; see ``evaluate_spans``.

    Raises:
        DataError: As ``match_spans``.
        LabelError: As ``match_spans``.
    """
    outcome = match_spans(documents, predictions, labels, unknown=unknown)
    rests = [rest_of(a, b) for a, b in zip(outcome.gold, outcome.given, strict=True)]
    return counts_of(outcome, rests, words)


def counts_of(
    outcome: SpanOutcome, rests: Sequence[Rest], words: Words | None = None
) -> SpanCounts:
    """Count an outcome that was matched before; ``rests`` are of its documents."""
    shape = (len(rests), len(outcome.labels))
    found = _entities(outcome, rests, shape)
    in_all = np.zeros((shape[0], len(IN_ALL)))
    for row, rest in enumerate(rests):
        cells = [n for t in tallies(rest) for n in (t.correct, t.incorrect, t.partial)]
        in_all[row, : len(cells)] = cells
    in_all[:, IN_ALL.index("gold_all")] = [len(g) for g in outcome.gold]
    in_all[:, IN_ALL.index("found_all")] = [len(g) for g in outcome.given]
    place, true, given = word_types(outcome, words)
    found["words_gold"] = _sparse(place, true, shape)
    found["words_found"] = _sparse(place, given, shape)
    same = true == given
    found["words_right"] = _sparse(place[same], true[same], shape)
    for name, rows in (("words", place), ("words_same", place[same])):
        in_all[:, IN_ALL.index(name)] = np.bincount(rows, minlength=shape[0])
    ids = tuple(document.id for document in outcome.documents)
    return SpanCounts(ids, outcome.labels, found, in_all)


def _sparse(rows: Any, types: Any, shape: tuple[int, int], values: Any = None) -> Sparse:
    rows, types = np.asarray(rows, np.int64), np.asarray(types, np.int64)
    data = np.ones(len(rows)) if values is None else np.asarray(values, np.float64)
    kept = types != OUTSIDE
    return csr_array((data[kept], (rows[kept], types[kept])), shape=shape)


def _entities(
    outcome: SpanOutcome, rests: Sequence[Rest], shape: tuple[int, int]
) -> dict[str, Sparse]:
    def spread(lists: Sequence[Sequence[Any]]) -> Sparse:
        rows = np.repeat(np.arange(len(lists)), [len(x) for x in lists])
        return _sparse(rows, [e.type for x in lists for e in x], shape)

    right = spread([rest.same for rest in rests])
    rows, types, partial, overlap = [], [], [], []
    for row, rest in enumerate(rests):
        for type_, (halves, typed) in within_types(rest).items():
            rows.append(row)
            types.append(type_)
            partial.append(halves)
            overlap.append(typed)
    return {
        "gold": spread(outcome.gold),
        "found": spread(outcome.given),
        "right": right,
        "partial": 2 * right + _sparse(rows, types, shape, partial),
        "overlap": right + _sparse(rows, types, shape, overlap),
    }
