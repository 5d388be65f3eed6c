"""Which documents went wrong, worst first: ids and labels, never text."""

from dataclasses import dataclass

import numpy as np

from attending.evaluation.outcome import Outcome
from attending.records import LabelSet


@dataclass(frozen=True, slots=True)
class Mistake:
    """A document that got a wrong label.

    confidence is the probability of the label it got and of_truth that of its true label, both
    ``None`` without scores; levels is how far the answer lies below the truth (negative: above),
    0 where labels have no order.
    """

    id: str
    truth: str
    given: str
    confidence: float | None
    of_truth: float | None
    levels: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A labelled document without an answer and why (one of ``outcome.NOT_ANSWERED``)."""

    id: str
    truth: str
    reason: str


def worst_mistakes(outcome: Outcome, labels: LabelSet) -> list[Mistake]:
    """List documents with a wrong label, worst first.

    For ordered labels those placed furthest below their true level come first and those placed
    above it last; within that, and for labels without order, the surest mistakes come first.
    """
    wrong = np.flatnonzero(outcome.answered & (outcome.predicted != outcome.truth))
    found = []
    for row in wrong.tolist():
        truth, given = int(outcome.truth[row]), int(outcome.predicted[row])
        scores = outcome.scores[row] if outcome.scored[row] else None
        found.append(
            Mistake(
                id=outcome.ids[row],
                truth=labels.ids[truth],
                given=labels.ids[given],
                confidence=None if scores is None else float(scores[given]),
                of_truth=None if scores is None else float(scores[truth]),
                levels=truth - given if labels.ordered else 0,
            )
        )
    return sorted(found, key=lambda m: (-m.levels, -(m.confidence or 0.0)))


def unanswered(outcome: Outcome, labels: LabelSet) -> list[Unanswered]:
    """List labelled documents without an answer, for ordered labels the highest level first."""
    rows = [k for k, reason in enumerate(outcome.reasons) if reason is not None]
    if labels.ordered:
        rows.sort(key=lambda k: -int(outcome.truth[k]))
    return [
        Unanswered(outcome.ids[k], labels.ids[int(outcome.truth[k])], str(outcome.reasons[k]))
        for k in rows
    ]
