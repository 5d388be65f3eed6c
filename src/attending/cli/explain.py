"""``attending explain``: a page and pictures of the words that drove a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options, spans
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.explain_spans import explain_tagger, refuse_word_options
from attending.cli.progress import Progress
from attending.cli.rows import tell_reading, unreadable_lines
from attending.cli.tables import facts, table
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.explain.faithfulness import Faithfulness
    from attending.explain.plausibility import Plausibility
    from attending.explain.rows import Explained
    from attending.models.base import Model
    from attending.records import Row

_MOST_LABELS = 50
"""A page of so many labels can show each message for every one."""


def explain(
    model: options.Model,
    file: spans.File,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PAGE.html",
            help="Page to write. [bold]It holds the text of the messages.[/]",
            rich_help_panel=options.OUTPUT,
        ),
    ],
    method: options.Method = None,
    labels: Annotated[
        Literal["predicted", "known", "all"],
        typer.Option(
            "--labels",
            metavar="predicted|known|all",
            help="Show the words for the labels predicted, for these and the row's own, or for "
            "every one.",
        ),
    ] = "predicted",
    limit: Annotated[
        int,
        typer.Option("--limit", min=0, metavar="N", help="First N rows only; 0: all of them."),
    ] = 100,
    ids: Annotated[
        str | None,
        typer.Option(
            "--ids", metavar="A,B", help="Just the rows with these ids.", show_default=False
        ),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(
            "--png",
            metavar="FILE",
            help="Picture of one message a label with its words shaded; of a few messages, a "
            "panel for each label, where they have several. With --ids, of those.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    tsne: Annotated[
        Path | None,
        typer.Option(
            "--tsne",
            metavar="FILE",
            help="Picture: a map of all documents as the model sees them, by label.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    faithfulness: Annotated[
        bool,
        typer.Option(
            "--faithfulness",
            help="Measure whether the words mattered to the model, beside random words, and "
            "whether they are those that people marked. Takes a while.",
        ),
    ] = False,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    source_format: spans.From = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show which words drove the model, as a page that needs no network.

    Which words count depends on the method; it is said on the page, with what it can't show. Of a
    tagger, the page shows the spans found, beside annotated ones where FILE has them.
    """
    from attending.explain.rows import draw_map, draw_words
    from attending.models.base import require_method
    from attending.models.store import load_model, load_tagger
    from attending.outputs import require_apart, require_new

    screen = Screen(json)
    outputs = [path for path in (out, png, tsne) if path is not None]
    require_apart(outputs, [file])
    for path in outputs:
        require_new(path, force=force)
    columns = Columns(text=text, label=label, id=id, where=where, encoding=encoding)
    how = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    if spans.is_tagger(model):
        refuse_word_options(
            model,
            {"--method": method, "--labels": labels != "predicted", "--png": png, "--tsne": tsne,
             "--faithfulness": faithfulness},
        )  # fmt: skip
        corpus = spans.load_texts(file, how, columns)
        tell_reading(screen, corpus)
        rows, total = _chosen(corpus, ids, limit), len(corpus.rows)
        tagger = load_tagger(model)
        explain_tagger(screen, tagger, rows, total, out, file, force=force, json=json)
        return
    loaded = load_model(model)
    method = require_method(method, loaded.methods, loaded.recipe.name)
    if labels == "all" and len(loaded.labels) > _MOST_LABELS:
        raise DataError(
            f"a page can't show the words for all of {len(loaded.labels):,} labels",
            allowed=f"up to {_MOST_LABELS}",
            step="Use --labels predicted, or known.",
        )
    corpus = spans.load_labelled(file, how, columns, f'model "{model}"', known=False)
    screen.say(*unreadable_lines(corpus.problems)) if corpus.problems else None
    rows = _chosen(corpus, ids, limit)
    shown = explain_told(screen, loaded, rows, method, labels)
    write_words(out, shown, loaded, Path(file).name, force)
    written = {"page": str(out)}
    if png is not None:
        pictured = _examples(screen, loaded, corpus, method) if ids is None else shown
        draw_words(png, pictured, loaded, force=force)
        written["png"] = str(png)
    if tsne is not None:
        draw_map(tsne, loaded, corpus.rows, force=force)
        written["tsne"] = str(tsne)
    measured = _measure(screen, loaded, shown) if faithfulness else None
    _conclude(screen, json, len(shown.rows), len(corpus.rows), method, written, measured)


