"""Score predictions of a multi-label task: ``evaluate_multilabel`` is the way in."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from attending.errors import DataError
from attending.evaluation.counts import FloatArray, IntArray, LabelCounts, scores_of
from attending.evaluation.intervals import Interval, check_confidence, wilson_interval
from attending.evaluation.multilabel.areas import Areas, areas
from attending.evaluation.multilabel.bootstrap import bootstrap
from attending.evaluation.multilabel.calibration import (
    CellCalibration,
    cell_calibration,
    incomplete,
    mean_of_assigned,
)
from attending.evaluation.multilabel.decisions import (
    Decided,
    hamming_loss,
    label_averages,
    micro,
    per_document,
)
from attending.evaluation.multilabel.diversity import diversity
from attending.evaluation.multilabel.frequency import (
    CUTOFFS,
    Removed,
    buckets,
    by_frequency,
    check_cutoffs,
    constant_answer,
    training_vector,
    without,
)
from attending.evaluation.multilabel.outcome import (
    MultiLabelOutcome,
    Unknown,
    match_multilabel,
    sizes,
)
from attending.evaluation.multilabel.ranked import (
    Ranked,
    check_ks,
    present_only,
    rank_documents,
    ranking_values,
)
from attending.evaluation.multilabel.result import MultiLabelEvaluation
from attending.evaluation.result import Figure, plain
from attending.records import LabelSet, Prediction, Row

KS = (1, 5, 8, 15)
REMOVED = (0, 2, 9)
_NO_PAIR = "no label is true or assigned"
_NO_TRUTH = "no document truly has a label"


@dataclass(frozen=True, slots=True)
class Choices:
    """What an evaluation is asked for beyond its data; see ``evaluate_multilabel``."""

    ks: tuple[int, ...] = KS
    without: tuple[str, ...] = ()
    removed: tuple[int, ...] = REMOVED
    cutoffs: tuple[int, int] = CUTOFFS
    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95


def evaluate_multilabel(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    training_counts: Mapping[str, int] | None = None,
    ks: Sequence[int] = KS,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    without: Sequence[str] = (),
    removed: Sequence[int] = REMOVED,
    cutoffs: Sequence[int] = CUTOFFS,
    unknown: Unknown = "error",
) -> MultiLabelEvaluation:
    """Score predictions of a multi-label task.

    Predictions are matched to documents by order and id. A labelled document that got no answer
    (unreadable, too long, failed, abstained) counts as one that got nothing and ranks nothing.
    Unlabelled documents are counted and left out; documents labelled with none stay.

    Args:
        documents: Rows with their labels.
        predictions: One a document, in the same order.
        labels: The label set of the model.
        training_counts: Training documents of each label, by label id; a label that isn't named
            was never seen. Sorts labels into head, torso, tail and unseen.
        ks: Cut-offs of P@k, R@k and nDCG@k. P@k divides by k however few labels there are.
        resamples: Draws behind the intervals; 0 leaves them out.
        seed: Seed of the draws.
        confidence: Confidence of the intervals.
        without: Label ids to leave out of truth and answers in a second set of figures, as
            CANTEMIST does with ``8000/6``.
        removed: How many of the most frequent labels to leave out, for a set of figures each (at
            most half of the labels; larger numbers are passed over); the frequency is that of
            training where it is known, else that of the truth.
        cutoffs: Training documents up to which a label is of the tail, and of the torso.
        unknown: What to do with labels of documents that the label set lacks: stop, or count
            each as missed.

    Raises:
        DataError: If documents and predictions don't match, nothing is labelled, an assigned
            label has no score although others have, or a setting is out of range.
        LabelError: If a label is not in the label set.
    """
    tail, torso = check_cutoffs(cutoffs)
    choices = Choices(
        check_ks(ks), tuple(without), tuple(removed), (tail, torso), resamples, seed, confidence
    )
    outcome, known = match_multilabel(documents, predictions, labels, unknown=unknown)
    more = known.ids[len(labels) :]
    notes = _unknown_note(more, outcome) if more else ()
    return evaluate_multilabel_outcome(outcome, known, training_counts, choices, notes)


def _unknown_note(more: Sequence[str], outcome: MultiLabelOutcome) -> tuple[str, ...]:
    first = outcome.width - len(more)
    pairs = int((outcome.truth.indices >= first).sum())
    return (
        f"{len(more)} labels of the documents are not in the model's label set (first"
        f' "{more[0]}"); their {pairs} document-label pairs count as missed',
    )


def evaluate_multilabel_outcome(
    outcome: MultiLabelOutcome,
    labels: LabelSet,
    training_counts: Mapping[str, int] | None = None,
    choices: Choices | None = None,
    notes: Sequence[str] = (),
) -> MultiLabelEvaluation:
    """Score an outcome that was matched before; see ``evaluate_multilabel``.

    Raises:
        DataError: If the label set is not that of the outcome, or a setting is out of range.
    """
    asked = choices or Choices()
    check_confidence(asked.confidence)
    if len(labels) != outcome.width:
        raise DataError(
            "the label set is not that of the outcome",
            found=f"{len(labels)} labels",
            allowed=str(outcome.width),
        )
    training = None if training_counts is None else training_vector(training_counts, labels)
    decided, ranked = Decided.of(outcome), rank_documents(outcome, asked.ks)
    counts, values = decided.label_counts(), document_values(outcome, decided, ranked)
    ranking = None if outcome.incomparable else areas(outcome)
    calibrated = cell_calibration(outcome)
    metrics = _figures(outcome, decided, counts, values)
    metrics |= _area_figures(ranking) | _probability_figures(outcome, calibrated)
    return MultiLabelEvaluation(
        labels=labels,
        coverage={**outcome.coverage, "with_labels": int((ranked.true > 0).sum())},
        metrics=metrics,
        per_label=_label_rows(labels, counts, training, ranking),
        averaged=int(counts.seen.sum()),
        defined=_defined(ranking),
        diversity=diversity(outcome, labels),
        constant=constant_answer(counts.support, outcome.documents, labels),
        buckets=() if training is None else buckets(counts, ranked, training, asked.cutoffs),
        removed=_removed(outcome, labels, by_frequency(training, counts.support), asked),
        excluded=_excluded(outcome, labels, asked),
        curve=ranking.curve if ranking else (),
        best=ranking.best if ranking else None,
        reliability=() if isinstance(calibrated, str) else calibrated.bins,
        intervals=bootstrap(
            decided,
            values,
            resamples=asked.resamples,
            seed=asked.seed,
            confidence=asked.confidence,
        ),
        label_shares=_wilson(labels, counts, asked.confidence),
        notes=(*notes, *_notes(outcome, asked)),
        undefined=_undefined(metrics, outcome, calibrated),
        settings={**asdict(asked), "frequency": "truth" if training is None else "training"},
    )


def _removed(
    outcome: MultiLabelOutcome, labels: LabelSet, order: IntArray, asked: Choices
) -> tuple[Removed, ...]:
    # With most labels gone nothing is left to learn from: ten labels have no "nine removed".
    wanted = [n for n in asked.removed if 0 <= 2 * n <= len(labels)]
    return tuple(without(outcome, labels, order[:n].tolist()) for n in wanted)


def _excluded(outcome: MultiLabelOutcome, labels: LabelSet, asked: Choices) -> Removed | None:
    places = [labels.position(i) for i in dict.fromkeys(asked.without)]
    return without(outcome, labels, places) if places else None


def _probability_figures(
    outcome: MultiLabelOutcome, calibrated: CellCalibration | str
) -> dict[str, Figure]:
    fitted = None if isinstance(calibrated, str) else calibrated
    return {
        "brier": fitted.brier if fitted else None,
        "ece": fitted.ece if fitted else None,
        "mean_confidence": mean_of_assigned(outcome),
    }


def document_values(
    outcome: MultiLabelOutcome, decided: Decided, ranked: Ranked
) -> dict[str, FloatArray]:
    """Give every figure that is a mean over documents, by name: (N,), NaN where it isn't judged."""
    listed = rank_documents(outcome, (1,), assigned_only=True)
    answers = ranking_values(listed)
    return {
        **per_document(decided.document, outcome.answered),
        **ranking_values(ranked),
        "map_assigned": answers["map"],
        "map_cantemist": present_only(listed),
        "map_cantemist_ranked": present_only(ranked),
    }


