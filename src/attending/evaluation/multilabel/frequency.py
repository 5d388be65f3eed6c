"""Figures by how often labels occur: buckets, and scores without the most frequent labels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attending.errors import DataError
from attending.evaluation.counts import IntArray, LabelCounts, averages, scores_of
from attending.evaluation.multilabel.decisions import MICRO, Decided, kept_without, micro
from attending.evaluation.multilabel.outcome import MultiLabelOutcome
from attending.evaluation.multilabel.ranked import Ranked, rank_documents, ranking_values
from attending.evaluation.result import Figure, plain
from attending.records import LabelSet

CUTOFFS = (5, 50)
"""Training documents up to which a label is of the tail, and up to which of the torso.

Five is the usual border of "few-shot" in coding (Rios and Kavuluru 2018).
"""
SHOWN_OF_CONSTANT = 20
BUCKETS = ("head", "torso", "tail", "unseen")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Labels of like frequency in training, from ``low`` to ``high`` documents (``None``: no end).

    Attributes:
        name: One of ``BUCKETS``.
        low: Fewest training documents.
        high: Most training documents.
        labels: Labels of the label set in it.
        labels_true: Those that a document truly has.
        labels_given: Those that a document got.
        true: Document-label pairs that are true.
        given: Pairs that were assigned.
        right: Pairs that are both.
        figures: Micro precision, recall and F1 over its pairs, ``macro_f1`` over its labels
            that occur in truth or answers, and ``r_at_k``: of its true pairs, the share whose
            label is among the first k of its document.
    """

    name: str
    low: int
    high: int | None
    labels: int
    labels_true: int
    labels_given: int
    true: int
    given: int
    right: int
    figures: Mapping[str, Figure]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return asdict(self) | {"figures": dict(self.figures)}


@dataclass(frozen=True, slots=True)
class Removed:
    """Figures with labels taken out of truth, answers and rankings.

    n is how many, labels their ids; figures are micro precision, recall and F1, ``macro_f1`` and
    ``map``; documents is how many still truly have a label (``map`` is over them).
    """

    n: int
    labels: tuple[str, ...]
    documents: int
    figures: Mapping[str, Figure]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return asdict(self) | {"labels": list(self.labels), "figures": dict(self.figures)}


@dataclass(frozen=True, slots=True)
class Constant:
    """The best answer that is the same for every document: the most frequent labels of the truth.

    n is how many labels, the first of them are in ``labels``; micro_f1 is what they get. It knows
    the truth, so it isn't a system, but one below it has learned less than a list of labels.
    """

    n: int
    labels: tuple[str, ...]
    micro_f1: float


def training_vector(counts: Mapping[str, int], labels: LabelSet) -> IntArray:
    """Return how often each label occurs in training, (L,); 0 for one that isn't counted.

    Raises:
        DataError: If a count is negative.
    """
    vector = np.array([int(counts.get(i, 0)) for i in labels.ids], np.int64)
    if vector.size and vector.min() < 0:
        label = labels.ids[int(vector.argmin())]
        raise DataError(f'the training count of "{label}" is negative', found=str(vector.min()))
    return vector


def check_cutoffs(cutoffs: Sequence[int]) -> tuple[int, int]:
    """Return the borders of tail and torso.

    Raises:
        DataError: If they aren't two rising whole numbers from 1.
    """
    if len(cutoffs) != 2 or not 1 <= cutoffs[0] < cutoffs[1]:
        raise DataError(
            "cut-offs of label frequency must be two rising whole numbers from 1",
            found=", ".join(str(c) for c in cutoffs),
            allowed="such as 5, 50",
        )
    return cutoffs[0], cutoffs[1]


def buckets(
    counts: LabelCounts, ranked: Ranked, training: IntArray, cutoffs: Sequence[int] = CUTOFFS
) -> tuple[Bucket, ...]:
    """Group labels by training documents (L,) into head, torso, tail and unseen, in that order."""
    tail, torso = check_cutoffs(cutoffs)
    ranges: tuple[tuple[int, int | None], ...] = (
        (torso + 1, None), (tail + 1, torso), (1, tail), (0, 0),
    )  # fmt: skip
    found = []
    for name, (low, high) in zip(BUCKETS, ranges, strict=True):
        inside = (training >= low) & (training <= (np.inf if high is None else high))
        held = LabelCounts(counts.right[inside], counts.support[inside], counts.predicted[inside])
        right, true, given = (int(x.sum()) for x in (held.right, held.support, held.predicted))
        hits = ranked.label_hits[:, inside].sum(axis=1)
        figures = {key: plain(v) for key, v in micro(*_arrays(right, true, given)).items()}
        figures["macro_f1"] = plain(averages(scores_of(held))["macro_f1"])
        for k, n in zip(ranked.ks, hits, strict=True):
            figures[f"r_at_{k}"] = float(n / true) if true else None
        found.append(
            Bucket(
                name,
                low,
                high,
                int(inside.sum()),
                int((held.support > 0).sum()),
                int((held.predicted > 0).sum()),
                true,
                given,
                right,
                figures,
            )
        )
    return tuple(found)


def _arrays(*counts: int) -> tuple[IntArray, ...]:
    return tuple(np.array(c, np.int64) for c in counts)


def constant_answer(support: IntArray, documents: int, labels: LabelSet) -> Constant | None:
    """Find how many of the most frequent labels, given to all documents, get the best micro-F1."""
    order = np.argsort(-support, kind="stable")
    right, total = np.cumsum(support[order]), int(support.sum())
    if not total:
        return None
    f1 = 2 * right / (documents * np.arange(1, right.size + 1) + total)
    best = int(f1.argmax())
    first = tuple(labels.ids[int(k)] for k in order[: min(best + 1, SHOWN_OF_CONSTANT)])
    return Constant(best + 1, first, float(f1[best]))


def by_frequency(training: IntArray | None, support: IntArray) -> IntArray:
    """Order labels from the most frequent on, (L,): by training counts, else by the truth."""
    return np.argsort(-(support if training is None else training), kind="stable")


def without(outcome: MultiLabelOutcome, labels: LabelSet, dropped: Sequence[int]) -> Removed:
    """Score an outcome with labels (positions) taken out of truth, answers and rankings.

    CANTEMIST's F1 is of this kind: it leaves the code 8000/6 out of truth and answers.
    """
    keep = kept_without(len(labels), dropped)
    decided = Decided.of(outcome, keep)
    overall = averages(scores_of(decided.label_counts()))
    figures = {key: plain(overall[key]) for key in (*MICRO, "macro_f1")}
    ranked = rank_documents(outcome, (1,), keep=keep)
    judged = int((ranked.true > 0).sum())
    figures["map"] = float(np.nanmean(ranking_values(ranked)["map"])) if judged else None
    return Removed(len(dropped), tuple(labels.ids[k] for k in dropped), judged, figures)
