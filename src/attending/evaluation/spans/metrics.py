"""Score what a tagger found against annotated entities: every figure under its one definition."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attending.evaluation.counts import IntArray, LabelCounts, ratio, scores_of
from attending.evaluation.intervals import check_confidence
from attending.evaluation.multilabel.frequency import training_vector
from attending.evaluation.multilabel.outcome import Unknown
from attending.evaluation.result import Figure, plain
from attending.evaluation.spans.alignment import KINDS
from attending.evaluation.spans.bootstrap import bootstrap, whole_sums
from attending.evaluation.spans.breakdown import Breakdown, break_down
from attending.evaluation.spans.counts import counts_of
from attending.evaluation.spans.figures import figures_of
from attending.evaluation.spans.frequency import SPAN_CUTOFFS, buckets_of, groups_of
from attending.evaluation.spans.layers import layers_of
from attending.evaluation.spans.matching import SCHEMES, rest_of
from attending.evaluation.spans.outcome import SpanOutcome, Words, match_spans
from attending.evaluation.spans.result import NotRead, SpanResult
from attending.records import LabelSet, Prediction, Row
from attending.tokens import own_words

_WHY_UNDEFINED = {
    "precision": "no entity of this type was found",
    "recall": "no document has an entity of this type",
    "f1": "no document has or got an entity of this type",
    "partial_f1": "no document has or got an entity of this type",
    "type_f1": "no document has or got an entity of this type",
    "word_precision": "no word was given this type",
    "word_recall": "no word has this type",
    "word_f1": "no word has or got this type",
    "training": "how often types occur in training isn't known",
}


def evaluate_spans(
    truth: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    counts: Mapping[str, int] | None = None,
    words: Words | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    cutoffs: Sequence[int] = SPAN_CUTOFFS,
    unknown: Unknown = "error",
) -> SpanResult:
    """Score what a tagger found.

    Predictions are matched to documents by order and id. Every document counts as annotated; one
    without an answer (nothing to read, too long, failed, abstained) misses all of its entities and
    is listed. Entities are compared as they are, nested and discontinuous ones too: nothing is
    flattened but for figures on words.

    Args:
        truth: The documents with their gold entities, and rows that could not be read.
        predictions: What was found in each, in the same order.
        labels: The types, without one for 'O'.
        counts: How many entities of each type there are in training, for the groups head, torso,
            tail and unseen.
        words: The words of a document whose source has none of its own (attribute "tokens");
            stretches between white space if unset.
        resamples: Draws of the bootstrap; 0 leaves intervals out.
        seed: Of the draws.
        confidence: Of the intervals.
        cutoffs: Training entities up to which a type is of the tail, and of the torso.
        unknown: Whether a document's type that ``labels`` lacks is an error, or is added and
            counts as missed.

    Raises:
        DataError: If documents and predictions don't match, a span doesn't fit its text, a
            prediction holds no spans, there is no document, or a setting is out of range.
        LabelError: If a type is not in the label set.
    """
    check_confidence(confidence)
    outcome = match_spans(truth, predictions, labels, unknown=unknown)
    rests = [rest_of(a, b) for a, b in zip(outcome.gold, outcome.given, strict=True)]
    counted = counts_of(outcome, rests, words)
    sums = whole_sums(counted)
    metrics = {key: plain(value[0]) for key, value in figures_of(sums).items()}
    training = None if counts is None else training_vector(counts, outcome.labels)
    groups = {} if training is None else groups_of(training, cutoffs)
    breakdown = break_down(outcome, rests)
    rows = _per_type(outcome.labels, sums, breakdown, training)
    drawn = bootstrap(counted, groups, resamples=resamples, seed=seed, confidence=confidence)
    places = {i: k for k, i in enumerate(outcome.labels.ids)}
    return SpanResult(
        labels=outcome.labels,
        coverage=outcome.coverage,
        metrics=metrics,
        schemes=_schemes(sums),
        per_label=rows,
        groups=buckets_of(sums, groups),
        breakdown=breakdown,
        layers=layers_of(outcome.gold),
        found=int(sums["found_all"][0]),
        repeated=outcome.repeated,
        not_read=_not_read(outcome),
        unreadable=outcome.unreadable,
        words=(int(sums["words"][0]), sum(own_words(d) is not None for d in outcome.documents)),
        intervals=drawn.overall,
        label_intervals={i: drawn.by_type[places[i]] for i in rows},
        group_intervals=drawn.by_group,
        undefined=_undefined(metrics, rows),
        settings={
            "confidence": confidence,
            "resamples": resamples,
            "seed": seed,
            "cutoffs": tuple(cutoffs),
            "words": None if words is None else "given",
        },
    )


def _schemes(sums: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    gold, found = (int(sums[key][0]) for key in ("gold_all", "found_all"))
    rows = {}
    for name in SCHEMES:
        row = {k: int(sums[f"{name}_{k}"][0]) for k in ("correct", "incorrect", "partial")}
        met = sum(row.values())
        rows[name] = row | {"missed": gold - met, "spurious": found - met}
    return rows


def _per_type(
    labels: LabelSet,
    sums: Mapping[str, Any],
    breakdown: Breakdown,
    training: IntArray | None,
) -> dict[str, dict[str, Figure]]:
    own = {name: value[0] for name, value in sums.items() if value.ndim == 2}
    entities = scores_of(LabelCounts(own["right"], own["gold"], own["found"]))
    on_words = scores_of(LabelCounts(own["words_right"], own["words_gold"], own["words_found"]))
    total = own["gold"] + own["found"]
    figures = {
        "precision": entities.precision,
        "recall": entities.recall,
        "f1": entities.f1,
        "partial_f1": ratio(own["partial"], total),
        "type_f1": ratio(2 * own["overlap"], total),
        "word_precision": on_words.precision,
        "word_recall": on_words.recall,
        "word_f1": on_words.f1,
    }
    numbers = {
        "support": own["gold"],
        "predicted": own["found"],
        "right": own["right"],
        "words": own["words_gold"],
        "words_predicted": own["words_found"],
        "words_right": own["words_right"],
    }
    rows: dict[str, dict[str, Figure]] = {}
    for k in np.flatnonzero(total).tolist():
        kinds = breakdown.by_type.get(k, {})
        rows[labels.ids[k]] = {
            "training": None if training is None else int(training[k]),
            **{name: int(values[k]) for name, values in numbers.items()},
            **{name: plain(values[k]) for name, values in figures.items()},
            **{kind: int(kinds.get(kind, 0)) for kind in KINDS if kind != "right"},
        }
    return rows


def _not_read(outcome: SpanOutcome) -> tuple[NotRead, ...]:
    found = [
        NotRead(document.id, reason, len(gold))
        for document, reason, gold in zip(
            outcome.documents, outcome.reasons, outcome.gold, strict=True
        )
        if reason is not None
    ]
    return tuple(sorted(found, key=lambda document: -document.entities))


def _undefined(
    metrics: Mapping[str, Figure], rows: Mapping[str, Mapping[str, Figure]]
) -> dict[str, str]:
    found = {
        f"metrics.{key}": "there is nothing of the kind that it counts"
        for key, value in metrics.items()
        if value is None
    }
    for label, row in rows.items():
        for key, value in row.items():
            if value is None:
                found[f"per_type.{label}.{key}"] = _WHY_UNDEFINED[key]
    return found
