"""``attending predict``: one answer for every row, in the order of the file."""

import json as json_lines
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options
from attending.cli.columns import STDIN, Columns
from attending.cli.console import Screen
from attending.cli.progress import Progress
from attending.cli.rows import counts_in_words, line_numbers, unreadable_lines
from attending.cli.tables import facts
from attending.errors import DataError, OutputError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.models.base import Model
    from attending.records import Prediction

_AT_ONCE = 256
_FATES = {
    "empty_text": "without text",
    "too_long": "too long",
    "failed": "failed",
}


def predict(
    model: options.Model,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Rows to answer; they need no label. [bold]-[/] reads JSON lines from standard "
            "input.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write, .jsonl or .csv (each also .gz); [bold]-[/] writes JSON lines to "
            "standard output.",
            rich_help_panel=options.OUTPUT,
        ),
    ],
    format: Annotated[
        Literal["jsonl", "csv"] | None,
        typer.Option(
            "--format",
            metavar="jsonl|csv",
            help="Kind of file; by its name if left out.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Add the words that spoke for each label.")
    ] = False,
    method: options.Method = None,
    text: options.Text = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Answer every row, in order: a label with its probability, or why there is none.

    A row that can't be read keeps its place with status [bold]failed[/], a text that shows nothing
    gets [bold]empty_text[/]; neither gets a label. Only counts are printed, never a text.
    """
    from attending.models.base import require_method
    from attending.models.store import load_model

    screen = Screen(json or out == STDIN)
    _require_possible(out, format, evidence, json, force)
    loaded = load_model(model)
    if evidence:
        require_method(method, loaded.methods, loaded.recipe.name)
    corpus = Columns(text=text, label="", id=id, where=where, encoding=encoding).load(file)
    screen.tell_all("note", corpus.notes)
    screen.say(*unreadable_lines(corpus.problems)) if corpus.problems else None
    with Progress(screen, "predicting") as progress:
        predictions = loaded.predict(corpus.rows, progress=progress)
    if evidence:
        predictions = explained(screen, loaded, corpus, predictions, method)
    if out == STDIN:
        for prediction in predictions:
            line = json_lines.dumps(prediction.to_dict(), ensure_ascii=False, allow_nan=False)
            sys.stdout.write(line + "\n")
    else:
        _write(out, format, predictions, loaded, force)
    if json:
        screen.data(_counts(corpus, predictions, loaded, out))
    else:
        screen.show(facts(_summary(corpus, predictions, loaded, out)))


def _require_possible(
    out: str, format: str | None, evidence: bool, json: bool, force: bool
) -> None:
    """Refuse what can't be written before anything is read."""
    if out == STDIN:
        if format == "csv":
            raise DataError("CSV is written to a file only", step="Name one with --out.")
        if json:
            raise DataError("--json and --out - both write to standard output")
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


def _write(
    out: str, format: Any, predictions: Sequence["Prediction"], model: "Model", force: bool
) -> None:
    from attending.data.writers import write_predictions

    write_predictions(predictions, out, format, labels=model.labels, force=force)


def _summary(
    corpus: "Corpus", predictions: Sequence["Prediction"], model: "Model", out: str
) -> list[tuple[str, str]]:
    """Count what became of the rows, in words."""
    from attending.data.wording import plural

    counts = _counts(corpus, predictions, model, out)
    total, status = counts["rows"], counts["status"]
    parts = [f"{status.get('ok', 0):,} answered"]
    for name, fate in _FATES.items():
        if status.get(name):
            lines = counts["lines"].get(name)
            parts.append(
                f"{status[name]:,} {fate}" + (f" ({line_numbers(lines)})" if lines else "")
            )
    pairs = [("rows", f"{total:,}: {', '.join(parts)}")]
    pairs.append(("labels", counts_in_words(counts["labels"])))
    silent = total - status.get("ok", 0) + counts["abstained"]
    if silent:
        unsure = f", {counts['abstained']:,} of them for doubt" if counts["abstained"] else ""
        pairs.append(("no label", f"{plural(silent, 'row')}{unsure}: for a person to read"))
    if counts["read_in_part"]:
        pairs.append(
            ("read in part", f"{counts['read_in_part']:,}: too long to be read to the end")
        )
    if out != STDIN:
        pairs.append(("written", out))
    return pairs


def _counts(
    corpus: "Corpus", predictions: Sequence["Prediction"], model: "Model", out: str
) -> dict[str, Any]:
    """Count what became of the rows."""
    lines: dict[str, list[int]] = {}
    for row, prediction in zip(corpus.rows, predictions, strict=True):
        if prediction.status != "ok" and row.source is not None:
            lines.setdefault(prediction.status, []).append(row.source.line)
    given = Counter(label for p in predictions for label in p.labels)
    return {
        "rows": len(predictions),
        "status": dict(Counter(p.status for p in predictions)),
        "lines": lines,
        "labels": {label: given[label] for label in model.labels.ids},
        "abstained": sum(p.abstained for p in predictions),
        "read_in_part": sum(p.status == "ok" and p.read.truncated for p in predictions),
        "written": None if out == STDIN else out,
    }
