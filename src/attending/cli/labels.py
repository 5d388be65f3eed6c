"""``attending labels``: build label sets from code systems, and look at what they say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen, heading
from attending.cli.tables import facts, table
from attending.errors import LabelError

if TYPE_CHECKING:
    from attending.records import Label, LabelSet

verbs = typer.Typer(
    help="Build a label file from a code system; look at one: meaning, parents, examples.",
    no_args_is_help=True,
)


@verbs.callback()
def labels() -> None:
    """Build a label file from a code system; look at one: meaning, parents, examples."""


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
    tree: Annotated[
        str | None,
        typer.Option(
            "--tree",
            metavar="ID",
            help="Show only this label with all that is above and below it.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=0, metavar="N", help="Labels shown; 0 for all of them.")
    ] = 40,
    text: options.Text = None,
    label: options.Label = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    input_format: options.InputFormat = None,
    json: options.Json = False,
) -> None:
    """Show the labels in order, with their meaning and, for a file, how many rows carry each."""
    from attending.data.labels import load_labels

    screen = Screen(json)
    path = Path(file)
    inside = [path / name for name in ("labels.toml", "labels.jsonl") if (path / name).is_file()]
    found = load_labels(inside[0] if inside else file)
    counts: dict[str, int] | None = None
    if data is not None:
        columns = Columns(
            text=text, label=label, where=where, encoding=encoding,
            label_separator=label_separator, input_format=input_format,
        )  # fmt: skip
        counts = columns.load(data).label_counts
    if json:
        screen.data(_machine(found, counts))
        return
    if tree is not None:
        screen.show(*_tree(found, tree))
        return
    _page(screen, found, counts, most)


def _page(screen: Screen, found: "LabelSet", counts: dict[str, int] | None, most: int) -> None:
    from attending.data.checks.label_set import check_label_set
    from attending.data.wording import plural, shown_label, some

    order = "from least to most" if found.ordered else "in no order"
    screen.show(heading(f"{found.name}: {plural(len(found), 'label')}, {order}"))
    screen.show(facts([("with", ", ".join(_holdings(found)) or "nothing but ids")]))
    heads = ["label", *(["rows"] if counts is not None else []), "keywords", "description"]
    shown = found.labels[: most or None]
    rows = [
        [
            x.id if x.name == x.id else f"{x.id} ({x.name})",
            *([f"{counts.get(x.id, 0):,}"] if counts is not None else []),
            ", ".join(x.keywords) or "–",
            x.description or "–",
        ]
        for x in shown
    ]
    screen.show(table(heads, rows, wide=(len(heads) - 2, len(heads) - 1)))
    if len(shown) < len(found):
        screen.show(f"and {plural(len(found) - len(shown), 'more label')} (--most 0 shows all)")
    for finding in check_label_set(found):
        screen.tell("warning" if finding.severity == "warning" else "note", finding.message)
    known = frozenset(found.ids)
    strange = {x: n for x, n in (counts or {}).items() if x not in known}
    if len(strange) > most > 0:
        names = some([shown_label(x) for x in strange])
        screen.tell("warning", f"{plural(len(strange), 'label')} not in the label set: {names}")
        return
    for name, n in strange.items():
        screen.tell(
            "warning", f"label {shown_label(name)} ({plural(n, 'row')}) is not in the label set"
        )


def _holdings(found: "LabelSet") -> list[str]:
    """Say how many labels have a description, keywords, synonyms and parents."""
    counts = _counts(found)
    held = [
        f"{counts[key]:,} {noun}"
        for key, noun in (
            ("described", "descriptions"),
            ("with_keywords", "with keywords"),
            ("with_synonyms", "with synonyms"),
            ("with_parents", "with a parent"),
        )
        if counts[key]
    ]
    if counts["broader"]:
        held.append(f"{counts['broader']:,} broader ones above")
    return [*held, f"{counts['depth']} levels"] if counts["depth"] > 1 else held


def _counts(found: "LabelSet") -> dict[str, int]:
    return {
        "labels": len(found),
        "described": sum(bool(x.description) for x in found),
        "with_keywords": sum(bool(x.keywords) for x in found),
        "with_synonyms": sum(bool(x.synonyms) for x in found),
        "with_parents": sum(x.parent is not None for x in found),
        "broader": len(found.broader),
        "depth": 1 + max(len(found.ancestors(x.id)) for x in found),
    }


def _tree(found: "LabelSet", wanted: str) -> list[str]:
    """Return lines for a label, its ancestors above it and its descendants below it."""
    every = (*found.broader, *found.labels)
    known = {x.id: x for x in every}
    if wanted not in known:
        found.position(wanted)
    below: dict[str, list[Label]] = {}
    for x in every:
        if x.parent is not None:
            below.setdefault(x.parent, []).append(x)
    lines: list[str] = []
    for depth, above in enumerate(reversed(found.ancestors(wanted))):
        lines.append(_branch(above, depth))
    stack = [(known[wanted], len(lines))]
    while stack:
        at, depth = stack.pop()
        lines.append(_branch(at, depth) + ("  <" if at.id == wanted else ""))
        stack += [(x, depth + 1) for x in reversed(below.get(at.id, []))]
    return lines


def _branch(label: "Label", depth: int) -> str:
    name = label.description or (label.name if label.name != label.id else "")
    return f"{'  ' * depth}{label.id}  {name}".rstrip()


def _machine(found: "LabelSet", counts: dict[str, int] | None) -> dict[str, object]:
    def row(x: "Label") -> dict[str, Any]:
        return {
            "id": x.id,
            "name": x.name,
            "description": x.description,
            "keywords": list(x.keywords),
            "synonyms": list(x.synonyms),
            "parent": x.parent,
        }

    body: dict[str, object] = {
        "name": found.name,
        "ordered": found.ordered,
        "hash": found.hash,
        "counts": _counts(found),
        "labels": [
            row(x) | ({} if counts is None else {"rows": counts.get(x.id, 0)}) for x in found
        ],
        "broader": [row(x) for x in found.broader],
    }
    if counts is not None:
        known = frozenset(found.ids)
        body["unknown"] = {k: n for k, n in counts.items() if k not in known}
    return body


@verbs.command("build")
def build(
    source: Annotated[
        Literal["icd10cm", "icd9", "icdo3", "table"],
        typer.Argument(
            metavar="SOURCE",
            help="[bold]icd10cm[/] (from the package of the extra icd, or a table), "
            "[bold]icd9[/], [bold]icdo3[/] (morphology) or any [bold]table[/] of codes.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Label file to write: .jsonl, .toml or .csv.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("labels.jsonl"),
    codes: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Your file of codes and descriptions: CSV, TSV, tab-separated .txt, JSON lines.",
            show_default=False,
        ),
    ] = None,
    code: Annotated[
        str | None,
        typer.Option(
            "--code", metavar="COLUMN", help="The table's column of the code.", show_default=False
        ),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            metavar="COLUMN",
            help="Its column of the description.",
            show_default=False,
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            "--parent",
            metavar="COLUMN",
            help="Its column of the broader code; without it, by the code's beginning.",
            show_default=False,
        ),
    ] = None,
    synonyms: Annotated[
        str | None,
        typer.Option(
            "--synonyms",
            metavar="COLUMN",
            help='Its column of other names, several set apart by "|".',
            show_default=False,
        ),
    ] = None,
    no_header: Annotated[
        bool,
        typer.Option(
            "--no-header",
            help="The table's first line is a code: columns are numbers from 1, the code the "
            "first, the description the second.",
        ),
    ] = False,
    table_encoding: Annotated[
        str, typer.Option("--table-encoding", metavar="NAME", help="How the table is stored.")
    ] = "utf-8",
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="FILE",
            help="Only the codes that this file of documents has, spelled as there.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        Literal["en", "es"],
        typer.Option(
            "--language",
            metavar="en|es",
            help="Language of the phrases for grades and behaviours of ICD-O.",
        ),
    ] = "en",
    no_parents: Annotated[
        bool, typer.Option("--no-parents", help="Leave out what the codes are kinds of.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the label set.", show_default=False),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    input_format: options.InputFormat = None,
    force: options.Force = False,
) -> None:
    """Write a label file with descriptions, synonyms and parents of codes.

    Of a code that the source doesn't list, the description is put together (ICD-O grades and
    behaviours) or a broader code's (ICD). Codes that stay without one are named.
    """
    from attending.data.coding.build import build_label_set
    from attending.data.labels import write_labels
    from attending.outputs import require_new

    screen = Screen()
    require_new(out, force=force)
    columns = Columns(
        text=text, label=label, where=where, encoding=encoding, label_separator=label_separator,
        input_format=input_format,
    )  # fmt: skip
    corpus = None if only is None else columns.load(only)
    if corpus is not None and not corpus.label_counts:
        raise LabelError("no document has a code", where=only, step="Name its column with --label.")
    made = build_label_set(
        source, table=codes, code=code, description=description, parent=parent, synonyms=synonyms,
        header=not no_header, encoding=table_encoding, only=corpus, parents=not no_parents,
        language=language, name=name,
    )  # fmt: skip
    write_labels(made.labels, out, force=force)
    for note in made.notes:
        lost = "without a description" in note or "left out" in note
        screen.tell("warning" if lost else "note", note)
    ways = (
        (made.listed, "listed"),
        (made.composed, "put together"),
        (made.inherited, "of a broader code"),
        (len(made.missing), "without"),
    )
    pairs = [
        ("labels", f"{out}: {len(made.labels):,}"),
        ("described", ", ".join(f"{n:,} {how}" for n, how in ways if n)),
        ("with", ", ".join(_holdings(made.labels))),
    ]
    screen.show(facts(pairs))
