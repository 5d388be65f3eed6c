"""Options that several verbs have in common, so that they read the same everywhere."""

from typing import Annotated, Literal

import typer

COLUMNS = "Columns of the file"
OUTPUT = "Output"
LARGEST_SEED = 2**31 - 1
"""Leaves room for the seeds after it."""
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, max=LARGEST_SEED, help="Decides every random choice."
    ),
]

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, JSON lines (each also .gz) or Parquet; [bold]portal[/] is the bundled "
        "corpus.",
        show_default=False,
    ),
]
Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Folder that train wrote.", show_default=False),
]

Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column of the text. Columns that aren't named are found by their usual names.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of the label.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of the id.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Column of what several documents share: a patient, a writer.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Date = Annotated[
    str | None,
    typer.Option(
        "--date",
        metavar="COLUMN",
        help="Column of the date, in ISO 8601.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Take only rows with this value; may be given several times.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="S",
        help='What stands between the labels of a cell, such as ";"; a blank for any white space. '
        "JSON lists need none.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
EmptyLabels = Annotated[
    Literal["unlabelled", "none"],
    typer.Option(
        "--empty-labels",
        metavar="unlabelled|none",
        help="What an empty cell of labels says: nobody has looked, or no label applies.",
        rich_help_panel=COLUMNS,
    ),
]
Spans = Annotated[
    str | None,
    typer.Option(
        "--spans",
        metavar="COLUMN",
        help="Column of annotated spans: which words stand for which label.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
InputFormat = Annotated[
    Literal["libmultilabel", "fhir"] | None,
    typer.Option(
        "--input-format",
        metavar="libmultilabel|fhir",
        help="Read LibMultiLabel's tab-separated files, which have no header; or FHIR, where it "
        "isn't told by its content.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="How characters are stored, such as cp1252.",
        rich_help_panel=COLUMNS,
    ),
]

Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="LABELS",
        help="Label file (TOML, CSV, JSON lines). Without one, the labels are those found, sorted.",
        show_default=False,
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="E",
        help="A folder or a hub id; [bold]recipe[/]: the one that the recipe names. Without it, "
        "the bundled minilm.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SLOT.KEY=VALUE",
        help="Override a setting of the recipe; may be given several times. [bold]attending "
        "recipes show NAME[/] lists them.",
        show_default=False,
    ),
]
Precision = Annotated[
    Literal["float32", "bfloat16", "auto"],
    typer.Option(
        "--precision",
        metavar="float32|bfloat16|auto",
        help="What a network answers in. [bold]bfloat16[/] takes a part of the time where the "
        "processor multiplies it natively, and moves scores by a little; [bold]auto[/] asks it. An "
        "exported model answers as it was exported.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="M",
        help="How words are scored; the model's best by default, a wrong name lists all.",
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUTPUT),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace what is there.", rich_help_panel=OUTPUT),
]
UnknownLabels = Annotated[
    Literal["error", "skip"],
    typer.Option(
        "--unknown-labels",
        metavar="error|skip",
        help="What to do with a label that is not in the label set: stop, or leave the row out.",
        rich_help_panel=COLUMNS,
    ),
]
