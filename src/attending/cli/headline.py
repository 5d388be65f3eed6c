"""The figures of an evaluation as tables for a terminal."""

from typing import TYPE_CHECKING

from attending.cli.tables import table

if TYPE_CHECKING:
    from rich.table import Table

    from attending.evaluation.spans.result import SpanResult
    from attending.evaluation.task import AnyEvaluation


def headline_table(evaluation: "AnyEvaluation") -> "Table":
    """Return the figures to look at first, with their intervals."""
    from attending.evaluation.wording import figure, interval_of, span, title_of

    rows = []
    for key in evaluation.headline:
        label, _, name = key.rpartition(" ")
        value = evaluation.headline[key]
        title = f"{title_of(name)} of {label}" if label else title_of(name)
        rows.append(
            [title, figure(name, value), span(name, interval_of(evaluation, name, label or None))]
        )
    confidence = f"{100 * float(evaluation.settings['confidence']):g}% interval"
    return table(["", "", confidence], rows)


def label_table(evaluation: "AnyEvaluation", most: int = 30) -> "Table":
    """Return precision, recall and F1 of every label; of many, of the most frequent."""
    from attending.evaluation.wording import count, figure

    rows = []
    often = sorted(
        evaluation.per_label, key=lambda x: -int(evaluation.per_label[x]["support"] or 0)
    )
    shown = set(often[:most])
    for label, row in evaluation.per_label.items():
        if label not in shown:
            continue
        cells = [figure(key, row[key]) for key in ("precision", "recall", "f1")]
        given = [count(int(row[key] or 0)) for key in ("support", "predicted")]
        rows.append([label, *cells, *given])
    if len(often) > most:
        rows.append([f"and {len(often) - most:,} more labels in the report", "", "", "", "", ""])
    return table(["label", "precision", "recall", "F1", "true", "predicted"], rows)


def figures_of(evaluation: "AnyEvaluation | SpanResult") -> dict[str, float]:
    """Return the headline figures that are defined, by name."""
    return {k: float(v) for k, v in evaluation.headline.items() if v is not None}
