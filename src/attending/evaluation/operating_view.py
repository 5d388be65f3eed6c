"""What a report shows of operating points: the price of a recall, and of handing over."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from attending.evaluation.counts import BoolArray, FloatArray
from attending.evaluation.operating import (
    LEAST_KEPT,
    alert_curve,
    alternatives,
    coverage_curve,
)
from attending.evaluation.operating_pictures import alert_picture, coverage_picture
from attending.evaluation.outcome import Outcome
from attending.evaluation.thresholds import RecallPoint
from attending.evaluation.wording import count, percent
from attending.records import LabelSet


@dataclass(frozen=True)
class OperatingView:
    """Prices of one label's recall, and accuracy by coverage, ready for the templates.

    Attributes:
        label: The highest of ordered labels, else the rarest that occurs; ``None`` where there is
            none.
        points: What several recalls of it cost, by the recall wanted.
        given: Share of documents that got the label, and its recall.
        alert_words: The same in a sentence.
        coverage_words: How many were answered, how many of these rightly; empty where there are
            too few documents.
        alert_picture: Recall against alerts.
        coverage_picture: Accuracy against coverage.
    """

    label: str | None
    points: tuple[tuple[float, RecallPoint], ...] = ()
    given: tuple[float, float] | None = None
    alert_words: str = ""
    coverage_words: str = ""
    alert_picture: Markup = field(default_factory=Markup)
    coverage_picture: Markup = field(default_factory=Markup)
    least: int = LEAST_KEPT

    @property
    def whose(self) -> str:
        """The label, for the page."""
        return self.label or ""

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of the table of prices."""
        return [
            {
                "floor": f"{100 * floor:g}%",
                "found": percent(p.recall),
                "interval": ""
                if p.interval is None
                else f"{100 * p.interval.low:.1f}–{100 * p.interval.high:.1f}%",
                "alerts": f"{p.alerts_per_1000:.0f}",
                "false": f"{p.false_alerts_per_1000:.0f}",
                "missed": f"{p.missed_per_1000:.1f}",
            }
            for floor, p in self.points
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts behind it."""
        return {
            "label": self.label,
            "points": [
                {
                    "recall_wanted": floor,
                    "threshold": p.threshold,
                    "rows": p.rows,
                    "positives": p.positives,
                    "alerts": p.alerts,
                    "caught": p.caught,
                }
                for floor, p in self.points
            ],
        }


def operating_view(outcome: Outcome, labels: LabelSet) -> OperatingView:
    """Return what every threshold and every band would have done on these documents.

    Documents without scores raise no alert and get no answer, and count as such.
    """
    label = _label(outcome, labels)
    words, picture = _coverage(outcome)
    if label is None:
        return OperatingView(None, coverage_words=words, coverage_picture=picture)
    place = labels.position(label)
    # Below every probability, so that what has no score is found last.
    scores = np.where(outcome.scored, outcome.scores[:, place], -1.0)
    truth = outcome.truth == place
    curve = alert_curve(scores, truth)
    points = [(f, p) for f, p in alternatives(scores, truth) if p.threshold >= 0]
    raised = outcome.predicted == place
    given = float(raised.mean()), float((raised & truth).sum() / max(int(truth.sum()), 1))
    return OperatingView(
        label,
        tuple(points) if curve else (),
        given,
        _alert_words(label, raised, truth),
        words,
        alert_picture(curve, given) if curve else Markup(""),
        picture,
    )


def _label(outcome: Outcome, labels: LabelSet) -> str | None:
    if len(labels) < 2:
        return None
    if labels.ordered:
        return labels.ids[-1]
    counts = np.bincount(outcome.truth, minlength=len(labels))
    known = np.flatnonzero(counts)
    return labels.ids[int(known[counts[known].argmin()])] if known.size else None


def _alert_words(label: str, raised: BoolArray, truth: BoolArray) -> str:
    rows, found = len(truth), int((raised & truth).sum())
    return (
        f"As it decides now, the model gives “{label}” to {1000 * raised.mean():.0f} of 1,000"
        f" documents, {1000 * (int(raised.sum()) - found) / rows:.0f} of them wrongly, and misses"
        f" {1000 * (int(truth.sum()) - found) / rows:.1f} that are truly “{label}”."
    )


def _coverage(outcome: Outcome) -> tuple[str, Markup]:
    sure, right = sureness(outcome)
    curve = coverage_curve(sure, right)
    if curve is None:
        return "", Markup("")
    answered = outcome.answered
    good = int((outcome.predicted == outcome.truth)[answered].sum())
    share = float(answered.mean())
    accuracy = good / max(int(answered.sum()), 1)
    words = (
        f"The model answered {count(int(answered.sum()))} of {count(len(answered))} documents"
        f" ({percent(share)}); {percent(accuracy)} of these answers are right."
    )
    # The curve is over documents with scores; the dot over all.
    given = (share, accuracy) if answered.any() else None
    return words, coverage_picture(curve, given)


def sureness(outcome: Outcome) -> tuple[FloatArray, BoolArray]:
    """Return how sure each document with scores is of its label, and whether that is right.

    The label is the one given; where the model was silent, its most probable one.
    """
    scores = outcome.scores[outcome.scored]
    truth, given = outcome.truth[outcome.scored], outcome.predicted[outcome.scored]
    label = np.where(given >= 0, given, scores.argmax(axis=1) if len(scores) else given)
    return scores[np.arange(len(label)), label], label == truth
