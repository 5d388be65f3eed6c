"""Score predictions against labels: every figure under the name of its one definition.

``evaluate`` is the way in. The array functions it rests on are offered here too: ``confusion``,
``precision_recall_f1``, ``roc_auc_one_vs_rest``, ``average_precision_one_vs_rest``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attending.evaluation import calibration
from attending.evaluation.calibration import Bin
from attending.evaluation.counts import (
    FloatArray,
    LabelCounts,
    LabelScores,
    averages,
    confusion,
    level_distances,
    matthews,
    over_labels,
    precision_recall_f1,
    quadratic_kappa,
    scores_of,
)
from attending.evaluation.definitions import DEFINITIONS
from attending.evaluation.intervals import (
    Interval,
    centred,
    check_confidence,
    percentile_interval,
    resamples_of,
    wilson_interval,
)
from attending.evaluation.outcome import Outcome, match
from attending.evaluation.ranking import (
    NO_DOCUMENT,
    OneVsRest,
    average_precision_one_vs_rest,
    roc_auc_one_vs_rest,
)
from attending.evaluation.result import Evaluation, Figure, plain
from attending.records import LabelSet, Prediction, Row

__all__ = [
    "DEFINITIONS",
    "Evaluation",
    "average_precision_one_vs_rest",
    "confusion",
    "evaluate",
    "evaluate_outcome",
    "precision_recall_f1",
    "roc_auc_one_vs_rest",
]

_BOOTSTRAPPED = ("accuracy", "macro_f1", "micro_f1", "weighted_f1")
_PER_LABEL = ("precision", "recall", "f1")


def evaluate(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Evaluation:
    """Score predictions of a single-label task.

    Predictions are matched to documents by order and id. A labelled document that got no answer
    (unreadable, too long, failed, abstained) counts as wrong everywhere except in figures whose
    name ends in ``_answered`` and in those of scores, which say so. Unlabelled documents are
    counted and left out. ``resamples=0`` leaves out the bootstrap.

    Raises:
        DataError: If documents and predictions don't match, nothing is labelled, a document has
            no single label, scores don't cover the label set, or a setting is out of range.
        LabelError: If a label is not in the label set.
    """
    outcome = match(documents, predictions, labels)
    return evaluate_outcome(outcome, labels, resamples=resamples, seed=seed, confidence=confidence)


def evaluate_outcome(
    outcome: Outcome,
    labels: LabelSet,
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Evaluation:
    """Score an outcome that was matched before; see ``evaluate``."""
    check_confidence(confidence)
    n = len(labels)
    matrix = confusion(outcome.truth, outcome.predicted, n)
    scores = precision_recall_f1(matrix)
    ranked = _ranked(outcome, n)
    metrics, undefined = _overall(matrix, scores, labels)
    for name, figure in ranked.items():
        metrics[f"{name}_macro"], metrics[f"{name}_micro"] = figure.macro, figure.micro
    metrics.update(_of_probabilities(outcome, undefined))
    per_label = {label: _label_row(scores, matrix, ranked, k) for k, label in enumerate(labels.ids)}
    _explain(metrics, per_label, ranked, labels, undefined)
    intervals, label_intervals = _bootstrap(outcome, labels, resamples, seed, confidence)
    seen = scores.counts.seen
    return Evaluation(
        labels=labels,
        coverage=outcome.coverage,
        metrics=metrics,
        per_label=per_label,
        confusion=tuple(tuple(int(x) for x in row) for row in matrix),
        averaged={i: int(scores.counts.support[k]) for k, i in enumerate(labels.ids) if seen[k]},
        defined={name: (figure.defined, figure.labels) for name, figure in ranked.items()},
        reliability=_reliability(outcome),
        intervals=intervals,
        label_intervals=label_intervals,
        shares={
            "accuracy": wilson_interval(
                int(scores.counts.right.sum()), int(matrix.sum()), confidence
            )
        },
        label_shares=_wilson(scores.counts, labels, confidence),
        undefined=undefined,
        settings={"confidence": confidence, "resamples": resamples, "seed": seed},
    )


def _overall(
    matrix: Any, scores: LabelScores, labels: LabelSet
) -> tuple[dict[str, Figure], dict[str, str]]:
    """Give the figures that follow from the confusion matrix, and reasons for the undefined."""
    n = len(labels)
    answered = matrix.copy()
    answered[:, n] = 0
    metrics: dict[str, Figure] = {key: plain(v) for key, v in averages(scores).items()}
    metrics["mcc"] = plain(matthews(matrix))
    beside = averages(precision_recall_f1(answered))
    for key in _BOOTSTRAPPED:
        metrics[f"{key}_answered"] = plain(beside[key])
    metrics["mcc_answered"] = plain(matthews(answered))
    if labels.ordered:
        metrics.update(_by_level(matrix))
    undefined: dict[str, str] = {}
    for key, value in metrics.items():
        if value is None:
            undefined[f"metrics.{key}"] = _why_undefined(key, answered)
    return metrics, undefined


def _why_undefined(key: str, answered: Any) -> str:
    if not answered.sum():
        return "no document was answered"
    if key.startswith("mcc"):
        return "all documents have one label, or all got one"
    return "truth and predictions are all one label"


def _by_level(matrix: Any) -> dict[str, Figure]:
    n = matrix.shape[0]
    distances = level_distances(matrix)
    total = sum(distances.values())
    off = sum(abs(d) * count for d, count in distances.items())
    return {
        "quadratic_kappa_answered": plain(quadratic_kappa(matrix[:, :n])),
        "mean_absolute_error_answered": off / total if total else None,
        "under_triaged": sum(c for d, c in distances.items() if d <= -1),
        "under_triaged_by_2_or_more": sum(c for d, c in distances.items() if d <= -2),
        "over_triaged": sum(c for d, c in distances.items() if d >= 1),
        "over_triaged_by_2_or_more": sum(c for d, c in distances.items() if d >= 2),
        "highest_level_missed": int(matrix[-1].sum() - matrix[-1, n - 1]),
    }


def _ranked(outcome: Outcome, n: int) -> dict[str, OneVsRest]:
    truth = np.eye(n, dtype=np.int64)[outcome.truth[outcome.scored]]
    scores = outcome.scores[outcome.scored]
    return {
        "roc_auc": roc_auc_one_vs_rest(truth, scores),
        "average_precision": average_precision_one_vs_rest(truth, scores),
    }


def _probabilities(outcome: Outcome) -> FloatArray | str:
    """Return the scored documents' probabilities, or why they aren't any."""
    scores = outcome.scores[outcome.scored]
    if not len(scores):
        return NO_DOCUMENT
    if scores.min() < 0 or np.abs(scores.sum(axis=1) - 1).max() > 1e-3:
        return "the scores are not probabilities that sum to 1"
    result: FloatArray = np.minimum(scores, 1.0)
    return result


def _of_probabilities(outcome: Outcome, undefined: dict[str, str]) -> dict[str, Figure]:
    names = ("brier", "log_loss", "ece", "ece_equal_mass", "ece_classwise", "mean_confidence")
    probs = _probabilities(outcome)
    if isinstance(probs, str):
        undefined.update({f"metrics.{name}": probs for name in names})
        return dict.fromkeys(names)
    truth = outcome.truth[outcome.scored]
    error = calibration.expected_calibration_error
    return {
        "brier": calibration.brier_score(probs, truth),
        "log_loss": calibration.log_loss(probs, truth),
        "ece": error(probs, truth),
        "ece_equal_mass": error(probs, truth, scheme="equal-mass"),
        "ece_classwise": error(probs, truth, over="classwise"),
        "mean_confidence": float(probs.max(axis=1).mean()),
    }


def _reliability(outcome: Outcome) -> tuple[Bin, ...]:
    probs = _probabilities(outcome)
    if isinstance(probs, str):
        return ()
    return calibration.reliability_bins(
        *calibration.top_label(probs, outcome.truth[outcome.scored])
    )


def _label_row(
    scores: LabelScores, matrix: Any, ranked: Mapping[str, OneVsRest], k: int
) -> dict[str, Figure]:
    counts = scores.counts
    return {
        "precision": plain(scores.precision[k]),
        "recall": plain(scores.recall[k]),
        "f1": plain(scores.f1[k]),
        "support": int(counts.support[k]),
        "predicted": int(counts.predicted[k]),
        "right": int(counts.right[k]),
        "no_answer": int(matrix[k, -1]),
        **{name: figure.per_label[k] for name, figure in ranked.items()},
    }


def _explain(
    metrics: Mapping[str, Figure],
    per_label: Mapping[str, Mapping[str, Figure]],
    ranked: Mapping[str, OneVsRest],
    labels: LabelSet,
    undefined: dict[str, str],
) -> None:
    """Add to ``undefined`` the reasons of labels' figures and of ranking averages."""
    reasons = {
        "precision": "no document got this label",
        "recall": "no document has this label",
        "f1": "no document has or got this label",
    }
    for k, label in enumerate(labels.ids):
        for name in _PER_LABEL:
            if per_label[label][name] is None:
                undefined[f"per_label.{label}.{name}"] = reasons[name]
        for name, figure in ranked.items():
            if k in figure.reasons:
                undefined[f"per_label.{label}.{name}"] = figure.reasons[k]
    for name in ranked:
        for kind in ("macro", "micro"):
            if metrics[f"{name}_{kind}"] is None:
                undefined[f"metrics.{name}_{kind}"] = "it is undefined for every label"


