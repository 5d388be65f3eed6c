"""What a report of entities shows: values and drawn parts, ready for the templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from attending.evaluation.multilabel.wording import range_of
from attending.evaluation.pictures import bar
from attending.evaluation.spans import wording
from attending.evaluation.spans.alignment import KINDS
from attending.evaluation.spans.breakdown import NOTHING
from attending.evaluation.spans.definitions import SPAN_DEFINITIONS
from attending.evaluation.spans.figures import FAMILY_OF
from attending.evaluation.spans.result import SpanResult
from attending.evaluation.view import SHOWN_AT_MOST, listed, shared_view, tile_of
from attending.evaluation.wording import REASONS, count, decimal, interval_of, span

TYPES_FIRST = 50
"""How many types a page shows at first."""
MATRIX_AT_MOST = 60
"""Above this many types the page has no matrix of types, only the most frequent confusions."""
CONFUSIONS = 20
_NOTES = {
    "strict_micro_f1": "type and place the same; over all entities",
    "strict_macro_f1": "the same, mean over types; each weighs the same",
    "partial_micro_f1": "an overlap counts half, whatever the type",
    "unweighted_accuracy": "mean over types of the share of words found, without 'O'",
}
GOLD_KINDS = KINDS[:-1]


def span_view(result: SpanResult) -> dict[str, Any]:
    """Return what a report of entities shows."""
    often = _by_support(result)
    return {
        **shared_view(result),
        "short": wording.in_short(result),
        "tiles": [
            tile_of(key, wording.TITLES[key], result.metrics[key], result, note)
            for key, note in _NOTES.items()
        ],
        "schemes": [_scheme(result, name) for name in result.schemes],
        "groups": [_group(result, group) for group in result.groups],
        "by_training": bool(result.groups),
        "rows": [_type(result, i) for i in often[:SHOWN_AT_MOST]],
        "types_first": TYPES_FIRST,
        "seen": len(often),
        "kinds": [(kind, wording.KIND_WORDS[kind]) for kind in GOLD_KINDS],
        "all_kinds": _stack(result.breakdown.kinds, result.layers.entities),
        "spurious": count(result.breakdown.kinds["spurious"]),
        "stacks": _stacks(result, often[:SHOWN_AT_MOST]),
        "shifts": {key: count(n) for key, n in result.breakdown.shifts.items()},
        "matrix": _matrix(result, often) if len(often) <= MATRIX_AT_MOST else None,
        "confusions": _confusions(result),
        "word_words": wording.words_in_words(result),
        "word_figures": listed(result, _on_words(), SPAN_DEFINITIONS),
        "unanswered": [
            (d.id, wording.entities(d.entities), REASONS[d.reason])
            for d in result.not_read[:SHOWN_AT_MOST]
        ],
        "unanswered_in_all": len(result.not_read),
        "unreadable": result.unreadable[:SHOWN_AT_MOST],
        "worst": [(d.id, d.kinds, d.wrong) for d in result.breakdown.documents[:SHOWN_AT_MOST]],
        "wrong_in_all": len(result.breakdown.documents),
        "kind_heads": [wording.KIND_WORDS[kind] for kind in KINDS],
        "cautions": wording.cautions(result),
        "figures": listed(result, list(result.metrics), SPAN_DEFINITIONS),
        "definition": SPAN_DEFINITIONS,
        "unanswered_words": "All entities of a document without an answer count as missed; it is"
        " for people to read.",
    }


def _by_support(result: SpanResult) -> list[str]:
    rows = result.per_label
    return sorted(
        rows, key=lambda i: (-int(rows[i]["support"] or 0), -int(rows[i]["predicted"] or 0))
    )


def _on_words() -> list[str]:
    paper = [key for key, family in FAMILY_OF.items() if family == "paper"]
    token = [f"token_{k}_without_o" for k in ("micro_precision", "micro_recall", "micro_f1")]
    return [*token, "token_macro_f1_without_o", *paper, "mean_f1_as_printed"]


def _number(value: float | int | None) -> float | None:
    return None if value is None else float(value)


def _within(result: SpanResult, key: str, label: str | None = None) -> str:
    interval = interval_of(result, key, label)
    return span("f1", interval) if interval else ""


def _scheme(result: SpanResult, name: str) -> dict[str, Any]:
    keys = {k: f"{name}_micro_{k}" for k in ("precision", "recall", "f1")}
    f1 = result.metrics[keys["f1"]]
    return {
        "name": name,
        "words": wording.SCHEME_WORDS[name],
        **{k: count(n) for k, n in result.schemes[name].items()},
        **{k: decimal(result.metrics[key]) for k, key in keys.items()},
        "span": _within(result, keys["f1"]),
        "bar": bar(_number(f1), interval_of(result, keys["f1"]), f"{name} micro-F1"),
    }


def _group(result: SpanResult, group: Any) -> dict[str, Any]:
    interval = result.group_intervals[group.name]["strict_micro_f1"]
    if interval is not None and interval.low == interval.high:
        interval = None
    f1 = _number(group.figures["strict_micro_f1"])
    return {
        "name": group.name,
        "range": range_of(group),
        "types": count(group.labels),
        "gold": count(group.true),
        "found": count(group.given),
        **{key: decimal(value) for key, value in group.figures.items()},
        "span": span("f1", interval) if interval and f1 is not None else "",
        "bar": bar(f1, interval, f"strict micro-F1 of {group.name} types"),
    }


def _type(result: SpanResult, label: str) -> dict[str, Any]:
    row = result.per_label[label]
    name = result.labels[label].name
    return {
        "type": label,
        "name": name if name != label else "",
        "training": decimal(row["training"]),
        "support": decimal(row["support"]),
        "predicted": decimal(row["predicted"]),
        **{k: decimal(row[k]) for k in ("precision", "recall", "f1", "partial_f1", "word_recall")},
        "span": _within(result, "f1", label) if row["f1"] is not None else "",
        "bar": bar(_number(row["f1"]), interval_of(result, "f1", label), f"F1 of {label}"),
    }


def _stack(kinds: Mapping[str, Any], total: int) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            "words": wording.KIND_WORDS[kind],
            "count": int(kinds.get(kind) or 0),
            "share": int(kinds.get(kind) or 0) / total,
        }
        for kind in GOLD_KINDS
        if total
    ]


def _stacks(result: SpanResult, types: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for label in types:
        row = result.per_label[label]
        total = int(row["support"] or 0)
        rows.append(
            {
                "type": label,
                "support": count(total),
                "parts": _stack(row, total),
                "spurious": count(int(row["spurious"] or 0)),
            }
        )
    return rows


def _matrix(result: SpanResult, types: Sequence[str]) -> dict[str, Any]:
    """Lay the pairs out: rows are gold types and nothing, columns found types and nothing."""
    places = [result.labels.position(i) for i in types]
    pairs = result.breakdown.pairs
    rows = []
    for gold, head in zip([NOTHING, *places], ["nothing is there", *types], strict=True):
        numbers = [pairs.get((gold, found), 0) for found in [NOTHING, *places]]
        most = sum(numbers)
        cells = [
            {
                "count": n,
                "share": n / most if most else 0.0,
                "kind": "silent" if k == NOTHING else "right" if k == gold else "wrong",
            }
            for n, k in zip(numbers, [NOTHING, *places], strict=True)
        ]
        rows.append({"type": head, "cells": cells, "total": most})
    return {"columns": ["missed", *types], "rows": rows}


def _confusions(result: SpanResult) -> list[dict[str, Any]]:
    """List the most frequent ways to take one type for another."""
    ids = result.labels.ids
    wrong = [
        (n, gold, found)
        for (gold, found), n in result.breakdown.pairs.items()
        if gold != found and NOTHING not in (gold, found)
    ]
    rows = []
    for n, gold, found in sorted(wrong, key=lambda x: (-x[0], x[1], x[2]))[:CONFUSIONS]:
        support = int(result.per_label[ids[gold]]["support"] or 0)
        rows.append({"gold": ids[gold], "found": ids[found], "count": n, "share": n / support})
    return rows
