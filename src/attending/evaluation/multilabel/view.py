"""What a report shows of a multi-label evaluation: values and drawn parts for the templates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attending.evaluation.multilabel import wording
from attending.evaluation.multilabel.definitions import definition_of
from attending.evaluation.multilabel.documents import silent_documents, worst_documents
from attending.evaluation.multilabel.frequency import Bucket, Removed
from attending.evaluation.multilabel.outcome import match_multilabel
from attending.evaluation.multilabel.pictures import frequency_plot, threshold_plot
from attending.evaluation.multilabel.result import MultiLabelEvaluation
from attending.evaluation.pictures import bar, reliability
from attending.evaluation.result import Figure
from attending.evaluation.view import SHOWN_AT_MOST, listed, shared_view, tile_of
from attending.evaluation.wording import (
    REASONS,
    count,
    decimal,
    interval_of,
    percent,
    span,
    title_of,
)
from attending.records import Prediction, Row

LABELS_FIRST = 30
"""How many labels a page shows at first."""
_TILES = {
    "micro_f1": "over all document–label pairs; frequent labels weigh most",
    "macro_f1": "mean over labels that occur; each weighs the same",
    "map": "of the ranking, over documents with labels; 0 without an answer",
}
_RANKING = ("map", "r_precision", "roc_auc_micro", "average_precision_micro")


def multilabel_view(
    evaluation: MultiLabelEvaluation, documents: Sequence[Row], predictions: Sequence[Prediction]
) -> dict[str, Any]:
    """Return what a report of a multi-label task shows."""
    # Labels that the model lacks are in the evaluation's set already, if they were let in.
    outcome, _ = match_multilabel(documents, predictions, evaluation.labels)
    worst, wrong = worst_documents(outcome, evaluation.labels, SHOWN_AT_MOST)
    silent = silent_documents(outcome, evaluation.labels)
    often = sorted(evaluation.per_label, key=lambda i: _order(evaluation.per_label[i]))
    known = bool(evaluation.buckets)
    return {
        **shared_view(evaluation),
        "short": wording.in_short(evaluation),
        "tiles": _tiles(evaluation),
        "buckets": [_bucket(b, evaluation) for b in evaluation.buckets],
        "frequency": _frequency(evaluation),
        "by_training": known,
        "shown_cut": title_of(_recall_cut(evaluation)),
        "removed": [_removed(r) for r in evaluation.removed if r.n],
        "excluded": _removed(evaluation.excluded) if evaluation.excluded else None,
        "whole": {k: decimal(evaluation.metrics[k]) for k in _REMOVED},
        "rows": [_label(evaluation, i) for i in often[:SHOWN_AT_MOST]],
        "labels_first": LABELS_FIRST,
        "seen": len(often),
        "label_definitions": {k: definition_of(k) for k in ("precision", "recall", "f1")},
        "variety": _variety(evaluation),
        "threshold": threshold_plot(evaluation.curve, evaluation.best),
        "threshold_words": wording.threshold_in_words(evaluation),
        "confidence_words": wording.confidence_in_words(evaluation),
        "reliability": reliability(
            evaluation.reliability, "cells", "share that is true", "probability"
        ),
        "ranking": listed(evaluation, _shown_ranking(evaluation), _Definitions()),
        "worst": worst,
        "wrong_in_all": wrong,
        "unanswered": [
            (id_, wording.names(true, len(true)) or "none", REASONS[reason])
            for id_, true, reason in silent[:SHOWN_AT_MOST]
        ],
        "unanswered_in_all": len(silent),
        "cautions": wording.cautions(evaluation),
        "figures": listed(evaluation, list(evaluation.metrics), _Definitions()),
        "averaged": evaluation.averaged,
    }


class _Definitions(dict[str, str]):
    """Definitions by key, those of cut-offs made when asked for."""

    def __missing__(self, key: str) -> str:
        return definition_of(key)


def _order(row: Any) -> tuple[int, int]:
    return -int(row["support"] or 0), -int(row["predicted"] or 0)


def _tiles(evaluation: MultiLabelEvaluation) -> list[dict[str, Any]]:
    k = evaluation.cut.rpartition("_")[2]
    notes = _TILES | {evaluation.cut: f"true ones among the first {k}, divided by {k}"}
    return [
        tile_of(key, title_of(key), evaluation.metrics[key], evaluation, note)
        for key, note in notes.items()
    ]


def _recall_cut(evaluation: MultiLabelEvaluation) -> str:
    return f"r_at_{max(evaluation.settings['ks'])}"


def _shown_ranking(evaluation: MultiLabelEvaluation) -> list[str]:
    cuts = [f"{kind}_at_{k}" for k in evaluation.settings["ks"] for kind in ("p", "r", "ndcg")]
    return [*cuts, *_RANKING]


def _bucket(bucket: Bucket, evaluation: MultiLabelEvaluation) -> dict[str, Any]:
    figures = bucket.figures
    return {
        "name": bucket.name,
        "range": wording.range_of(bucket),
        "labels": bucket.labels,
        "labels_true": bucket.labels_true,
        "labels_given": bucket.labels_given,
        "true": bucket.true,
        "bar": bar(_number(figures["micro_f1"]), None, f"micro-F1 of {bucket.name} labels"),
        "f1": decimal(figures["micro_f1"]),
        "precision": decimal(figures["micro_precision"]),
        "recall": decimal(figures["micro_recall"]),
        "macro_f1": decimal(figures["macro_f1"]),
        "ranked": decimal(figures[_recall_cut(evaluation)]),
    }


def _number(value: Figure) -> float | None:
    return None if value is None else float(value)


_REMOVED = ("micro_f1", "micro_precision", "micro_recall", "macro_f1", "map")


def _removed(removed: Removed) -> dict[str, Any]:
    return {
        "n": removed.n,
        "labels": wording.names(removed.labels, removed.n, 3),
        **{key: decimal(removed.figures[key]) for key in _REMOVED},
    }


def _frequency(evaluation: MultiLabelEvaluation) -> Any:
    key = "training" if evaluation.buckets else "support"
    # A label that no document truly has can only be wrong here, whatever its frequency.
    rows = [row for row in evaluation.per_label.values() if row["support"]]
    often = np.array([int(row[key] or 0) for row in rows], np.int64)
    f1 = np.array([float(row["f1"] or 0.0) for row in rows])
    where = "training documents" if evaluation.buckets else "documents of this evaluation"
    return frequency_plot(often, f1, where)


def _label(evaluation: MultiLabelEvaluation, label: str) -> dict[str, Any]:
    row = evaluation.per_label[label]
    name = evaluation.labels[label].name
    cells = {
        key: (decimal(row[key]), _within(evaluation, key, label)) for key in ("precision", "recall")
    }
    return {
        "label": label,
        "name": name if name != label else "",
        "training": "–" if row["training"] is None else count(int(row["training"])),
        "support": count(int(row["support"] or 0)),
        "predicted": count(int(row["predicted"] or 0)),
        "f1": decimal(row["f1"]),
        "bar": bar(_number(row["f1"]), None, f"F1 of {label}"),
        "average_precision": decimal(row["average_precision"]),
        **cells,
    }


def _within(evaluation: MultiLabelEvaluation, key: str, label: str) -> str:
    interval = interval_of(evaluation, key, label)
    return span("f1", interval) if interval else ""


def _variety(evaluation: MultiLabelEvaluation) -> list[tuple[str, str, str]]:
    given, true = evaluation.diversity.given, evaluation.diversity.truth

    def row(name: str, write: Any) -> tuple[str, str, str]:
        return name, write(true), write(given) if given else "–"

    return [
        row("Different labels", lambda v: count(v.unique_labels)),
        row("Labels a document, mean", lambda v: f"{v.labels_per_document:.2f}"),
        row("Labels a document, median and most", lambda v: f"{v.median:g}, {count(v.most)}"),
        row("Documents without any label", lambda v: count(v.without)),
        row("Different sets of labels", lambda v: count(v.sets)),
        row(
            "Documents with the same set as another",
            lambda v: f"{count(v.sharing)} ({percent(v.share_sharing)})",
        ),
        row(
            "Most frequent set",
            lambda v: (
                f"{wording.names(v.common_set, v.common_size) or 'no label'}:"
                f" {count(v.common_documents)} ({percent(v.common_share)})"
            ),
        ),
    ]
