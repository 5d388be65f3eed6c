"""``attending distil``: a small model that learned to answer as a large one does."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.progress import Progress, TrainingProgress
from attending.cli.rows import unreadable_lines
from attending.cli.seeds import Run, require_place
from attending.cli.tables import facts
from attending.cli.teachers import held_out, places, transfer_texts
from attending.cli.tokens import TokenCounter, token_counter
from attending.cli.train import conclude, machine
from attending.cli.training_data import (
    TrainingData,
    data_facts,
    look_first,
    read_training_data,
    recipe_counter,
    window_facts,
)
from attending.errors import EncoderError

if TYPE_CHECKING:
    from attending.models.base import Model
    from attending.recipe import Recipe
    from attending.records import Document

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL... FILE",
        help="Folders that train wrote, several as one teacher (also the folder of [bold]train "
        "--seeds[/]); then the labelled rows: CSV, TSV, JSON lines (each also .gz) or Parquet.",
        show_default=False,
    ),
]
Layers = Annotated[
    int | None,
    typer.Option(
        "--layers",
        metavar="K",
        min=1,
        help="Layers of the student; half of the teacher's where neither this nor a recipe says.",
        show_default=False,
    ),
]
StudentRecipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="R",
        help="The student's recipe; without one, the teacher's own with fewer layers.",
        show_default=False,
    ),
]


def distil(
    words: Words,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Model folder to write.", rich_help_panel=options.OUTPUT
        ),
    ],
    layers: Layers = None,
    recipe: StudentRecipe = None,
    transfer: Annotated[
        list[str] | None,
        typer.Option(
            "--transfer",
            metavar="FILE",
            help="Texts without labels, which the teacher answers too; may be given several times.",
            show_default=False,
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", metavar="T", help="Divides both models' scores.", show_default=False
        ),
    ] = None,
    hard_share: Annotated[
        float | None,
        typer.Option(
            "--hard-share",
            metavar="S",
            help="Share of the loss that comes from the rows' own labels, 0 to 1.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        Literal["pretrained", "teacher"] | None,
        typer.Option(
            "--start",
            metavar="pretrained|teacher",
            help="Whose first layers the student starts from: those of the first teacher if it "
            "has such layers, else of the encoder as pretrained.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="E",
            help="The student's encoder, to start from as pretrained: a folder or a hub id; the "
            "teacher's if left out.",
            show_default=False,
        ),
    ] = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Development rows, as for [bold]train[/].",
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
    spans: options.Spans = None,
    input_format: options.InputFormat = None,
    unknown_labels: options.UnknownLabels = "error",
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Don't look for faults in the rows first.")
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Train a small model on the answers of a large one, or of several, and write its folder.

    The student learns the teacher's probabilities for the rows of FILE, and of texts without
    labels; their own labels choose its checkpoint. Rows that were held out of the teacher's
    training stay held out. Ctrl-C leaves a state from which the same command goes on.
    """
    screen = Screen(json)
    cells = (spans, label_separator, empty_labels, input_format)
    columns = Columns(text, label, id, group, date, where, encoding, *cells)
    folders, file = places(words)
    require_place(out, force, False)
    teachers = [_teacher(folder) for folder in folders]
    named = {
        "distillation.temperature": temperature,
        "distillation.hard_share": hard_share,
        "distillation.start": start,
    }
    made = _settled(teachers[0], recipe, layers, encoder, named, settings)
    _require_encoder(made)
    loaded = columns.load(file)
    held = held_out(folders, file, loaded, encoding)
    data = read_training_data(
        file, columns, None, dev, held, unknown_labels, loaded=loaded, known=teachers[0].labels
    )
    texts = transfer_texts(screen, transfer or (), columns, loaded, data)
    _announce(screen, teachers, data, made, len(texts))
    if not no_check:
        again = shlex.join(["attending", "check", file, *([dev] if dev else []), *columns.words()])
        report = look_first(data, _counter(made, folders[0]), screen, again)
        screen.say(facts(window_facts(report, made)))
    run = _distil(screen, teachers, data, made, texts, seed, out, force)
    if json:
        screen.data(machine(out, [run], data))
    else:
        screen.show(facts(_sizes(run)))
        conclude(screen, out, [run], data, file, columns)


def _teacher(folder: Path) -> "Model":
    from attending.models.store import load_model

    return load_model(folder)


