"""``attending data mimic3`` and ``mimic4``: PhysioNet's files become a corpus and its labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.cli.tables import facts
from attending.errors import OutputError

if TYPE_CHECKING:
    from attending.data.mimic.releases import Admissions

Folder = Annotated[
    Path,
    typer.Option("--path", metavar="DIR", help="Folder of PhysioNet's files.", show_default=False),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for the corpus and its label file.",
        rich_help_panel=options.OUTPUT,
    ),
]
Codes = Annotated[
    Literal["both", "diagnoses", "procedures"],
    typer.Option("--codes", metavar="both|diagnoses|procedures", help="Which codes are labels."),
]
Splits = Annotated[
    Path | None,
    typer.Option(
        "--splits",
        metavar="PATH",
        help="Published split: a folder of id lists, or a table with columns of ids and split.",
        show_default=False,
    ),
]
Set = Annotated[
    str | None,
    typer.Option(
        "--set",
        metavar="NAME",
        help="Which of several sets of lists in that folder: full, 50, rare50.",
        show_default=False,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=1,
        help="Keep the N codes that most training documents have (all documents, without a split).",
        show_default=False,
    ),
]


def mimic3(
    path: Folder,
    out: Out = Path("mimic3"),
    codes: Codes = "both",
    splits: Splits = None,
    set: Set = None,
    top: Top = None,
    force: options.Force = False,
) -> None:
    """Make a corpus of MIMIC-III's discharge summaries and ICD-9 codes."""
    from attending.data.mimic.releases import read_mimic3

    _write(read_mimic3(path, codes), out, splits, set, top, force)


def mimic4(
    path: Folder,
    out: Out = Path("mimic4"),
    notes: Annotated[
        Path | None,
        typer.Option(
            "--notes",
            metavar="DIR",
            help="Folder of MIMIC-IV-Note, if it is another one.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[int, typer.Option("--icd", metavar="9|10", help="Which ICD revision.")] = 10,
    codes: Codes = "both",
    splits: Splits = None,
    set: Set = None,
    top: Top = None,
    force: options.Force = False,
) -> None:
    """Make a corpus of MIMIC-IV's discharge summaries and ICD-9 or ICD-10 codes."""
    from attending.data.mimic.releases import read_mimic4

    read = read_mimic4(path, notes=notes, version=version, kinds=codes)
    _write(read, out, splits, set, top, force)


def _write(
    read: "Admissions",
    out: Path,
    splits: Path | None,
    name: str | None,
    top: int | None,
    force: bool,
) -> None:
    from attending.data.labels import write_labels
    from attending.data.mimic.splits import most_frequent, part, read_splits
    from attending.data.wording import plural
    from attending.data.writers import write_documents
    from attending.records import LabelSet

    screen, notes = Screen(), list(read.notes)
    parts = {"all": read.documents}
    if splits is not None:
        made = part(read.documents, read_splits(splits, name))
        parts, notes = dict(made.parts), [*notes, *made.notes]
    if top is not None:
        training = parts.get("train", read.documents)
        for own, documents in parts.items():
            kept, fallen = most_frequent(documents, training, top)
            parts[own] = tuple(kept)
            if fallen:
                notes.append(f"{own}: documents with none of the {top} codes, left out: {fallen:,}")
    used = {code for documents in parts.values() for d in documents for code in d.labels or ()}
    labels = LabelSet(tuple(x for x in read.labels if x.id in used), name=read.labels.name)
    files = {own: out / f"{own}.jsonl.gz" for own in parts}
    for file in (*files.values(), out / "labels.jsonl"):
        if file.exists() and not force:
            raise OutputError("the file exists already", where=str(file), step="Pass --force.")
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for own, documents in parts.items():
        write_documents(documents, files[own], force=force)
        rows.append((own, f"{files[own]}: {plural(len(documents), 'document')}"))
    write_labels(labels, out / "labels.jsonl", force=force)
    rows.append(("labels", f"{out / 'labels.jsonl'}: {len(labels):,} codes"))
    screen.tell_all("note", notes)
    screen.show(facts(rows))
