"""What chooses a tagger's checkpoint and fits its temperature, on development documents alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attending.evaluation.calibration import fit_temperature, log_loss
from attending.evaluation.spans.outcome import match_spans
from attending.models.tagger import TaggerModel
from attending.parts.tagging.decision import SpanDecision
from attending.records import LabelSet, Prediction
from attending.training.tagging_rows import TaggedRows

METRICS = ("micro_f1", "macro_f1", "log_loss")
"""Figures of development documents, by which a checkpoint can be chosen."""
_MOST_WORDS = 200_000


def development_figures(model: TaggerModel, rows: TaggedRows) -> dict[str, float]:
    """Return strict micro-F1, its mean over types that occur, and the log loss of words' tags."""
    if not rows.documents:
        return {}
    predictions = model.predict(rows.documents)
    likely, targets = word_evidence(model, rows)
    flat = likely.reshape(-1, likely.shape[-1])
    return {
        **strict_figures(rows, predictions, model.labels),
        "log_loss": log_loss(np.exp(flat), targets.ravel()) if len(flat) else 0.0,
    }


def strict_figures(
    rows: TaggedRows, predictions: Sequence[Prediction], labels: LabelSet
) -> dict[str, float]:
    """Return micro-F1 and macro-F1 of entities: the same place and type, or wrong.

    macro-F1 is the mean over types that are annotated or found.
    """
    numbered = [replace(d, id=str(i)) for i, d in enumerate(rows.documents)]
    given = [replace(p, id=str(i)) for i, p in enumerate(predictions)]
    outcome = match_spans(numbered, given, labels)
    gold, found, right = Counter[int](), Counter[int](), Counter[int]()
    for true, ours in zip(outcome.gold, outcome.given, strict=True):
        gold.update(e.type for e in true)
        found.update(e.type for e in ours)
        right.update(e.type for e in set(true) & set(ours))
    types = sorted(set(gold) | set(found))
    each = [2 * right[t] / (gold[t] + found[t]) for t in types]
    total = sum(gold.values()) + sum(found.values())
    return {
        "micro_f1": 2 * sum(right.values()) / total if total else 0.0,
        "macro_f1": float(np.mean(each)) if each else 0.0,
    }


def word_evidence(
    model: TaggerModel, rows: TaggedRows
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return log probabilities (N, K, C) and true tags (N, K) of the words that were scored."""
    scored = model.scores(rows.documents)
    kept = [(s, t) for s, t in zip(scored, rows.targets, strict=True) if len(s.numbers)]
    if not kept:
        layers, tags = model.tags.shape
        return np.zeros((0, layers, tags)), np.zeros((0, layers), dtype=np.int64)
    logits = np.concatenate([s.logits for s, _ in kept])
    _, likely = model.tagged(logits, [len(s.numbers) for s, _ in kept])
    return likely, np.concatenate([t[s.numbers] for s, t in kept])


def settled(model: TaggerModel, rows: TaggedRows) -> tuple[SpanDecision, str | None]:
    """Fit the temperature of a tagger's decision on development documents.

    Returns the decision, and why nothing was fitted (``None`` if it was).
    """
    decision = model.decision
    if model.recipe["decoder"].calibrate == "none":
        return decision, None
    likely, targets = word_evidence(model, rows)
    if not len(targets):
        reason: str | None = "no development rows"
        value = 1.0
    else:
        words = max(1, _MOST_WORDS // targets.shape[1])
        # What a chain can't do has no probability at all, which no temperature could change.
        logits = np.maximum(likely[:words], np.log(1e-12)).reshape(-1, likely.shape[-1])
        found = fit_temperature(logits, targets[:words].ravel())
        reason, value = found.reason, found.value
    if reason is not None:
        note = f"scores of spans are not calibrated: {reason}"
        return replace(decision, note=note), note
    return replace(decision, temperature=value), None
