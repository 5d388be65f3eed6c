"""``attending data``: get the bundled corpus, convert files, split them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.convert import convert, tell_remarks, write_corpus
from attending.cli.mimic import mimic3, mimic4
from attending.cli.origin import By
from attending.cli.rows import counts_in_words
from attending.cli.tables import facts
from attending.errors import OutputError

BUNDLED = "portal"
verbs = typer.Typer(
    help="Get the bundled corpus or MIMIC, convert a file, split a file.", no_args_is_help=True
)

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        help="File to write; its name says the kind: .csv, .tsv, .jsonl (each also .gz), .parquet.",
        rich_help_panel=options.OUTPUT,
    ),
]


@verbs.command("portal")
def portal(out: Out = Path("portal.jsonl"), force: options.Force = False) -> None:
    """Write the bundled corpus, 1,756 invented patient-portal messages, and its label file."""
    from attending.data.labels import load_labels, write_labels

    screen = Screen()
    labels = out.with_name(f"{out.name.split('.')[0]}-labels.toml")
    if labels.exists() and not force:
        raise OutputError("the file exists already", where=str(labels), step="Pass --force.")
    corpus = Columns().load(BUNDLED)
    write_corpus(corpus, out, force)
    write_labels(load_labels(BUNDLED), labels, force=force)
    screen.show(facts([("documents", f"{out}: {len(corpus):,}"), ("labels", str(labels))]))


verbs.command("convert")(convert)
verbs.command("mimic3")(mimic3)
verbs.command("mimic4")(mimic4)


@verbs.command("split")
def split(
    file: options.File,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for train and test.",
            rich_help_panel=options.OUTPUT,
        ),
    ],
    test: Annotated[
        float, typer.Option("--test", metavar="SHARE", help="Share of the documents in test.")
    ] = 0.2,
    by: Annotated[
        By,
        typer.Option(
            "--by",
            metavar="label|group|date|random",
            help="What goes to test: the same share of every label, whole groups, the newest, or "
            "any rows.",
        ),
    ] = "label",
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", min=0, max=options.LARGEST_SEED, help="Seed of the draw."
        ),
    ] = 2020,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="A,B",
            help="The groups that form the test part.",
            show_default=False,
        ),
    ] = None,
    keep_together: Annotated[
        Literal["text", "group"] | None,
        typer.Option(
            "--keep-together",
            metavar="text|group",
            help="Put documents of the same text, or group, on one side.",
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
    force: options.Force = False,
) -> None:
    """Split a file into train and test, each a file of the same kind."""
    from attending.data.splits import split as divide

    screen = Screen()
    corpus = Columns(
        text, label, id, group, date, where, encoding, spans, label_separator, empty_labels,
        input_format,
    ).load(file)  # fmt: skip
    named = [g.strip() for g in groups.split(",") if g.strip()] if groups else None
    made = divide(
        corpus.documents,
        by="group" if named else by,
        test=test,
        seed=seed,
        groups=named,
        keep_together=keep_together,
    )
    ending = ".jsonl" if file == BUNDLED else _ending(file)
    # FHIR is read but not written: its parts are tables.
    if input_format == "fhir" or ending in (".json", ".json.gz"):
        ending = ".jsonl"
    written: Literal["libmultilabel"] | None
    written = "libmultilabel" if input_format == "libmultilabel" else None
    paths = {name: out / f"{name}{ending}" for name in ("train", "test")}
    for path in paths.values():
        if path.exists() and not force:
            raise OutputError("the file exists already", where=str(path), step="Pass --force.")
    out.mkdir(parents=True, exist_ok=True)
    pairs = []
    for name, positions in (("train", made.train), ("test", made.test)):
        part = corpus.subset(sorted(positions), name)
        write_corpus(part, paths[name], force, label_separator=label_separator, format=written)
        counts = counts_in_words(part.label_counts)
        pairs.append(
            (name, f"{paths[name]}: {len(part):,} documents" + (f" ({counts})" if counts else ""))
        )
    tell_remarks(screen, corpus)
    screen.tell_all(
        "note", (n.replace('keep_together="text"', "--keep-together text") for n in made.notes)
    )
    screen.show(facts(pairs))


def _ending(file: str) -> str:
    path = Path(file)
    return "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
