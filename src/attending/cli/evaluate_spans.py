"""The parts of ``attending evaluate`` that are a tagger's own: spans scored, told and shown."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attending.cli.console import Screen
from attending.cli.progress import Progress
from attending.cli.spans import PANEL
from attending.cli.tables import table
from attending.cli.train_spans import known_types

if TYPE_CHECKING:
    from rich.table import Table

    from attending.cli.evaluate import Outcome
    from attending.data.corpora import Corpus
    from attending.evaluation.spans.result import SpanResult

PAGE = "spans.html"
"""The page of texts in the folder of a report."""

SpansPage = Annotated[
    bool,
    typer.Option(
        "--spans-page",
        help=f"Also write {PAGE}, gold and found spans over the texts. "
        "[bold]It holds the texts.[/]",
        rich_help_panel=PANEL,
    ),
]
_MOST = 30
_MISSED = "The tagger can't find it: pass --unknown-labels skip to count such spans as missed."


def evaluate_tagger(
    screen: Screen,
    folder: Path,
    corpus: "Corpus",
    unknown: Literal["error", "skip"],
    resamples: int,
    precision: str,
) -> "Outcome":
    """Find the spans of annotated documents and score them.

    Types that the tagger doesn't know are an error, or count as missed.

    Raises:
        LabelError: If a type is unknown and ``unknown`` is ``error``.
        ModelError: If the folder holds no tagger.
    """
    from attending.cli.evaluate import Outcome
    from attending.data.tagging.words import words_of
    from attending.evaluation.spans.metrics import evaluate_spans
    from attending.models.store import load_tagger

    model = load_tagger(folder, precision=precision)
    if unknown == "error":
        known_types(corpus, model.labels, unknown, _MISSED)
    with Progress(screen, f"predicting with {folder.name}") as progress:
        predictions = model.predict(corpus.rows, progress=progress)
    result = evaluate_spans(
        corpus.rows,
        predictions,
        model.labels,
        counts=model.facts.get("label_counts"),
        words=words_of,
        resamples=resamples,
        unknown="miss",
    )
    return Outcome(folder, model, corpus.rows, predictions, result)


def write_page(folder: Path, outcome: "Outcome", file: str, force: bool) -> None:
    """Write the page of gold and found spans over the texts."""
    from attending.explain.spans_page import write_spans_page

    write_spans_page(
        folder / PAGE,
        outcome.rows,
        outcome.predictions,
        outcome.model.labels,
        title=f"{outcome.model.recipe.name} on {Path(file).name}",
        force=force,
    )


def show_spans(screen: Screen, result: "SpanResult", report: Path, page: bool) -> None:
    """Show the figures in short, and where the report is."""
    from attending.evaluation.spans.wording import in_short

    screen.show(_headline(result), "", _schemes(result), "", _types(result), "")
    screen.show(*in_short(result), "")
    screen.show(f"Report: {report / 'report.html'}")
    if page:
        screen.show(f"Texts: {report / PAGE}")
        screen.tell("note", f"{PAGE} holds the texts: handle it as patient data")


def _headline(result: "SpanResult") -> "Table":
    from attending.evaluation.spans.wording import TITLES
    from attending.evaluation.wording import decimal, interval_of, span

    rows = [
        [TITLES[key], decimal(value), span("f1", interval_of(result, key))]
        for key, value in result.headline.items()
    ]
    return table(["", "", f"{100 * float(result.settings['confidence']):g}% interval"], rows)


def _schemes(result: "SpanResult") -> "Table":
    from attending.evaluation.spans.wording import SCHEME_WORDS
    from attending.evaluation.wording import decimal

    names = ("precision", "recall", "f1")
    rows = [
        [name, *(decimal(result.metrics[f"{name}_micro_{k}"]) for k in names), SCHEME_WORDS[name]]
        for name in result.schemes
    ]
    return table(["all types", "precision", "recall", "F1", ""], rows, wide=(4,))


def _types(result: "SpanResult") -> "Table":
    """Return the figures of every type; of many, of the most frequent."""
    from attending.evaluation.wording import count, decimal

    def amount(row: Mapping[str, object], key: str) -> str:
        value = row[key]
        return count(value) if isinstance(value, int) else ""

    each = sorted(result.per_label.items(), key=lambda pair: -int(pair[1]["support"] or 0))
    rows = [
        [
            label,
            *(decimal(row[key]) for key in ("precision", "recall", "f1")),
            *(amount(row, key) for key in ("support", "predicted", "training")),
        ]
        for label, row in each[:_MOST]
    ]
    if len(each) > _MOST:
        rows.append([f"and {len(each) - _MOST:,} more types in the report", *[""] * 6])
    return table(["type, strict", "precision", "recall", "F1", "gold", "found", "trained on"], rows)
