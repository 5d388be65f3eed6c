"""Settle how scores become labels, on development rows, once a model is trained.

Fitted here and nowhere else: temperature or vector scaling, thresholds, the points that keep a
recall, the band that is handed over. Known before any development row is seen:
the shift that undoes a loss's weights, the shares of labels that a choice discounts and the number
of labels of ``top-k``, which come from training rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attending import registry
from attending.data.corpora import Corpus
from attending.errors import TrainingError
from attending.evaluation.calibration import LEAST_ROWS, fit_temperature
from attending.evaluation.cell_temperature import fit_cell_temperature
from attending.evaluation.thresholds import best_threshold, log_odds, per_label_thresholds
from attending.evaluation.vector_scaling import fit_vector_scaling
from attending.models.base import Model, Scored
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.constraints import hand_over, keep_each_recall, keep_recalls
from attending.training.score import answered, answered_multilabel, development_score

MOVED = "threshold_moved"
"""The fact that says by how much a threshold was moved, in log-odds; see ``carved``."""


def settle(
    model: Model,
    development: Sequence[Document],
    recipe: Recipe,
    counts: Mapping[str, int],
    documents: int,
    *,
    scored: Sequence[Scored] | None = None,
) -> tuple[Decision, dict[str, float], str | None]:
    """Fit the decision of a trained model on development rows, and score them with it.

    ``counts`` are the training rows of each label, ``documents`` how many training rows have a
    label. Rows that couldn't be read are left out of the fit and count in the score. Gives the
    model its decision; returns it, the development figures, and why something was not fitted
    (``None`` if everything was). What can't be fitted keeps its default: temperature 1, the
    recipe's threshold, no recall floor, no band. ``scored`` are the model's scores of the rows,
    where they are known already.

    Raises:
        TrainingError: If the loss needs a correction that can't be computed.
    """
    decision = untuned(recipe, model.labels, counts, documents)
    scored = model.scores(development) if scored is None else scored
    decision, reason = fitted(decision, scored, development, model.labels, recipe)
    if reason is not None:
        decision = replace(decision, note=reason)
    model.decision = decision
    return decision, development_score(scored, development, model.labels, decision), reason


def settle_again(
    model: Model, development: Sequence[Document], recipe: Recipe, *, scored: Sequence[Scored]
) -> tuple[Decision, str | None]:
    """Fit the decision of a finished model anew, on other development rows.

    What training rows told (the shift that undoes a loss, shares, how many labels) stays, and
    where the rows are those that training carved off, how far the threshold is moved.
    Everything else is fitted as by ``settle``, with the decoder of ``recipe``. Returns the decision
    and why something was not fitted; the model keeps its old one.
    """
    spec, old = recipe["decoder"], model.decision
    bare = Decision(
        old.kind,
        abstain_below=getattr(spec, "abstain_below", None),
        abstain_margin=getattr(spec, "abstain_margin", None),
        shift=old.shift,
        threshold=getattr(spec, "threshold", old.threshold),
        at_least_one=old.at_least_one,
        k=old.k,
        keep_scores=old.keep_scores,
        prior_shift=old.prior_shift,
        shares=old.shares,
    )
    decision, reason = fitted(bare, scored, development, model.labels, recipe)
    same = Corpus(tuple(development)).fingerprint == model.facts.get("development_fingerprint")
    if same:
        decision = moved(decision, model.facts.get(MOVED, 0.0))
    return replace(decision, note=reason), reason


def moved(decision: Decision, by: float) -> Decision:
    """Return the decision with its thresholds moved by so many log-odds.

    Those that keep a recall stay where they keep it.
    """
    if not by:
        return decision
    own = {
        i: t if i in decision.recall_floors else float(expit(log_odds(t) + by))
        for i, t in decision.thresholds.items()
    }
    at = float(expit(log_odds(decision.threshold) + by))
    return replace(decision, threshold=at, thresholds=own)


def fitted(
    decision: Decision,
    scored: Sequence[Scored],
    development: Sequence[Document],
    labels: LabelSet,
    recipe: Recipe,
) -> tuple[Decision, str | None]:
    """Return a decision with all that development rows can tell, and why something was not."""
    fit = _settle_single if recipe.task == "single" else _settle_multilabel
    return fit(decision, scored, development, labels, recipe)


def untuned(
    recipe: Recipe, labels: LabelSet, counts: Mapping[str, int], documents: int
) -> Decision:
    """Return the decision of a recipe before anything is fitted on development rows.

    It is also what scores development rows while a network trains, so that a log loss there is one
    of true probabilities.

    Raises:
        TrainingError: If no training row has a label.
    """
    own = [counts.get(i, 0) for i in labels.ids]
    if not documents or not sum(own):
        raise TrainingError("no training row has a label")
    known: dict[str, Any] = {"counts": counts}
    if recipe.task == "multi":
        undo = getattr(recipe.get("loss"), "shift", None)
        known["shift"] = 0.0 if undo is None else undo(own, documents)
        known["k"] = min(len(labels), max(1, int(sum(own) / documents + 0.5)))
    decision: Decision = registry.build(recipe["decoder"], **known)
    return decision


def _settle_single(
    decision: Decision,
    scored: Sequence[Scored],
    development: Sequence[Document],
    labels: LabelSet,
    recipe: Recipe,
) -> tuple[Decision, str | None]:
    spec = recipe["decoder"]
    logits, targets = answered(scored, development, labels)
    decision, calibration = _calibrated(decision, logits, targets, spec.calibrate)
    reasons = [calibration] if calibration else []
    if spec.recall_floors or spec.abstain_share or spec.abstain_accuracy:
        probabilities = decision.probabilities(logits)
        decision, more = keep_recalls(decision, probabilities, targets, labels, spec)
        reasons += more
        decision, more = hand_over(decision, probabilities, targets, labels, spec)
        reasons += more
    return decision, "; ".join(reasons) or None


def _calibrated(
    decision: Decision,
    logits: NDArray[np.float64],
    targets: NDArray[np.int64],
    how: str,
) -> tuple[Decision, str | None]:
    if how == "none":
        return decision, None
    if not len(targets):
        return decision, "probabilities are not calibrated: no development rows"
    found = fit_temperature(logits, targets)
    if found.reason is not None:
        return decision, f"probabilities are not calibrated: {found.reason}"
    decision = replace(decision, temperature=found.value)
    if how != "vector":
        return decision, None
    vector = fit_vector_scaling(logits, targets)
    if vector.reason is not None:
        return decision, f"one temperature in place of vector scaling: {vector.reason}"
    return replace(decision, scales=vector.scales, biases=vector.biases), None


def _settle_multilabel(
    decision: Decision,
    scored: Sequence[Scored],
    development: Sequence[Document],
    labels: LabelSet,
    recipe: Recipe,
) -> tuple[Decision, str | None]:
    logits, truth = answered_multilabel(scored, development, labels)
    reasons = []
    if recipe["decoder"].calibrate == "temperature":
        decision, reason = _with_temperature(decision, logits, truth)
        reasons += [reason] if reason else []
    if decision.kind == "threshold" and recipe["decoder"].tune != "none":
        decision, reason = _with_thresholds(decision, logits, truth, labels, recipe)
        reasons += [reason] if reason else []
    if getattr(recipe["decoder"], "recall_floors", None):
        probabilities = decision.probabilities(logits)
        decision, more = keep_each_recall(decision, probabilities, truth, labels, recipe["decoder"])
        reasons += more
    return decision, "; ".join(reasons) or None


def _with_temperature(
    decision: Decision, logits: NDArray[np.float64], truth: NDArray[np.bool_]
) -> tuple[Decision, str | None]:
    if not len(logits):
        return decision, "probabilities are not calibrated: no development rows"
    found = fit_cell_temperature(logits + decision.shift, truth)
    if found.reason is not None:
        return decision, f"probabilities are not calibrated: {found.reason}"
    return replace(decision, temperature=found.value), None


def _with_thresholds(
    decision: Decision,
    logits: NDArray[np.float64],
    truth: NDArray[np.bool_],
    labels: LabelSet,
    recipe: Recipe,
) -> tuple[Decision, str | None]:
    spec = recipe["decoder"]
    if not len(logits):
        return decision, f"no threshold is tuned: no development rows; it is {spec.threshold:g}"
    probabilities = decision.probabilities(logits)
    shared = best_threshold(probabilities, truth, spec.metric, default=spec.threshold)
    if shared.reason is not None:
        why = f"no threshold is tuned: {shared.reason} among the development rows"
        return decision, f"{why}; it is {spec.threshold:g}"
    own: dict[str, float] = {}
    if spec.tune == "per-label":
        values = per_label_thresholds(
            probabilities, truth, shared=shared.value, shrinkage=spec.shrinkage
        )
        own = {labels.ids[i]: float(values[i]) for i in np.flatnonzero(truth.any(axis=0))}
    pairs = int(truth.sum())
    few = f"the threshold rests on only {pairs} label{'s' * (pairs > 1)} of development rows"
    tuned = replace(decision, threshold=shared.value, thresholds=own)
    return tuned, few if pairs < LEAST_ROWS else None
