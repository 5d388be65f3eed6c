"""``attending labels``: what the labels are, and how many rows carry each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen, heading
from attending.cli.tables import table

if TYPE_CHECKING:
    from attending.records import LabelSet

verbs = typer.Typer(
    help="Look at a label file: ids, meaning, keywords, examples.", no_args_is_help=True
)


@verbs.callback()
def labels() -> None:
    """Look at a label file: ids, meaning, keywords, examples."""


@verbs.command("show")
def show(
    file: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="Label file, model folder, or [bold]portal[/].",
            show_default=False,
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE", help="Count the labels in a file.", show_default=False
        ),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Show the labels in order, with their meaning and, for a file, how many rows carry each."""
    from attending.data.labels import load_labels
    from attending.data.wording import plural, shown_label

    screen = Screen(json)
    path = Path(file)
    found = load_labels(path / "labels.toml" if path.is_dir() else file)
    counts: dict[str, int] | None = None
    if data is not None:
        columns = Columns(text=text, label=label, where=where, encoding=encoding)
        counts = columns.load(data).label_counts
    if json:
        screen.data(_machine(found, counts))
        return
    order = "from least to most" if found.ordered else "in no order"
    screen.show(heading(f"{found.name}: {len(found)} labels, {order}"))
    heads = ["label", *(["rows"] if counts is not None else []), "keywords", "description"]
    rows = [
        [
            x.id if not x.name or x.name == x.id else f"{x.id} ({x.name})",
            *([f"{counts.get(x.id, 0):,}"] if counts is not None else []),
            ", ".join(x.keywords) or "–",
            x.description or "–",
        ]
        for x in found
    ]
    wide = (len(heads) - 2, len(heads) - 1)
    screen.show(table(heads, rows, wide=wide))
    strange = {x: n for x, n in (counts or {}).items() if x not in found.ids}
    for name, n in strange.items():
        screen.tell(
            "warning", f"label {shown_label(name)} ({plural(n, 'row')}) is not in the label set"
        )


def _machine(found: "LabelSet", counts: dict[str, int] | None) -> dict[str, object]:
    return {
        "name": found.name,
        "ordered": found.ordered,
        "hash": found.hash,
        "labels": [
            {
                "id": x.id,
                "name": x.name,
                "description": x.description,
                "keywords": list(x.keywords),
                "synonyms": list(x.synonyms),
                "parent": x.parent,
                **({} if counts is None else {"rows": counts.get(x.id, 0)}),
            }
            for x in found
        ],
        **(
            {}
            if counts is None
            else {"unknown": {k: n for k, n in counts.items() if k not in found.ids}}
        ),
    }