def quick_figures(outcome: MultiLabelOutcome, ks: Sequence[int] = (5,)) -> dict[str, Figure]:
    """Give micro, macro, per-document and ranking figures alone: what a training run watches."""
    decided = Decided.of(outcome)
    values = document_values(outcome, decided, rank_documents(outcome, check_ks(ks)))
    return _figures(outcome, decided, decided.label_counts(), values)


def _figures(
    outcome: MultiLabelOutcome,
    decided: Decided,
    counts: LabelCounts,
    values: Mapping[str, FloatArray],
) -> dict[str, Figure]:
    figures = {key: plain(value) for key, value in label_averages(counts).items()}
    answered = decided.document[outcome.answered].sum(axis=0)
    figures["micro_f1_answered"] = plain(micro(*answered)["micro_f1"])
    figures["hamming_loss"] = hamming_loss(decided.document, outcome.width)
    for key, column in values.items():
        known = column[~np.isnan(column)]
        figures[key] = float(known.mean()) if known.size else None
    return dict(figures)


def _area_figures(ranking: Areas | None) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for name in ("roc_auc", "average_precision"):
        for kind in ("macro", "micro"):
            found[f"{name}_{kind}"] = getattr(getattr(ranking, name), kind) if ranking else None
    return found


def _defined(ranking: Areas | None) -> dict[str, tuple[int, int]]:
    if ranking is None:
        return {}
    both = {"roc_auc": ranking.roc_auc, "average_precision": ranking.average_precision}
    return {name: (figure.defined, figure.labels) for name, figure in both.items()}