def _chosen(corpus: "Corpus", ids: str | None, limit: int) -> Sequence["Row"]:
    """Return the rows to show.

    Raises:
        DataError: If there is no row with an id.
    """
    from attending.errors import nearest

    if ids is None:
        return corpus.rows[: limit or None]
    by_id: dict[str, list[Row]] = {}
    for row in corpus.rows:
        by_id.setdefault(row.id, []).append(row)
    wanted = [name.strip() for name in ids.split(",") if name.strip()]
    for name in wanted:
        if name not in by_id:
            raise DataError(
                f'no row has the id "{name}"', where=corpus.name,
                step=nearest(name, by_id).strip() or None,
            )  # fmt: skip
    return [row for name in wanted for row in by_id[name]]


def explain_told(
    screen: Screen,
    model: "Model",
    rows: Sequence["Row"],
    method: str | None = None,
    labels: Any = "predicted",
) -> "Explained":
    """Explain rows, telling how far it is."""
    from attending.explain.rows import explain_rows

    with Progress(screen, "explaining") as progress:
        return explain_rows(model, rows, method, labels, progress)


def write_words(path: Path, shown: "Explained", model: "Model", file: str, force: bool) -> None:
    """Write the page of explained rows."""
    from attending.explain.page import write_page
    from attending.explain.wording import caution

    method = shown.method
    write_page(
        path,
        shown.rows,
        shown.predictions,
        shown.words,
        model.labels,
        title=f"{model.recipe.name} on {file}",
        method=method,
        caution=caution(method),
        force=force,
    )


def _examples(screen: Screen, model: "Model", corpus: "Corpus", method: str) -> "Explained":
    """Explain one document a label; where no labels are known, one a predicted label."""
    from attending.explain.rows import pick_examples

    with Progress(screen, "choosing examples") as progress:
        chosen = pick_examples(model, corpus.rows, progress)
    return explain_told(screen, model, [corpus.rows[i] for i in chosen], method)


@dataclass(frozen=True, slots=True)
class Measured:
    """How faithful and how plausible an explanation is."""

    faithfulness: "Faithfulness"
    plausibility: "Plausibility"

    def to_dict(self) -> dict[str, Any]:
        """Return both for JSON."""
        return {
            "faithfulness": self.faithfulness.to_dict(),
            "plausibility": self.plausibility.to_dict(),
        }


def _measure(screen: Screen, model: "Model", shown: "Explained") -> Measured:
    from attending.explain.faithfulness import faithfulness
    from attending.explain.plausibility import plausibility, spans_of_labels

    with Progress(screen, "taking words away") as progress:
        faithful = faithfulness(
            model, shown.rows, shown.predictions, shown.words, progress=progress
        )
    plausible = plausibility(*spans_of_labels(shown.rows, shown.predictions, shown.words))
    return Measured(faithful, plausible)


def _conclude(
    screen: Screen,
    json: bool,
    shown: int,
    total: int,
    method: str,
    written: dict[str, str],
    measured: Measured | None,
) -> None:
    if json:
        body = {"rows": total, "shown": shown, "method": method, "written": written}
        screen.data(body | (measured.to_dict() if measured else {}))
        return
    part = f"{shown:,} of {total:,} rows" if shown < total else f"{total:,} rows"
    names = {"page": "page", "png": "picture", "tsne": "map"}
    screen.show(facts([
        ("rows", part + ("; --limit 0 takes all" if shown < total else "")),
        ("method", method),
        *((names[kind], path) for kind, path in written.items()),
    ]))  # fmt: skip
    if measured:
        screen.show("", *_measured_lines(measured))
    screen.tell("note", "page and picture hold the text of messages: handle them as patient data")


def _measured_lines(measured: Measured) -> list[Any]:
    """Return tables of faithfulness and plausibility with a line on how to read them."""
    faithful, plausible = measured.faithfulness, measured.plausibility
    explained, random = faithful.explained, faithful.random
    rows = []
    for name, better in (("comprehensiveness", "higher"), ("sufficiency", "lower")):
        a, b = getattr(explained, f"{name}_area"), getattr(random, f"{name}_area")
        rows.append([name, f"{a:.3f}", f"{b:.3f}", f"{a - b:+.3f}", f"{better} is better"])
    lines: list[Any] = [
        table(["", "these words", "random words", "difference", ""], rows, wide=(4,)),
        f"Mean drop of the predicted label's probability over {faithful.documents:,} documents "
        "when words are deleted (comprehensiveness) or only they are kept (sufficiency).",
    ]
    if plausible.mean is not None:
        mean = plausible.mean
        lines += [
            "",
            table(
                ["agreement with people", "precision", "recall", "F1", "ranking", "chance", "hits"],
                [["words", *(f"{v:.3f}" for v in (
                    mean.word_precision, mean.word_recall, mean.word_f1,
                    mean.average_precision, mean.chance, mean.hit,
                ))]],
            ),
            f"Over {plausible.documents:,} rightly given labels for which people marked words; "
            "ranking: average precision of the words' scores; hits: evidence with a marked word.",
        ]  # fmt: skip
    return lines
