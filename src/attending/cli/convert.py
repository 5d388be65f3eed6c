"""``attending data convert``: a file of documents or of annotated spans as another kind of file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from attending.cli import options, spans
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.rows import unreadable_lines
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.data.spans.corpus import SpanCorpus, Written


def convert(
    source: spans.File,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write; its name says the kind.",
            show_default=False,
        ),
    ],
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
    write_separator: Annotated[
        str | None,
        typer.Option(
            "--write-separator",
            metavar="S",
            help="What to write between labels in CSV and TSV, instead of a JSON list.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        Literal["libmultilabel"] | None,
        typer.Option(
            "--output-format",
            metavar="libmultilabel",
            help="Write LibMultiLabel's form: id, labels and text, with line breaks as blanks.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    source_format: spans.From = None,
    target_format: Annotated[
        spans.Format | None,
        typer.Option(
            "--to",
            metavar="brat|conll|jsonl|doccano|label-studio",
            help="Format of annotated spans to write; by the name of OUT if left out.",
            rich_help_panel=spans.PANEL,
            show_default=False,
        ),
    ] = None,
    scheme: spans.WriteScheme = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    lenient: spans.Lenient = False,
    force: options.Force = False,
) -> None:
    """Write a file of documents, or of annotated spans, as another kind of file.

    Documents: UTF-8, columns kept; rows that can't be read are left out and named. Spans: BRAT
    folders, CoNLL and JSON come back the same to the byte where nothing changed; what a format
    can't hold is counted.
    """
    from attending.data.wording import plural

    screen = Screen()
    file = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    target = target_format or spans.format_by_name(out)
    # JSON lines with spans are a table too, if that is what is to be written.
    table = target is None and source_format is None and ".jsonl" in source
    if file.holds_spans(source) and not table:
        if where:
            raise DataError("--where is for tables of documents, not for annotated spans")
        _convert_spans(screen, file.load(source, strict=not lenient), out, target, scheme, force)
        return
    corpus = Columns(
        text, label, id, group, date, where, encoding, span_column, label_separator, empty_labels,
        input_format,
    ).load(source)  # fmt: skip
    if target_format is not None:
        tell_remarks(screen, corpus)
        _tell_written(screen, _write_spans(corpus, out, target_format, scheme, force), out)
        return
    write_corpus(corpus, out, force, label_separator=write_separator, format=output_format)
    tell_remarks(screen, corpus)
    if output_format is not None:
        broken = sum("\n" in d.text or "\r" in d.text for d in corpus)
        if broken:
            note = f"{plural(broken, 'text')} had line breaks, which became blanks; offsets stay"
            screen.tell("note", note)
    screen.show(facts([("documents", f"{out}: {len(corpus):,}")]))


def _convert_spans(
    screen: Screen,
    corpus: "SpanCorpus",
    out: Path,
    target: spans.Format | None,
    scheme: str | None,
    force: bool,
) -> None:
    for level, line in spans.fault_lines(corpus):
        screen.tell(level, line)
    screen.tell_all("note", corpus.notes)
    if target is None:
        raise DataError(
            "the format to write spans in can't be told from the name",
            where=str(out),
            allowed=", ".join(get_args(spans.Format)),
            step="Name it with --to.",
        )
    _tell_written(screen, _write_spans(corpus, out, target, scheme, force), out)


def _write_spans(
    corpus: "Corpus", out: Path, target: spans.Format, scheme: str | None, force: bool
) -> "Written":
    from attending.data.spans.formats import write_spans

    if scheme is not None and target != "conll":
        raise DataError(f"--scheme is for CoNLL, not for {target}")
    settings: dict[str, Any] = {"scheme": scheme} if scheme else {}
    return write_spans(corpus.documents, out, target, force=force, **settings)


def _tell_written(screen: Screen, written: "Written", out: Path) -> None:
    screen.tell_all("note", written.notes)
    screen.show(
        facts([("documents", f"{out}: {written.documents:,}"), ("spans", f"{written.spans:,}")])
    )


def write_corpus(
    corpus: "Corpus",
    path: Path,
    force: bool,
    *,
    label_separator: str | None = None,
    format: Literal["libmultilabel"] | None = None,
) -> None:
    """Write the documents under the names that their columns had.

    The bundled corpus keeps the writer as the group and among the attributes; it is written once.
    """
    from attending.data.writers import write_documents

    names = frozenset(corpus.columns.values())
    rows = [
        replace(d, attributes={k: v for k, v in d.attributes.items() if k not in names})
        for d in corpus
    ]
    write_documents(
        rows,
        path,
        columns=corpus.columns,
        label_separator=label_separator,
        format=format,
        force=force,
    )


def tell_remarks(screen: Screen, corpus: "Corpus") -> None:
    """Tell how a corpus was read, and which rows were left out."""
    from attending.data.wording import plural

    screen.tell_all("note", corpus.notes)
    if corpus.problems:
        screen.say(*unreadable_lines(corpus.problems))
        screen.tell("warning", f"{plural(len(corpus.problems), 'unreadable row')} left out")
