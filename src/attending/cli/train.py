"""``attending train``: from labelled rows to a model folder."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options, spans
from attending.cli.also import Also
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.constraints import (
    Abstain,
    AbstainBy,
    RecallFloor,
    Surely,
    band_settings,
    floor_settings,
    price_lines,
    require_decision,
)
from attending.cli.origin import By
from attending.cli.progress import TrainingProgress, development_figures, duration
from attending.cli.rows import unreadable_lines
from attending.cli.seeds import (
    Run,
    drop_others,
    finished,
    in_order,
    require_place,
    require_same,
    seed_folder,
    spread_table,
    write_summary,
)
from attending.cli.tables import facts
from attending.cli.train_spans import (
    read_span_data,
    refuse_label_options,
    tagger_commands,
    tell_faults,
)
from attending.cli.training_data import (
    HoldoutWish,
    TrainingData,
    data_facts,
    data_remarks,
    encoder_name,
    look_first,
    read_training_data,
    recipe_counter,
    window_facts,
)

if TYPE_CHECKING:
    from attending.recipe import Recipe

_HOLDOUT = "Honest figures from one file"


def train(
    file: spans.File,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Model folder to write.", rich_help_panel=options.OUTPUT
        ),
    ],
    labels: options.Labels = None,
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            metavar="R",
            help="A name from [bold]attending recipes[/], or a recipe file.",
        ),
    ] = "lesa-bert",
    encoder: options.Encoder = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            min=2,
            help="Train N times, with N seeds from --seed on, and tell mean and spread.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Development rows, which choose the checkpoint. Without them, a share of the "
            "training rows is carved off.",
            show_default=False,
        ),
    ] = None,
    also: Also = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="Keep this share of FILE out of training, such as 0.2: [bold]evaluate[/] on the "
            "same FILE then uses just these rows.",
            rich_help_panel=_HOLDOUT,
            show_default=False,
        ),
    ] = None,
    split_by: Annotated[
        By,
        typer.Option(
            "--split-by",
            metavar="label|group|date|random",
            help="What is held out: the same share of every label, whole groups, the newest, or "
            "any rows.",
            rich_help_panel=_HOLDOUT,
        ),
    ] = "label",
    split_seed: Annotated[
        int,
        typer.Option(
            "--split-seed",
            metavar="N",
            min=0,
            max=options.LARGEST_SEED,
            help="Seed.",
            rich_help_panel=_HOLDOUT,
        ),
    ] = 2020,
    holdout_groups: Annotated[
        str | None,
        typer.Option(
            "--holdout-groups",
            metavar="A,B",
            help="Keep these groups out of training.",
            rich_help_panel=_HOLDOUT,
            show_default=False,
        ),
    ] = None,
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
    unknown_labels: options.UnknownLabels = "error",
    source_format: spans.From = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    lenient: spans.Lenient = False,
    task: Annotated[
        Literal["auto", "single", "multi"],
        typer.Option(
            "--task",
            metavar="auto|single|multi",
            help="One label a document, or any number; auto: as the rows are.",
        ),
    ] = "auto",
    recall_floor: RecallFloor = None,
    surely: Surely = False,
    abstain: Abstain = None,
    abstain_by: AbstainBy = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Don't look for faults in the rows first.")
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Train a model on labelled rows, or on annotated spans, and write its folder.

    Looks at the rows first as [bold]check[/] does and stops at errors. Ctrl-C leaves a state from
    which the same command goes on, to the same model bit for bit. A test file has no place here:
    give it to [bold]evaluate[/].
    """
    from attending.recipe import Recipe, parse_setting

    screen = Screen(json)
    cells = (span_column, label_separator, empty_labels, input_format)
    columns = Columns(text, label, id, group, date, where, encoding, *cells)
    wish = HoldoutWish.of(holdout, split_by, split_seed, holdout_groups)
    require_place(out, force, seeds is not None)
    named = Recipe.load(recipe).with_encoder(encoder)
    decided = floor_settings(recall_floor, surely) | band_settings(abstain, abstain_by)
    changes = dict(map(parse_setting, settings or ())) | decided
    how = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    if named.task == "spans":
        refuse_label_options(named, decided, also)
        data = read_span_data(
            file, how, columns, labels, dev, wish, unknown_labels, strict=not lenient
        )
    else:
        loaded = spans.load_labelled(file, how, columns, f'recipe "{named.name}"')
        data = read_training_data(
            file, columns, labels, dev, wish, unknown_labels, loaded=loaded, also=also or ()
        )
    used = how if data.tagged and how.holds_spans(file) else columns
    made = named.for_task(data.task if task == "auto" else task)
    require_decision(made, decided, data.labels)
    made = made.override(changes)
    _announce(screen, data, Recipe.load(recipe), made, settings or ())
    counter = None if no_check else recipe_counter(made)
    if not no_check:
        again = shlex.join(["attending", "check", file, *([dev] if dev else []), *used.words()])
        # Types are ids to a tagger that doesn't read what they mean.
        bare = data.tagged and "label_states" not in made.slots
        report = look_first(data, counter, screen, again, ("labels-without-text",) if bare else ())
        screen.say(facts(window_facts(report, made)))
    there = require_same(out, made, data.labels, data.origin) if seeds and not force else []
    runs = [
        _train_one(
            screen, data, made, seed + i, seed_folder(out, seed + i) if seeds else out, force
        )
        for i in range(seeds or 1)
    ]
    if seeds:
        runs = in_order([*there, *runs])
        write_summary(out, runs)
        drop_others(out, runs) if force else None
    if json:
        screen.data(machine(out, runs, data))
    else:
        conclude(screen, out, runs, data, file, used)


