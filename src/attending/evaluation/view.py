"""What a report shows of an evaluation: values and drawn parts, ready for the templates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attending.evaluation import wording
from attending.evaluation.counts import level_distances
from attending.evaluation.definitions import DEFINITIONS
from attending.evaluation.metrics import Evaluation
from attending.evaluation.mistakes import Mistake, Unanswered
from attending.evaluation.outcome import NOT_ANSWERED
from attending.evaluation.pictures import FEW, bar, reliability
from attending.evaluation.result import Evaluated
from attending.evaluation.wording import count, decimal, figure, interval_of, percent, span

SHOWN_FIRST, SHOWN_AT_MOST = 12, 200
"""How many mistakes a page shows at first, and how many mistakes or labels it holds at most."""
MANY_LABELS = 12
"""Above this many labels the page lists the most frequent confusions in place of the matrix."""


def shared_view(evaluation: Evaluated) -> dict[str, Any]:
    """Return what a report of either task shows: coverage, intervals, figures without a value."""
    return {
        "label_set": evaluation.labels,
        "coverage": evaluation.coverage,
        "level": f"{100 * float(evaluation.settings['confidence']):g}%",
        "draws": int(evaluation.settings["resamples"]),
        "coverage_words": wording.coverage_in_words(evaluation),
        "segments": _segments(evaluation),
        "few": FEW,
        "shown_first": SHOWN_FIRST,
        "undefined": _undefined(evaluation)[:SHOWN_AT_MOST],
        "undefined_in_all": len(evaluation.undefined),
    }


def single_label_view(
    evaluation: Evaluation, mistakes: Sequence[Mistake], silent: Sequence[Unanswered]
) -> dict[str, Any]:
    """Return what a report of a single-label task shows."""
    many = len(evaluation.labels) > MANY_LABELS
    return {
        **shared_view(evaluation),
        "short": wording.in_short(evaluation),
        "tiles": _tiles(evaluation),
        "matrix": None if many else _matrix(evaluation),
        "confusions": _frequent_confusions(evaluation) if many else None,
        "cards": [_card(evaluation, label) for label in _shown(evaluation)],
        "levels": _levels(evaluation) if evaluation.labels.ordered else [],
        "reliability": reliability(evaluation.reliability),
        "reliability_words": wording.calibration_in_words(evaluation),
        "probability_figures": listed(evaluation, ("ece", "brier", "log_loss")),
        "mistakes": mistakes[:SHOWN_AT_MOST],
        "mistakes_in_all": len(mistakes),
        "unanswered": [(m.id, m.truth, wording.REASONS[m.reason]) for m in silent[:SHOWN_AT_MOST]],
        "unanswered_in_all": len(silent),
        "cautions": wording.cautions(evaluation),
        "figures": listed(evaluation, [k for k in DEFINITIONS if k in evaluation.metrics]),
        "label_definitions": {k: DEFINITIONS[k] for k in ("precision", "recall", "f1")},
        "ranking": _ranking(evaluation),
        "averaged": evaluation.averaged,
        "left_out": [i for i in evaluation.labels.ids if i not in evaluation.averaged],
    }


def _tiles(evaluation: Evaluation) -> list[dict[str, Any]]:
    notes = {
        "macro_f1": "mean over labels; each weighs the same",
        "accuracy": "documents that got the true label",
    }
    tiles = [
        tile_of(key, wording.title_of(key), evaluation.metrics[key], evaluation, notes[key])
        for key in notes
    ]
    if evaluation.labels.ordered:
        label = evaluation.labels.ids[-1]
        row = evaluation.per_label[label]
        for key, of, what in (("recall", "support", "truly"), ("precision", "predicted", "marked")):
            note = f"{count(int(row['right'] or 0))} of {count(int(row[of] or 0))} {what} “{label}”"
            name = f"{wording.title_of(key)}, “{label}”"
            tiles.append(tile_of(key, name, row[key], evaluation, note, label))
    return tiles


def tile_of(
    key: str,
    name: str,
    value: float | int | None,
    evaluation: Evaluated,
    note: str,
    label: str | None = None,
) -> dict[str, Any]:
    """Return a figure to show large, with its interval and a note on what it is."""
    interval = interval_of(evaluation, key, label)
    return {
        "name": name,
        "value": figure(key, value),
        "span": span(key, interval),
        "bar": bar(value, interval, name),
        "note": note,
    }


def _matrix(evaluation: Evaluation) -> list[dict[str, Any]]:
    rows = []
    last = len(evaluation.labels)
    for k, (label, counts) in enumerate(
        zip(evaluation.labels.ids, evaluation.confusion, strict=True)
    ):
        total = sum(counts)
        cells = []
        for j, n in enumerate(counts):
            kind = "right" if j == k else "silent" if j == last else "wrong"
            low = evaluation.labels.ordered and j < k
            cells.append(
                {
                    "count": n,
                    "share": n / total if total else 0.0,
                    "kind": f"{kind} low" if low else kind,
                    "column": "no answer" if j == last else evaluation.labels.ids[j],
                }
            )
        rows.append({"label": label, "total": total, "cells": cells})
    return rows


def _frequent_confusions(evaluation: Evaluation) -> list[tuple[str, str, int, float]]:
    ids = [*evaluation.labels.ids, "no answer"]
    pairs = [
        (ids[k], ids[j], n, n / sum(counts))
        for k, counts in enumerate(evaluation.confusion)
        for j, n in enumerate(counts)
        if n and j != k
    ]
    return sorted(pairs, key=lambda pair: -pair[2])[:20]


def _shown(evaluation: Evaluation) -> list[str]:
    """Return the labels to show in their order: all, or the most frequent where there are many."""
    ids = list(evaluation.labels.ids)
    if len(ids) <= SHOWN_AT_MOST:
        return ids
    often = sorted(ids, key=lambda i: -int(evaluation.per_label[i]["support"] or 0))
    kept = set(often[:SHOWN_AT_MOST])
    return [i for i in ids if i in kept]


def _card(evaluation: Evaluation, label: str) -> dict[str, Any]:
    row = evaluation.per_label[label]
    lines = []
    for key in ("precision", "recall", "f1"):
        value, interval = row[key], interval_of(evaluation, key, label)
        path = f"per_label.{label}.{key}"
        lines.append(
            {
                "name": wording.title_of(key),
                "value": figure(key, value),
                "span": span(key, interval) if value is not None else "",
                "bar": bar(value, interval, f"{key} of {label}"),
                "reason": evaluation.undefined.get(path),
            }
        )
    name = evaluation.labels[label].name
    return {
        "label": label,
        "name": name if name != label else "",
        "support": row["support"],
        "predicted": row["predicted"],
        "lines": lines,
    }


def _levels(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Count documents by how far the answer is from the true level, too low first."""
    distances = level_distances(np.array(evaluation.confusion))
    total = evaluation.coverage["labelled"]
    rows = []
    for distance in sorted(distances):
        step = abs(distance)
        name = f"{step} level{'' if step == 1 else 's'} too {'low' if distance < 0 else 'high'}"
        kind = "low" if distance < 0 else "high"
        rows.append(
            (name, kind, distances[distance]) if step else ("right level", "right", distances[0])
        )
    rows.append(("no answer", "silent", evaluation.coverage["not_answered"]))
    return [{"name": name, "kind": kind, "count": n, "share": n / total} for name, kind, n in rows]


