"""``attending pretrain``: an encoder reads texts like those to come, without labels."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import options
from attending.cli.columns import Columns, described
from attending.cli.console import Screen
from attending.cli.progress import Progress, duration
from attending.cli.rows import unreadable_lines
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.specs.pretraining import Pretraining
    from attending.training.pretrain import Pretrained
    from attending.training.progress import Event

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Texts to read: CSV, TSV, JSON lines (each also .gz) or Parquet; labels are not "
        "looked at. [bold]portal[/] is the bundled corpus.",
        show_default=False,
    ),
]


def pretrain(
    files: Files,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Encoder folder to write.", rich_help_panel=options.OUTPUT
        ),
    ],
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="E",
            help="Where to start: minilm (bundled), a folder or a hub id.",
        ),
    ] = "minilm",
    epochs: Annotated[
        float | None,
        typer.Option(
            "--epochs",
            metavar="N",
            min=0.0,
            help="Passes over the texts; 3 where nothing is said.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            min=1,
            help="Steps, in place of --epochs.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SLOT.KEY=VALUE",
            help="Override a setting, such as masking.whole_words=true; may be given several "
            "times. A wrong key lists them all.",
            show_default=False,
        ),
    ] = None,
    text: options.Text = None,
    id: options.Id = None,
    group: options.Group = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Train an encoder on texts without labels and write its folder, for [bold]train --encoder[/].

    It learns to guess hidden words of your texts. A small part of them is held out to tell how
    much better it guesses. Leave texts out that you will evaluate on. Ctrl-C leaves a state from
    which the same command goes on, to the same encoder bit for bit.
    """
    from attending.cli.seeds import require_place

    screen = Screen(json)
    require_place(out, force, False)
    made = _settled(encoder, epochs, steps, settings)
    columns = Columns(text, id=id, group=group, where=where, encoding=encoding)
    corpora = [columns.load(file) for file in files]
    _announce(screen, files, corpora, made, settings or ())
    from attending.training.pretrain import pretrain as run

    with PretrainingProgress(screen) as progress:
        done = run(
            [d for corpus in corpora for d in corpus],
            out,
            made,
            steps=steps,
            seed=seed,
            force=force,
            listener=progress.listen,
        )
    if json:
        screen.data({"folder": str(out), **done.facts})
    else:
        _conclude(screen, out, done)


class PretrainingProgress(Progress):
    """Progress of further pretraining: steps, and the perplexity whenever it is measured."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen, "training", "steps")

    def listen(self, event: "Event") -> None:
        """Take an event of the training."""
        if event.kind == "start":
            found: dict[str, Any] = event.facts or {}
            self.screen.say(facts(_run_facts(found, event.total)))
            if event.step:
                self.screen.say(f"Going on after step {event.step:,} of {event.total:,}.")
        if event.kind == "epoch" and event.metrics:
            figure = f"{event.metrics['perplexity']:,.2f}"
            self.screen.say(f"epoch {event.epoch:g}: perplexity {figure} on the texts held out")
        if event.kind in ("start", "step"):
            self.tell(event.step, event.total, event.seconds_left)


def _settled(
    encoder: str, epochs: float | None, steps: int | None, settings: Sequence[str] | None
) -> "Pretraining":
    """Make the settings of a run.

    Raises:
        DataError: If epochs and steps are both given.
        RecipeError: If a setting is wrong.
    """
    from attending.recipe import parse_setting
    from attending.specs.pretraining import Pretraining

    if epochs is not None and steps is not None:
        raise DataError("--epochs and --steps exclude each other", step="Pass one of them.")
    given = dict(map(parse_setting, settings or ()))
    if epochs is not None:
        given["training.epochs"] = epochs
    return Pretraining().with_encoder(encoder).override(given)


def _announce(
    screen: Screen,
    files: Sequence[str],
    corpora: Sequence["Corpus"],
    made: "Pretraining",
    settings: Sequence[str],
) -> None:
    """Tell what the encoder is about to read."""
    pairs = [
        ("file", f"{Path(file).name}: {len(corpus):,} documents; {described(_read(corpus))}")
        for file, corpus in zip(files, corpora, strict=True)
    ]
    name = made.encoder.name
    pairs.append(("encoder", f"{name}, the bundled one" if name == "minilm" else name))
    if settings:
        pairs.append(("settings", ", ".join(settings)))
    screen.say(facts(pairs))
    for corpus in corpora:
        screen.tell_all("note", corpus.notes)
        problems = list(unreadable_lines(corpus.problems))
        screen.say(*problems) if problems else None


def _read(corpus: "Corpus") -> dict[str, str]:
    return {role: corpus.columns[role] for role in ("text", "group") if role in corpus.columns}


def _run_facts(found: dict[str, Any], steps: int) -> Iterator[tuple[str, str]]:
    yield (
        "windows",
        f"{found['windows']:,} of up to {found['window_tokens']:,} tokens, {found['tokens']:,} "
        f"tokens in all; {found['held_out_windows']:,} more are held out",
    )
    yield "steps", f"{steps:,} in {found['precision']}"


def _conclude(screen: Screen, out: Path, done: "Pretrained") -> None:
    """Show what was gained, where the encoder is, and what to type next."""
    screen.tell_all("note", done.notes)
    if done.facts["skipped_steps"]:
        screen.tell("note", f"{done.facts['skipped_steps']} steps were not finite and left out")
    pairs = []
    if done.before is not None and done.after is not None:
        held = f"{done.facts['held_out_texts']:,} texts held out"
        pairs.append(("perplexity", f"{done.before:,.2f} -> {done.after:,.2f} on {held}"))
    pairs.append(("time", duration(float(done.facts["seconds"]))))
    pairs.append(("encoder", str(out)))
    screen.show(facts(pairs), "")
    screen.show("Next:")
    words = ["attending", "train", "messages.csv", "--encoder", str(out), "--out", "model"]
    screen.commands(f"  {shlex.join(words)}")
