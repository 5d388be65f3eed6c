"""``attending check``: what would spoil a result, before hours are spent on it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attending.cli import options, spans
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.faults import FAILED
from attending.cli.tokens import MAX_TOKENS, token_counter

if TYPE_CHECKING:
    from attending.data.checks.findings import Finding
    from attending.data.corpora import Corpus

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files to look at: tables of documents, or annotated spans (BRAT folders, CoNLL, "
        "JSON). Several are the parts of a split, named after their files: the "
        "first one, or the one called train, is what a model would learn from.",
        show_default=False,
    ),
]


def check(
    files: Files,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    group: options.Group = None,
    date: options.Date = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    empty_labels: options.EmptyLabels = "unlabelled",
    span_column: options.Spans = None,
    input_format: options.InputFormat = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="COLUMN",
            help="Column that says which part a row is of, such as split: the parts are held "
            "against each other.",
            rich_help_panel=options.COLUMNS,
            show_default=False,
        ),
    ] = None,
    source_format: spans.From = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    labels: options.Labels = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="E",
            help="Whose tokens to count: a folder or a hub id; the bundled minilm by default.",
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=4, metavar="N", help="Tokens a window.")
    ] = MAX_TOKENS,
    places: Annotated[
        int, typer.Option("--places", min=1, metavar="N", help="Lines shown of each finding.")
    ] = 5,
    json: options.Json = False,
) -> None:
    """Find what would spoil a result: duplicates, leaks, contradictory or misspelled labels.

    Reports lines, ids and counts, never a text. Exit code 0: nothing stops training; 1: errors
    were found; 2: a file can't be read.
    """
    from attending.data.check import check as look
    from attending.data.labels import load_labels

    screen = Screen(json)
    columns = Columns(
        text, label, id, group, date, where, encoding, span_column, label_separator, empty_labels,
        input_format,
    )  # fmt: skip
    span_file = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    corpora = load_parts(files, columns, span_file)
    aside: list[Finding] = []
    if parts is not None:
        corpora, aside = in_parts(corpora, parts)
    counter = token_counter(encoder, max_tokens)
    report = look(
        corpora,
        load_labels(labels or "portal") if labels or files == ["portal"] else None,
        count_tokens=counter.count if counter else None,
        max_tokens=counter.limit if counter else None,
    )
    report = replace(report, findings=(*aside, *report.findings))
    if json:
        screen.data({"encoder": counter.name if counter else None, **report.to_dict()})
    else:
        screen.show(*report.lines(places))
    if counter is None:
        screen.tell(
            "note", 'words only: no encoder is installed (pip install "attending[bundled]")'
        )
    if not report.exit_ok:
        raise typer.Exit(FAILED)


def load_parts(
    files: Sequence[str], columns: Columns, span_file: spans.SpanFile
) -> dict[str, "Corpus"]:
    """Load files as the parts of a split, by stem; by path where two stems are the same."""
    stems = [Path(file.removesuffix(".gz")).stem for file in files]
    distinct = len(set(stems)) == len(stems)
    return {
        stem if distinct else file: span_file.load(file, strict=False)
        if span_file.holds_spans(file)
        else columns.load(file)
        for stem, file in zip(stems, files, strict=True)
    }


def in_parts(
    corpora: Mapping[str, "Corpus"], column: str
) -> tuple[dict[str, "Corpus"], list["Finding"]]:
    """Take corpora apart by the values of a column; of several files, the name stands before it.

    Returns the parts, and what a check must say of the rows that are in none of them.
    """
    from attending.data.checks.parts import check_division

    made: dict[str, Corpus] = {}
    aside: list[Finding] = []
    for name, corpus in corpora.items():
        parts = corpus.parts(column)
        made |= {v if len(corpora) == 1 else f"{name} {v}": part for v, part in parts.items()}
        aside += check_division(replace(corpus, name=name), column, parts)
    return made, aside