def _settled(
    teacher: "Model",
    recipe: str | None,
    layers: int | None,
    encoder: str | None,
    named: dict[str, Any],
    settings: Sequence[str] | None,
) -> "Recipe":
    """Make the student's recipe.

    Raises:
        RecipeError: If there is none, or a setting is wrong.
    """
    from attending.recipe import Recipe, parse_setting
    from attending.training.distil import as_student, student_recipe
    from attending.training.student import with_start

    start = named["distillation.start"]
    known = teacher.recipe.get("encoder")
    own = known.name if known is not None and known.kind == "pretrained" else None
    if recipe is None:
        half = max(1, _layers(teacher) // 2)
        made = student_recipe(teacher.recipe, layers or half)
        made = made if encoder is None else made.override({"encoder.name": encoder})
    else:
        made = Recipe.load(recipe).with_encoder(encoder or own).for_task(teacher.recipe.task)
        made = as_student(made)
    changes = {key: value for key, value in named.items() if value is not None}
    changes |= {} if layers is None else {"encoder.layers": layers}
    changes |= {} if encoder is None or start else {"distillation.start": "pretrained"}
    made = made.override(changes | dict(map(parse_setting, settings or ())))
    return with_start(made, [teacher])


def _require_encoder(made: "Recipe") -> None:
    """Make sure, before anything is read, that the student's encoder is there.

    A model folder names its encoder without the folders that lead to it.

    Raises:
        EncoderError: If it isn't.
    """
    spec = made["encoder"]
    if spec.kind != "pretrained" or made["distillation"].start == "teacher":
        return
    from attending.parts.sources import locate

    try:
        locate(spec.name)
    except EncoderError as error:
        step = "Name its folder with --encoder, or pass --start teacher."
        raise EncoderError(error.what, where=error.where, step=step) from None


def _counter(made: "Recipe", teacher: Path) -> TokenCounter | None:
    """Return what counts tokens as the student's encoder does."""
    if made["distillation"].start == "teacher":
        return token_counter(str(teacher / "encoder"), made["windows"].max_tokens)
    return recipe_counter(made)


def _layers(teacher: "Model") -> int:
    encoder = getattr(getattr(teacher, "network", None), "encoder", None)
    return int(getattr(encoder, "layers", 0))


def _announce(
    screen: Screen, teachers: Sequence["Model"], data: TrainingData, made: "Recipe", texts: int
) -> None:
    """Tell who learns what from whom."""
    from attending.training.lesson import copies_of

    names = [teacher.recipe.name for teacher in teachers]
    first = f"{names[0]}, {_layers(teachers[0])} layers" if _layers(teachers[0]) else names[0]
    who = first if len(names) == 1 else f"{len(names)} models as one: {', '.join(names)}"
    spec = made["distillation"]
    learned = f"its {'calibrated ' if spec.calibrated else ''}probabilities"
    learned += f" at temperature {spec.temperature:g}"
    learned += f" and, for a share of {spec.hard_share:g}, labels" if spec.hard_share else ""
    pairs = [*data_facts(data)]
    pairs += [("transfer", f"{texts:,} documents without labels")] if texts else []
    copies = copies_of(made)
    pairs += [("copies", f"{copies} changed ones of each text, answered too")] if copies else []
    pairs += [("teacher", who), ("learns", learned), ("student", _student(made))]
    screen.say(facts(pairs))
    screen.tell_all("note", data.train.notes)
    screen.say(*unreadable_lines(data.train.problems)) if data.train.problems else None


def _student(made: "Recipe") -> str:
    spec = made["encoder"]
    if spec.kind != "pretrained":
        return f"{made.name}: {spec.name}"
    layers = f"the first {spec.layers} layers" if spec.layers else "all layers"
    where = "the teacher" if made["distillation"].start == "teacher" else spec.name
    units = f", {spec.ffn:,} feed-forward units each" if spec.ffn else ""
    return f"{made.name}: {layers} of {where}{units}"


def _distil(
    screen: Screen,
    teachers: Sequence["Model"],
    data: TrainingData,
    made: "Recipe",
    texts: Sequence["Document"],
    seed: int,
    out: Path,
    force: bool,
) -> Run:
    """Train the student, or take the one that an earlier run of the same command left."""
    from attending.training.distil import distil_into
    from attending.training.lesson import passes_of

    with (
        Progress(screen, "the teacher answers") as asked,
        TrainingProgress(screen, passes_of(made)) as progress,
    ):
        fitted = distil_into(
            out,
            teachers,
            made,
            data.train.documents,
            data.labels,
            development=None if data.development is None else data.development.documents,
            transfer=texts,
            seed=seed,
            force=force,
            listener=progress.listen,
            progress=_closing(asked),
        )
    data.origin.write(out)
    return Run(seed, out, fitted.metrics, fitted.model.facts, fitted.notes)


def _closing(asked: Progress) -> Callable[[int, int], None]:
    """Return what tells of progress and makes room for another bar at the end."""

    def tell(done: int, total: int) -> None:
        asked(done, total)
        if done == total:
            asked.__exit__(None, None, None)

    return tell


def _sizes(run: Run) -> Iterator[tuple[str, str]]:
    """Yield how large the student is beside its teacher."""
    own = run.facts["parameters"]
    first = run.facts["teachers"][0]["parameters"]
    yield "", ""
    than = f", {own / first:.0%} of the teacher's {first:,}" if first else ""
    yield "parameters", f"{own:,}{than}"