def _segments(evaluation: Evaluated) -> list[dict[str, Any]]:
    cover = evaluation.coverage
    parts = [("answered", "right", cover["answered"])]
    parts += [(wording.REASONS[key], "silent", cover[key]) for key in NOT_ANSWERED if cover[key]]
    return [
        {"name": name, "kind": kind, "count": n, "share": n / cover["labelled"]}
        for name, kind, n in parts
    ]


def listed(
    evaluation: Evaluated, keys: Sequence[str], definitions: Mapping[str, str] = DEFINITIONS
) -> list[dict[str, str]]:
    """Return figures with their definitions, in the order of ``keys``."""
    return [
        {
            "key": key,
            "value": figure(key, evaluation.metrics[key]),
            "definition": definitions[key],
        }
        for key in keys
    ]


def _ranking(evaluation: Evaluation) -> list[dict[str, Any]]:
    total = evaluation.coverage["labelled"]
    return [
        {
            "label": label,
            "roc_auc": decimal(evaluation.per_label[label]["roc_auc"]),
            "average_precision": decimal(evaluation.per_label[label]["average_precision"]),
            "share": percent(int(evaluation.per_label[label]["support"] or 0) / total),
        }
        for label in _shown(evaluation)
    ]


def _undefined(evaluation: Evaluated) -> list[tuple[str, str]]:
    return [
        (path.removeprefix("metrics.").removeprefix("per_label."), reason)
        for path, reason in evaluation.undefined.items()
    ]
