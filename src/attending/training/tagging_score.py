"""What chooses a tagger's checkpoint and fits its temperature, on development documents alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attending.evaluation.calibration import fit_temperature, log_loss
from attending.evaluation.spans.outcome import match_spans
from attending.models.tagger import Judged, TaggerModel
from attending.parts.tagging.decision import SpanDecision
from attending.records import LabelSet, Prediction
from attending.training.tagging_rows import TaggedRows

METRICS = ("micro_f1", "macro_f1", "log_loss")
"""Figures of development documents, by which a checkpoint can be chosen."""
_MOST_WORDS = 200_000


def development_figures(model: TaggerModel, rows: TaggedRows, judged: Judged) -> dict[str, float]:
    """Return strict micro-F1, its mean over types that occur, and the log loss of words' tags.

    ``judged`` is what the model makes of the rows' words.
    """
    if not rows.documents:
        return {}
    flat = judged.likely.reshape(-1, judged.likely.shape[-1])
    targets = targets_of(judged, rows).ravel()
    return {
        **strict_figures(rows, model.decided(rows.documents, judged), model.labels),
        "log_loss": log_loss(np.exp(flat), targets) if len(flat) else 0.0,
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


def targets_of(judged: Judged, rows: TaggedRows) -> NDArray[np.int64]:
    """Return the true tags (N, K) of the words of rows that were scored."""
    kept = [t[s.numbers] for (_, s), t in zip(judged.scored, rows.targets, strict=True)]
    return np.concatenate([judged.tags[:0], *kept])


def settled(
    model: TaggerModel, rows: TaggedRows, judged: Judged
) -> tuple[SpanDecision, str | None]:
    """Fit the temperature of a tagger's decision on development documents, as it judges them.

    Returns the decision, and why nothing was fitted (``None`` if it was).
    """
    decision = model.decision
    if model.recipe["decoder"].calibrate == "none":
        return decision, None
    likely, targets = judged.likely, targets_of(judged, rows)
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