def _announce(
    screen: Screen, data: TrainingData, named: "Recipe", made: "Recipe", settings: Sequence[str]
) -> None:
    """Tell what is about to be trained on what."""
    pairs = [*data_facts(data), ("recipe", f"{made.name}: {made.summary}")]
    if made.task == "multi":
        pairs.append(("task", "any number of labels a document"))
    if settings:
        pairs.append(("settings", ", ".join(settings)))
    if made.family == "neural":
        pairs.append(("encoder", _encoder(named, made)))
    screen.say(facts(pairs))
    tell_faults(screen, data)
    screen.tell_all("note", data.train.notes)
    screen.tell_all("note", data_remarks(data))
    problems = list(unreadable_lines(data.train.problems))
    screen.say(*problems) if problems else None


def _encoder(named: "Recipe", made: "Recipe") -> str:
    used, published = encoder_name(made), encoder_name(named)
    if used is None:
        return f"{made['encoder'].kind}, on words of the training rows"
    line = f"{used}, the bundled one" if used == "minilm" else used
    if used != published:
        line += f" (the recipe names {published}; --encoder recipe takes it)"
    return line


def _train_one(
    screen: Screen, data: TrainingData, recipe: "Recipe", seed: int, folder: Path, force: bool
) -> Run:
    """Train one model, or take the one that an earlier run of the same command left."""
    from attending.training.job import train_into, train_tagger_into

    done = None if force else finished(folder, recipe, data.labels, data.origin, seed)
    if done is not None:
        screen.say(f"{folder} is trained already.")
        return done
    training = recipe.get("training")
    with TrainingProgress(screen, training.known_epochs if training else None) as progress:
        into: Any = train_tagger_into if data.tagged else train_into
        fitted = into(
            folder,
            recipe,
            data.train.documents,
            data.labels,
            development=None if data.development is None else data.development.documents,
            seed=seed,
            force=force,
            listener=progress.listen,
        )
    data.origin.write(folder)
    return Run(seed, folder, fitted.metrics, fitted.model.facts, fitted.notes)


def _remarks(run: Run) -> Iterator[str]:
    """Yield what a person should know of a training that went well."""
    yield from run.notes
    if run.facts.get("rows_without_text"):
        yield f"{run.facts['rows_without_text']} rows without text: not trained on"
    if run.facts.get("rows_without_answer"):
        yield f"{run.facts['rows_without_answer']} rows that the teacher could not answer: left out"
    if run.facts.get("skipped_steps"):
        yield f"{run.facts['skipped_steps']} steps were not finite and left out"
    yield from run.facts.get("encoder_notes") or ()
    notes = run.facts.get("label_state_notes") or ()
    yield from notes[:3]
    if len(notes) > 3:
        yield f"{len(notes) - 3:,} more labels start like these"


def conclude(
    screen: Screen,
    out: Path,
    runs: Sequence[Run],
    data: TrainingData,
    file: str,
    how: Columns | spans.SpanFile,
) -> None:
    """Show development figures, where the model is, and what to type next."""
    from attending.data.wording import plural

    first = runs[0]
    screen.tell_all("note", _remarks(first))
    rows = first.facts.get("development_rows")
    chose = "chose the checkpoint and" if "encoder" in first.facts else "set"
    what = plural(rows or 0, "document" if data.tagged else "row")
    too_good = f"{what} that also {chose} the calibration, so a little too good"
    if len(runs) > 1:
        seconds = [float(run.facts.get("seconds", 0)) for run in runs]
        screen.show(spread_table({f"seed {r.seed}": r.metrics for r in runs}, seconds))
        screen.show(f"Development figures, on {too_good}.", "")
    pairs = []
    if len(runs) == 1:
        if first.metrics:
            line = ", ".join(development_figures(first.metrics))
            pairs.append(("development", f"{line}; on {too_good}"))
        pairs += [] if data.tagged else decision_lines(first.folder)
        pairs.append(("time", duration(float(first.facts.get("seconds", 0)))))
    pairs.append(("model", f"{out}{'/seed-*' if len(runs) > 1 else ''}"))
    screen.show(facts(pairs), "")
    screen.show("Next:")
    following = tagger_commands if data.tagged else _following
    for command in following(out, data, file, how, len(runs) > 1):
        screen.commands(f"  {command}")


def _following(
    out: Path, data: TrainingData, file: str, how: Columns | spans.SpanFile, several: bool
) -> Iterator[str]:
    """Yield what to type next: evaluate, then predict."""
    test = file if data.held_out else "test.csv"
    words = how.words() if data.held_out else how.words("text", "label", "id", "group")
    why = f"  # on the {data.held_out:,} documents held out" if data.held_out else ""
    yield f"{shlex.join(['attending', 'evaluate', str(out), test, *words])}{why}"
    if not several:
        predict = ["attending", "predict", str(out), "new.csv", "--out", "predictions.jsonl"]
        yield f"{shlex.join([*predict, *how.words('text', 'id')])} --evidence"


def decision_lines(folder: Path) -> list[tuple[str, str]]:
    """Return what the recall floors and the band of a model folder cost."""
    from json import loads

    from attending.parts.decoders import Decision

    return list(price_lines(Decision.from_dict(loads((folder / "decision.json").read_text()))))


def machine(out: Path, runs: Sequence[Run], data: TrainingData) -> dict[str, object]:
    """Return for machines what trainings made."""
    return {
        "folder": str(out),
        "labels": list(data.labels.ids),
        "held_out": data.held_out,
        "models": [
            {
                "folder": str(run.folder),
                "seed": run.seed,
                "development": dict(run.metrics),
                "facts": dict(run.facts),
                "notes": list(run.notes),
            }
            for run in runs
        ],
    }
