"""``attending study``: many systems x seeds as one run that can be stopped, and one table."""

import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.cli.faults import FAILED, Stopped
from attending.cli.progress import Progress, duration
from attending.cli.tables import facts, table
from attending.errors import DataError, StudyError, TrainingInterrupted

if TYPE_CHECKING:
    from attending.study.folders import StudyFolder
    from attending.study.plan import Study
    from attending.study.price import Price
    from attending.study.results import Results
    from attending.study.run import Finished, StudyEvent
    from attending.training.progress import Event

_SECONDS_BETWEEN = 60.0
_BUSY = 1.5
"""A load of so many processes a core makes what is measured too slow."""


def study(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Study file (TOML): corpora, systems, seeds.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder of the cells and the tables; the same folder goes on.",
            rich_help_panel=options.OUTPUT,
        ),
    ],
    data_root: Annotated[
        Path | None,
        typer.Option(
            "--data-root",
            metavar="DIR",
            help="Where the files of the corpora lie; those beside FILE are found without it.",
            show_default=False,
        ),
    ] = None,
    encoder: options.Encoder = None,
    cells: Annotated[
        Path | None,
        typer.Option(
            "--cells",
            metavar="DIR",
            help="Where cells are kept; studies that share it share the cells they have in "
            "common. OUT/cells by default.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, say what it will cost, train nothing."),
    ] = False,
    tables_only: Annotated[
        bool,
        typer.Option("--tables-only", help="Write the tables of what is finished, train nothing."),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="Processor cores for this process. Several processes on one DIR share the cells.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Make every cell of FILE anew.", rich_help_panel=options.OUTPUT
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Compare systems fairly: every system, every seed, one table with paired tests.

    Everything that is wrong with FILE is told at once, before anything trains. Every training is
    a cell with a folder of its own: stopped or killed, the same command goes on and loses at most
    the running one, and a network goes on within it. A cell that fails is shown with its reason,
    and tried again next time.
    """
    if dry_run and (force or tables_only):
        raise DataError("--dry-run goes with neither --force nor --tables-only")
    if force and tables_only:
        raise DataError(
            "--force makes every cell anew, and --tables-only makes none",
            step="Leave --force out: tables are always written anew.",
        )
    screen = Screen(json)
    home = _home(screen, file, out, cells, data_root, encoder)
    if dry_run:
        _tell_prices(screen, home, json)
        return
    _use(threads)
    home.claim(force)
    _announce(screen, home)
    finished = None if tables_only else _run(screen, home)
    results = _write(screen, home)
    if json:
        from attending.study.report import as_json

        screen.data(as_json(results))
    else:
        _show(screen, results)
    _conclude(screen, results, out, finished)


def _home(
    screen: Screen,
    file: Path,
    out: Path,
    cells: Path | None,
    root: Path | None,
    encoder: str | None,
) -> "StudyFolder":
    """Read the study file; where it has several faults, tell each in a line of its own."""
    from attending.study.folders import StudyFolder
    from attending.study.plan import load_study

    try:
        return StudyFolder(load_study(file, root=root, encoder=encoder), out, cells)
    except StudyError as error:
        if len(error.faults) < 2:
            raise
        screen.say(*(f"  {n}. {fault}" for n, fault in enumerate(error.faults, 1)))
        raise StudyError(
            f"{len(error.faults)} faults, listed above",
            where=str(file),
            step="Nothing was trained.",
        ) from None


def _use(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def _announce(screen: Screen, home: "StudyFolder") -> None:
    made: Study = home.study
    cells = made.cells()
    done = sum(home.cell(cell).done for cell in cells)
    pairs = [
        ("study", made.file.name),
        ("corpora", ", ".join(f"{c.name} ({len(c.labels)} labels)" for c in made.corpora.values())),
        ("systems", ", ".join(made.systems)),
        ("cells", f"{len(cells):,}" + (f", {done:,} of them made already" if done else "")),
    ]
    screen.say(facts(pairs))
    left_over = home.left_over()
    if left_over:
        screen.tell(
            "note",
            f"{left_over:,} cells here are of an earlier form of the study file: not used",
        )


def _run(screen: Screen, home: "StudyFolder") -> "Finished":
    """Make the cells; Ctrl-C leaves all that is made."""
    from attending.study.run import run_study

    teller = _Teller(screen, home.study)
    try:
        return run_study(home, teller.listen)
    except (TrainingInterrupted, KeyboardInterrupt) as stop:
        what = getattr(stop, "what", "stopped on request")
        step = "Run the same command again to go on from there."
        raise TrainingInterrupted(str(what), where=str(home.path), step=step) from None
    finally:
        teller.close()


class _Teller:
    """Tells a person how a study goes: a line for each finished cell, and how far the running is.

    On a terminal that is a bar, elsewhere a line a minute.
    """

    def __init__(self, screen: Screen, study: "Study") -> None:
        self.screen, self.study = screen, study
        self.bar: Progress | None = None
        self.told = time.monotonic()

    def listen(self, event: "StudyEvent") -> None:
        """Take an event."""
        head = f"[{event.number}/{event.total}] {event.cell}"
        if event.kind == "start":
            self.told = time.monotonic()
            terminal = self.screen.err.is_terminal
            self.bar = Progress(self.screen, head, "steps") if terminal else None
        elif event.kind == "step" and event.event is not None:
            self._step(head, event.event)
        elif event.kind == "done" and event.facts is not None:
            self.close()
            spent = event.facts["seconds"]
            took = duration(spent["training"] + spent["predicting"])
            self.screen.say(f"{head}: {took}{self._chosen(event)}{_left(event)}")
        elif event.kind == "failed":
            self.close()
            self.screen.tell("warning", f"{head} failed: {event.reason}")

    def _step(self, head: str, event: "Event") -> None:
        if event.kind not in ("start", "step"):
            return
        if self.bar is not None:
            self.bar.tell(event.step, event.total, event.seconds_left)
        elif event.step and time.monotonic() - self.told >= _SECONDS_BETWEEN:
            self.told = time.monotonic()
            left = f", {duration(event.seconds_left)} left" if event.seconds_left else ""
            self.screen.say(f"{head}: {event.step:,} of {event.total:,} steps{left}")

    def _chosen(self, event: "StudyEvent") -> str:
        """Say what came out on development rows, which a person may look at."""
        first = self.study.figures[event.cell.corpus][0]
        found = (event.facts or {})["development"].get(str(first))
        return "" if found is None else f", {first.title} {found:.3f} on development rows"

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.__exit__(None, None, None)
            self.bar = None


def _left(event: "StudyEvent") -> str:
    """Say what is left to do after a cell."""
    if not event.left:
        return ""
    said = f"; {event.left:,} {'cell' if event.left == 1 else 'cells'} left"
    if event.unknown:
        return f"{said}, {event.unknown:,} of them by systems that haven't run yet"
    if event.seconds_left is None:
        return said
    about = duration(event.seconds_left)
    return f"{said}, {about}" if event.seconds_left < 1 else f"{said}, about {about}"


def _write(screen: Screen, home: "StudyFolder") -> "Results":
    """Measure times and draw pictures where they are asked for, and write the tables."""
    from attending.study.drawings import draw_study
    from attending.study.report import write_results
    from attending.study.results import collect
    from attending.study.timing import time_study

    time_study(home, lambda what: screen.say(f"measuring: {what}"))
    drawn = draw_study(home, lambda name: screen.say(f"drawing: {name}"))
    if drawn:
        said = " They hold the text of documents." if "words" in home.study.head.pictures else ""
        screen.say(f"{len(drawn):,} pictures in {drawn[0].parent}.{said}")
    results = collect(home)
    write_results(home.path, results)
    return results


def _show(screen: Screen, results: "Results") -> None:
    """Show the main tables, what differs, and the verdicts."""
    from attending.study import wording

    for block in results.main_blocks:
        first, *others = block.figures
        heads = [block.corpus, "runs", first.title, "sd", "se", "95% interval"]
        rows = [
            [
                row.system,
                str(row.runs),
                wording.value(first, spread.mean if (spread := row.spreads[first]) else None),
                wording.bare(first, spread.sd if spread else None),
                wording.bare(first, spread.se if spread else None),
                wording.between(first, row.intervals[first]),
                *(wording.with_spread(f, row.spreads[f]) for f in others),
            ]
            for row in block.rows
        ]
        screen.show(table([*heads, *(f.title for f in others)], rows), "")
    screen.show(*wording.in_short(results))
    for claimed in results.claims:
        where = f" on {claimed.corpus}" if len(results.study.corpora) > 1 else ""
        reason = f" ({claimed.reason})" if claimed.reason else ""
        screen.show(f"{claimed.verdict}: {claimed.claim.says}{where}{reason}")


def _conclude(screen: Screen, results: "Results", out: Path, finished: "Finished | None") -> None:
    """Say where the outcome is; end with an exit code that says whether all cells are made."""
    from attending.data.wording import plural
    from attending.study.report import FILES

    screen.say("", f"Report: {out / FILES['page']}; also {FILES['markdown']}, {FILES['csv']}")
    if finished is not None and finished.elsewhere:
        number = plural(len(finished.elsewhere), "cell")
        screen.tell("note", f"with another process, or waiting for it: {number}")
    if results.failures:
        raise Stopped(
            FAILED,
            f"{plural(len(results.failures), 'cell')} failed; the reasons are in "
            f"{out / FILES['page']}. "
            "The same command tries them again.",
        )


def _tell_prices(screen: Screen, home: "StudyFolder", json: bool) -> None:
    """Say what each system will cost and how that is known."""
    from dataclasses import asdict

    from attending.study.price import price_study

    prices = price_study(home, lambda what: screen.say(f"measuring a few steps: {what}"))
    known = sum(price.seconds or 0.0 for price in prices)
    if json:
        screen.data({"minutes": round(known / 60, 2), "systems": [asdict(p) for p in prices]})
        return
    heads = ["corpus", "system", "cells", "made", "minutes", "known from"]
    screen.show(table(heads, [_price_row(price) for price in prices], words=2, wide=(5,)), "")
    unknown = [price for price in prices if price.seconds is None]
    more = f", and {len(unknown)} systems that couldn't be measured" if unknown else ""
    cells = sum(price.cells - price.made for price in prices)
    screen.show(f"{cells:,} cells to make, about {known / 60:.0f} minutes on this machine{more}.")
    _tell_load(screen)
    _tell_command(screen, home)


def _tell_load(screen: Screen) -> None:
    """Say that the machine is busy, where it is: what was measured now is then too much."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > _BUSY * cores:
        screen.tell(
            "note",
            f"the machine is busy now (load {load:.0f} on {cores} cores): by itself it is faster",
        )


def _price_row(price: "Price") -> Sequence[str]:
    minutes = "?" if price.seconds is None else f"{price.seconds / 60:.1f}"
    made = str(price.made) if price.made else ""
    return [price.corpus, price.system, str(price.cells), made, minutes, price.basis]


def _tell_command(screen: Screen, home: "StudyFolder") -> None:
    words: list[Any] = ["attending", "study", home.study.path, "--out", home.path]
    screen.show("Next:")
    screen.commands(f"  {shlex.join(map(str, words))}")
