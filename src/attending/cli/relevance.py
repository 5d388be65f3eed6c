"""``attending relevance``: the words that speak for each label, before any model is trained."""

from pathlib import Path
from typing import Annotated

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.convert import tell_remarks
from attending.cli.tables import table

_SHOWN = 10
"""Labels that are shown where none is named: those with the most documents."""


def relevance(
    file: options.File,
    labels: options.Labels = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="LABEL",
            help="Show this label; may be given several times. Otherwise the ten most frequent.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=1, help="Words of a label to show.")
    ] = 12,
    descriptions: Annotated[
        bool,
        typer.Option(
            "--descriptions/--examples-only",
            help="Let the labels' own texts rank words, too, the more the fewer examples there "
            "are.",
        ),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write label, word, rank and score of all labels as CSV or TSV.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
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
    input_format: options.InputFormat = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Show the words that speak for each label in training rows.

    Words are ranked by the mutual information of their presence with the label's, divided by the
    joint entropy: 1 for a word that all documents of the label have and no other. This is what the
    recipe plant starts its attention from; give it training rows only.
    """
    from attending.data.labels import infer_labels, load_labels
    from attending.specs import PlantedScores
    from attending.training.planting import rank_words

    screen = Screen(json)
    corpus = Columns(
        text, label, id, group, date, where, encoding, None, label_separator, empty_labels,
        input_format,
    ).load(file)  # fmt: skip
    known = load_labels(labels) if labels is not None else infer_labels(corpus)
    tell_remarks(screen, corpus)
    spec = PlantedScores(descriptions=descriptions)
    ranked = rank_words(spec, corpus.documents, known)
    shown = [known[i].id for i in only] if only else _frequent(ranked.examples, known.ids)
    found = {
        i: [
            (ranked.index.words[w], float(s))
            for w, s in zip(*ranked.relevance.of(known.position(i)), strict=True)
        ]
        for i in (known.ids if out else shown)
    }
    if out is not None:
        _write(found, out, force)
    rows = []
    for i in shown:
        words = ", ".join(f"{word} {score:.2f}" for word, score in found[i][:top])
        rows.append((i, f"{ranked.examples[known.position(i)]:,}", words or "no word"))
    if json:
        screen.data({i: [{"word": w, "score": s} for w, s in found[i][:top]] for i in shown})
        return
    screen.show(table(("label", "documents", "words, with their relevance"), rows, wide=(2,)))
    if len(shown) < len(known) and not only:
        screen.tell("note", f"{len(known) - len(shown):,} more labels: --only, or --out")


def _frequent(examples: tuple[int, ...], ids: tuple[str, ...]) -> list[str]:
    order = sorted(range(len(ids)), key=lambda k: (-examples[k], k))
    return [ids[k] for k in order[:_SHOWN]]


def _write(found: dict[str, list[tuple[str, float]]], out: Path, force: bool) -> None:
    from attending.data.separated import write_separated
    from attending.outputs import new_file

    rows: list[list[str]] = [["label", "rank", "word", "score"]]
    for label, words in found.items():
        rows += [[label, str(n), w, f"{s:.6g}"] for n, (w, s) in enumerate(words, 1)]
    with new_file(out, force=force) as file:
        write_separated(rows, file, "\t" if out.suffix == ".tsv" else ",")
