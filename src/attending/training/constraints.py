"""Decisions under a constraint: a recall to keep, a share to hand over. On development rows.

Letters: N development rows that were read, L labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import LabelError
from attending.evaluation.operating import (
    band_for_accuracy,
    band_for_share,
    floor_point,
    remark_on,
)
from attending.evaluation.thresholds import RecallPoint
from attending.parts.choices import at_least, in_turn, lead, reach
from attending.parts.decoders import Decision
from attending.records import LabelSet
from attending.specs.decoders import ArgmaxDecoder, ThresholdDecoder, read_floors

Array = NDArray[np.float64]


def require_floors(labels: LabelSet, floors: Mapping[str, float]) -> None:
    """Make sure that recall floors are of labels that can have one.

    Raises:
        LabelError: If one isn't in the set, or is the lowest of ordered labels, which every row
            is at least.
    """
    for label in floors:
        if labels.position(label) == 0 and labels.ordered and len(labels) > 1:
            raise LabelError(
                f'every row is at least "{label}", the lowest of ordered labels, so its recall '
                "can't be kept by a threshold",
                allowed=", ".join(labels.ids[1:]),
            )


def keep_recalls(
    decision: Decision,
    probabilities: Array,
    targets: NDArray[np.int64],
    labels: LabelSet,
    spec: ArgmaxDecoder,
) -> tuple[Decision, list[str]]:
    """Give labels with a recall to keep the threshold that keeps it with the fewest alerts.

    probabilities (N, L), targets (N,) true positions. Labels are served in turn: of ordered ones
    the highest first, and what it raised counts for the lower ones; else in the order of the
    recipe, and what an earlier label took is lost to a later one.
    Returns the decision, and what was not done or must be known.

    Raises:
        LabelError: As ``require_floors``.
    """
    floors = read_floors(spec.recall_floors)
    require_floors(labels, floors)
    thresholds, prices, remarks = {}, {}, []
    taken = np.zeros(len(targets), bool)
    for label in in_turn(labels, floors):
        scores = reach(probabilities, labels, label)
        truth = at_least(targets, labels, label)
        if not labels.ordered:
            scores = np.where(taken, -1.0, scores)
        found = floor_point(
            scores,
            truth,
            floors[label],
            forced=taken if labels.ordered else None,
            surely=bool(spec.surely),
        )
        if not isinstance(found, str) and found.threshold < 0:
            found = _of_the_rest(found, scores)
        if isinstance(found, str):
            remarks.append(f"no recall floor for {label}: {found}")
            continue
        thresholds[label] = found.threshold
        or_more = labels.ordered and label != labels.ids[-1]
        prices[label] = price(found, floors[label], bool(spec.surely), or_more)
        remarks += _remark(label, floors[label], found.positives)
        taken |= scores >= found.threshold
    return replace(decision, thresholds=thresholds, recall_floors=prices), remarks


def _of_the_rest(found: RecallPoint, scores: Array) -> RecallPoint | str:
    """Put right a point that lies below all rows that are left; rows taken before score -1.

    If it needs rows that were taken, there is none. Else all rows that are left are its alerts, and
    half their lowest score does as its threshold.
    """
    left = scores[scores >= 0]
    if found.alerts > len(left):
        return "labels named before it take too many of its rows"
    return replace(found, threshold=float(left.min(initial=1.0)) / 2)


def keep_each_recall(
    decision: Decision,
    probabilities: Array,
    truth: NDArray[np.bool_],
    labels: LabelSet,
    spec: ThresholdDecoder,
) -> tuple[Decision, list[str]]:
    """Give labels with a recall to keep a threshold of their own; any number of labels a row.

    probabilities and truth (N, L). Labels don't take rows from each other.

    Raises:
        LabelError: If a label isn't in the set.
    """
    floors = read_floors(spec.recall_floors)
    thresholds, prices, remarks = dict(decision.thresholds), {}, []
    for label, floor in floors.items():
        place = labels.position(label)
        found = floor_point(
            probabilities[:, place], truth[:, place], floor, surely=bool(spec.surely)
        )
        if isinstance(found, str):
            remarks.append(f"no recall floor for {label}: {found}")
            continue
        thresholds[label] = found.threshold
        prices[label] = price(found, floor, bool(spec.surely), False)
        remarks += _remark(label, floor, found.positives)
    return replace(decision, thresholds=thresholds, recall_floors=prices), remarks


def price(point: RecallPoint, floor: float, surely: bool, or_more: bool) -> dict[str, Any]:
    """Return what ``decision.json`` keeps of a point: counts, from which all else follows."""
    return {
        "floor": floor,
        "surely": surely,
        "or_more": or_more,
        "rows": point.rows,
        "positives": point.positives,
        "caught": point.caught,
        "alerts": point.alerts,
        "low": point.interval.low if point.interval else 0.0,
        "high": point.interval.high if point.interval else 1.0,
    }


def _remark(label: str, floor: float, positives: int) -> Iterator[str]:
    said = remark_on(floor, positives)
    if said:
        yield f"{label}: {said}"


def hand_over(
    decision: Decision,
    probabilities: Array,
    targets: NDArray[np.int64],
    labels: LabelSet,
    spec: ArgmaxDecoder,
) -> tuple[Decision, list[str]]:
    """Choose the band that is handed over to a person, where a share or an accuracy is wanted.

    probabilities (N, L), targets (N,) true positions. Rows whose label came by a recall's threshold
    are never handed over for doubt. A share is one of all rows; an accuracy is that of the rows
    that no recall decided.
    """
    if not spec.abstain_share and not spec.abstain_accuracy:
        return decision, []
    chosen = decision.best(probabilities, labels)
    open_ = ~decision.raised(probabilities, labels)
    by = spec.abstain_by or "probability"
    sure = _sureness(probabilities, chosen, by)[open_]
    right = (chosen == targets)[open_]
    if spec.abstain_accuracy:
        what, wanted = "accuracy", spec.abstain_accuracy
        found = band_for_accuracy(sure, right, wanted)
    else:
        what, wanted = "share", float(spec.abstain_share or 0.0)
        found = band_for_share(sure, right, wanted * len(targets) / max(len(sure), 1))
    if isinstance(found, str):
        return decision, [f"nothing is handed over for doubt: {found}"]
    value = min(max(found.value, 0.0), 1.0)
    field = "abstain_below" if by == "probability" else "abstain_margin"
    record = {"what": what, "wanted": wanted, "by": by, "all_rows": len(targets), **found.to_dict()}
    del record["value"]
    changes: dict[str, Any] = {"abstain_below": None, "abstain_margin": None, field: value}
    return replace(decision, **changes, abstention=record), []


def _sureness(probabilities: Array, chosen: NDArray[np.intp], by: str) -> Array:
    if by == "margin":
        return lead(probabilities, chosen)
    return np.asarray(probabilities[np.arange(len(chosen)), chosen])