def _label_rows(
    labels: LabelSet, counts: LabelCounts, training: IntArray | None, ranking: Areas | None
) -> dict[str, dict[str, Figure]]:
    scores = scores_of(counts)
    return {
        labels.ids[k]: {
            "precision": plain(scores.precision[k]),
            "recall": plain(scores.recall[k]),
            "f1": plain(scores.f1[k]),
            "support": int(counts.support[k]),
            "predicted": int(counts.predicted[k]),
            "right": int(counts.right[k]),
            "training": None if training is None else int(training[k]),
            "roc_auc": ranking.roc_auc.per_label[k] if ranking else None,
            "average_precision": ranking.average_precision.per_label[k] if ranking else None,
        }
        for k in np.flatnonzero(counts.seen).tolist()
    }


def _wilson(
    labels: LabelSet, counts: LabelCounts, confidence: float
) -> dict[str, dict[str, Interval | None]]:
    def share(k: int, of: IntArray) -> Interval | None:
        return wilson_interval(int(counts.right[k]), int(of[k]), confidence)

    return {
        labels.ids[k]: {"precision": share(k, counts.predicted), "recall": share(k, counts.support)}
        for k in np.flatnonzero(counts.seen).tolist()
    }


def _notes(outcome: MultiLabelOutcome, asked: Choices) -> list[str]:
    notes = []
    large = [k for k in asked.ks if k > outcome.width]
    if large:
        named = ", ".join(f"P@{k}" for k in large)
        notes.append(
            f"{named} with only {outcome.width} labels can't reach 1: P@k is hits divided by k"
        )
    kept = sizes(outcome.scores)[outcome.answered]
    if outcome.incomparable is None and kept.size and kept.max() < outcome.width:
        notes.append(
            f"scores are of the best {int(np.median(kept))} of {outcome.width} labels of a document"
            " (the median); labels without one rank last, so map, ROC-AUC and average precision"
            " are a little too low, and the threshold curve ends early"
        )
    return notes


def _undefined(
    metrics: Mapping[str, Figure], outcome: MultiLabelOutcome, calibrated: object
) -> dict[str, str]:
    reasons = {}
    for key in (key for key, value in metrics.items() if value is None):
        if key in ("brier", "ece"):
            reason = str(calibrated)
        elif key == "mean_confidence":
            reason = (
                "no label was assigned"
                if not outcome.assigned.nnz
                else incomplete(outcome) or "the scores are not probabilities from 0 to 1"
            )
        elif key.startswith(("roc_auc", "average_precision")):
            reason = outcome.incomparable or "it is undefined for every label"
        elif key == "micro_precision":
            reason = "no label was assigned"
        elif key.startswith("map_cantemist"):
            reason = "no document that truly has a label got one"
        elif outcome.truth.nnz:
            reason = "no document was answered"
        else:
            reason = _NO_TRUTH if outcome.assigned.nnz else _NO_PAIR
        reasons[f"metrics.{key}"] = reason
    return reasons
