"""``attending score``: files of any size, on all cores or a cluster, resumable."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.faults import STOPPED, Stopped
from attending.cli.progress import Progress, duration
from attending.cli.rows import counts_in_words
from attending.cli.tables import facts

if TYPE_CHECKING:
    from attending.scoring.run import Outcome


def score(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, JSON lines (each also .gz) or Parquet of any size; FHIR as far as it "
            "fits into memory.",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Folder that train or export wrote.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder to write, or to go on in.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ],
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Add the words that spoke for each label.")
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            "--engine",
            metavar="local|ray",
            help="This machine, or the Ray cluster that this process is connected to.",
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Processes, each with a model of its own in memory; one a core if left out.",
            show_default=False,
        ),
    ] = None,
    chunk: Annotated[
        int,
        typer.Option(
            "--chunk",
            metavar="ROWS",
            min=1,
            help="Rows that are scored and saved together: what a crash loses.",
        ),
    ] = 2000,
    precision: options.Precision = "float32",
    text: options.Text = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Score files of any size into a folder; run again, it goes on where it was stopped or killed.

    Writes predictions.jsonl, one line for every row in the order of the files, with file and row
    number; errors.jsonl, the rows without an answer; and score.json, the counts. Files are looked
    at once before the first row is scored, so that a fault in the last line shows at once.
    """
    from attending.models.store import load_model
    from attending.scoring.job import Reading
    from attending.scoring.run import score_files

    screen = Screen(json)
    labels = load_model(model).labels.ids  # a wrong folder shows before files are read
    columns = Columns(text=text, id=id, where=where, encoding=encoding)
    reading = Reading({"text": text, "id": id}, columns.conditions, encoding)
    try:
        with Progress(screen, "scoring", "rows") as progress:
            outcome = score_files(
                model, files, out,
                reading=reading, engine=engine, workers=workers, chunk_rows=chunk,
                evidence=evidence, precision=precision, force=force, progress=progress.tell,
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Stopped(STOPPED, "Stopped. Run the same command again to go on from there.") from None
    if json:
        screen.data(
            {"written": str(out), "seconds": round(outcome.seconds, 1), "resumed": outcome.resumed}
            | outcome.counts
        )
        return
    if outcome.done_before:
        screen.tell("note", f"{out} was done already: nothing was scored again")
    screen.show(facts(_summary(outcome, labels, out)))


def _summary(outcome: "Outcome", labels: Sequence[str], out: Path) -> list[tuple[str, str]]:
    """Say what became of the rows."""
    from attending.data.wording import plural
    from attending.scoring.job import ERRORS, PREDICTIONS

    counts = outcome.counts
    rows, status = counts["rows"], counts["status"]
    silent = rows - status.get("ok", 0)
    fates = {"empty_text": "without text", "too_long": "too long", "failed": "failed"}
    told = [f"{status.get('ok', 0):,} answered"]
    told += [f"{status[name]:,} {fate}" for name, fate in fates.items() if status.get(name)]
    pairs = [("rows", f"{rows:,}: {', '.join(told)}")]
    given = {label: counts["labels"].get(label, 0) for label in labels}
    pairs.append(("labels", counts_in_words(given)))
    if counts["abstained"]:
        pairs.append(("unsure", f"{plural(counts['abstained'], 'row')} handed over to a person"))
    if counts["read_in_part"]:
        pairs.append(
            ("read in part", f"{counts['read_in_part']:,}: too long to be read to the end")
        )
    fresh = rows - outcome.resumed
    if not outcome.done_before:
        speed = f", {fresh / outcome.seconds:,.0f} rows a second" if outcome.seconds > 0 else ""
        before = f"; {outcome.resumed:,} rows were done before" if outcome.resumed else ""
        pairs.append(("time", f"{duration(outcome.seconds)}{speed}{before}"))
    pairs.append(("written", str(out / PREDICTIONS)))
    if silent:
        pairs.append(("no answer", f"{plural(silent, 'row')}, by number in {out / ERRORS}"))
    return pairs
