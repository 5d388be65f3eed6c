"""``attending predict``: one answer for every row, in the order of the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options, predict_fhir, spans
from attending.cli.columns import STDIN, Columns
from attending.cli.console import Screen
from attending.cli.predict_fhir import FhirTarget, written_in_words
from attending.cli.predict_spans import SpanTarget, predict_spans
from attending.cli.predicted import answers_in_words, count_answers, write_lines
from attending.cli.progress import Progress
from attending.cli.rows import tell_reading
from attending.cli.tables import facts
from attending.errors import DataError, OutputError
from attending.outputs import require_apart

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.models.base import Model
    from attending.records import Prediction

_AT_ONCE = 256


def predict(
    model: options.Model,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Rows to answer; they need no label: a table, FHIR messages, for a tagger also a "
            "folder of texts or CoNLL. [bold]-[/] reads JSON lines from standard input.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write, .jsonl or .csv (each also .gz), for a tagger also a folder; "
            "[bold]-[/] writes JSON lines to standard output.",
            rich_help_panel=options.OUTPUT,
        ),
    ],
    format: Annotated[
        Literal["jsonl", "csv", "fhir", "brat", "conll", "doccano", "label-studio"] | None,
        typer.Option(
            "--format",
            metavar="jsonl|csv|fhir|brat|conll",
            help="Kind of file; by its name if left out. A tagger writes jsonl, brat, conll, "
            "doccano or label-studio, any other model jsonl, csv or fhir.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Add the words that spoke for each label.")
    ] = False,
    method: options.Method = None,
    precision: options.Precision = "float32",
    text: options.Text = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    input_format: options.InputFormat = None,
    source_format: spans.From = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    scheme: spans.WriteScheme = None,
    span_scores: Annotated[
        bool,
        typer.Option(
            "--span-scores",
            help="BRAT: write each span's score as a note on it.",
            rich_help_panel=spans.PANEL,
        ),
    ] = False,
    fhir: predict_fhir.Release = None,
    priorities: predict_fhir.PriorityFile = None,
    codes: predict_fhir.Codes = None,
    zone: predict_fhir.Zone = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Answer every row, in order: a label with its probability, or why there is none.

    A tagger finds the spans of every row instead. A row that can't be read keeps its place with
    status [bold]failed[/], a text that shows nothing gets [bold]empty_text[/]; neither gets a
    label. Only counts are printed, never a text.
    """
    from attending.models.base import require_method
    from attending.models.store import load_model, load_tagger

    screen = Screen(json or out == STDIN)
    columns = Columns(
        text=text, label="", id=id, where=where, encoding=encoding, input_format=input_format,
        zone=zone,
    )  # fmt: skip
    span_file = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    to_fhir = FhirTarget.of(out, format, fhir, priorities, codes, force)
    if json and out == STDIN:
        raise DataError("--json and --out - both write to standard output")
    if out != STDIN:
        require_apart([out], [file])
    if spans.is_tagger(model):
        _refuse_for_tagger(model, evidence, to_fhir is not None)
        target = SpanTarget.of(out, format, scheme, span_scores, force)
        predict_spans(
            screen, load_tagger(model, precision=precision), file, span_file, columns, target, json
        )
        return
    if scheme or span_scores:
        raise DataError("--scheme and --span-scores are for taggers", found=model)
    if to_fhir is None:
        _require_possible(out, format, evidence, force)
    loaded = load_model(model, precision=precision)
    if to_fhir is not None:
        to_fhir.require(loaded.labels)
    if evidence:
        require_method(method, loaded.methods, loaded.recipe.name)
    corpus = spans.load_labelled(file, span_file, columns, f'model "{model}"', known=False)
    tell_reading(screen, corpus)
    with Progress(screen, "predicting") as progress:
        predictions = loaded.predict(corpus.rows, progress=progress)
    if evidence:
        predictions = explained(screen, loaded, corpus, predictions, method)
    _finish(screen, corpus, predictions, loaded, to_fhir or Target(out, format, force), json)


@dataclass(frozen=True, slots=True)
class Target:
    """Where predictions go that are no FHIR."""

    out: str
    format: Any
    force: bool


def _finish(
    screen: Screen,
    corpus: "Corpus",
    predictions: Sequence["Prediction"],
    model: "Model",
    target: Target | FhirTarget,
    json: bool,
) -> None:
    """Write predictions, and tell what became of the rows."""
    counts = count_answers(corpus, predictions, model.labels, str(target.out))
    told = list(answers_in_words(counts))
    if isinstance(target, FhirTarget):
        written = target.write(corpus.rows, predictions, model)
        screen.tell_all("note", written.notes)
        counts |= {"resources": written.resources, "priorities": written.priorities}
        told += written_in_words(written)
    elif target.out == STDIN:
        write_lines(predictions)
    else:
        _write(target, predictions, model)
    if json:
        screen.data(counts)
    else:
        screen.show(facts(told))


def _refuse_for_tagger(model: str, evidence: bool, fhir: bool) -> None:
    """Refuse what a tagger doesn't give.

    Raises:
        DataError: If evidence or FHIR was asked for.
    """
    for option, asked in (("--evidence", evidence), ("FHIR", fhir)):
        if asked:
            raise DataError(
                f"{option} is for models that give documents labels",
                found=f"{model}, which tags spans",
                step="Write spans with --format brat, conll or jsonl.",
            )


def _require_possible(out: str, format: str | None, evidence: bool, force: bool) -> None:
    """Refuse what can't be written before anything is read."""
    if out == STDIN:
        if format == "csv":
            raise DataError("CSV is written to a file only", step="Name one with --out.")
        return
    from attending.data.readers import kind_of

    path = Path(out)
    kind = format or kind_of(path)
    if kind not in ("jsonl", "csv"):
        raise DataError("no such format of predictions", found=kind, allowed="jsonl, csv")
    if evidence and kind == "csv":
        raise DataError("CSV has no place for evidence", step="Write JSON lines: --format jsonl.")
    if path.exists() and not force:
        raise OutputError(
            "the file exists already", where=out, step="Choose another --out or pass --force."
        )
    if not path.parent.is_dir():
        raise OutputError("its folder does not exist", where=out, step=f"Make {path.parent} first.")


def explained(
    screen: Screen,
    model: "Model",
    corpus: "Corpus",
    predictions: Sequence["Prediction"],
    method: str | None,
) -> list["Prediction"]:
    """Return the predictions with evidence, some at a time so that progress can be told."""
    from attending.explain.evidence import explain

    found: list[Prediction] = []
    rows = corpus.rows
    with Progress(screen, "looking for evidence") as progress:
        for start in range(0, len(rows), _AT_ONCE):
            end = start + _AT_ONCE
            found += explain(model, rows[start:end], predictions[start:end], method=method)
            progress(min(end, len(rows)), len(rows))
    return found


def _write(target: Target, predictions: Sequence["Prediction"], model: "Model") -> None:
    from attending.data.writers import write_predictions

    write_predictions(
        predictions, target.out, target.format, labels=model.labels, force=target.force
    )