def _bootstrap(
    outcome: Outcome, labels: LabelSet, resamples: int, seed: int, confidence: float
) -> tuple[dict[str, Interval | None], dict[str, dict[str, Interval | None]]]:
    """Bootstrap the figures on decisions, all from the same draws."""
    n = len(labels)
    overall: dict[str, list[FloatArray]] = {name: [] for name in _BOOTSTRAPPED}
    single: dict[str, list[FloatArray]] = {name: [] for name in _PER_LABEL}
    for drawn in resamples_of(outcome.truth.size, resamples, seed, n):
        counts = LabelCounts.of_rows(outcome.truth[drawn], outcome.predicted[drawn], n)
        scores = scores_of(counts)
        figures = averages(scores)
        for name in _BOOTSTRAPPED:
            overall[name].append(figures[name])
        for name in _PER_LABEL:
            single[name].append(getattr(scores, name))
    joined = {k: np.concatenate([np.empty((0, n)), *v]) for k, v in single.items()}
    whole = averages(
        scores_of(LabelCounts.of_rows(outcome.truth[None], outcome.predicted[None], n))
    )
    draws = {k: np.concatenate([np.empty(0), *v]) for k, v in overall.items()}
    return (
        {
            k: percentile_interval(centred(v, whole[k][0]) if over_labels(k) else v, confidence)
            for k, v in draws.items()
        },
        {
            label: {k: percentile_interval(v[:, j], confidence) for k, v in joined.items()}
            for j, label in enumerate(labels.ids)
        },
    )


def _wilson(
    counts: LabelCounts, labels: LabelSet, confidence: float
) -> dict[str, dict[str, Interval | None]]:
    def share(k: int, of: Any) -> Interval | None:
        return wilson_interval(int(counts.right[k]), int(of[k]), confidence)

    return {
        label: {"precision": share(k, counts.predicted), "recall": share(k, counts.support)}
        for k, label in enumerate(labels.ids)
    }
