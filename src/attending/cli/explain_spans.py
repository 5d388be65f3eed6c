"""``attending explain`` for a tagger: the spans that it found, over the text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attending.cli.console import Screen
from attending.cli.progress import Progress
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.models.tagger import TaggerModel
    from attending.records import Row


def refuse_word_options(model: str, asked: Mapping[str, object]) -> None:
    """Refuse what is about the words behind a label: a tagger's page shows its spans.

    Args:
        model: The tagger's folder.
        asked: Option -> whether it was given.

    Raises:
        DataError: If one was given.
    """
    for option, given in asked.items():
        if given:
            raise DataError(
                f"{option} is about the words behind a label",
                found=f"{model}, which tags spans",
                step="Leave it out: the page shows the spans found, and annotated ones beside.",
            )


def explain_tagger(
    screen: Screen,
    model: "TaggerModel",
    rows: Sequence["Row"],
    total: int,
    out: Path,
    file: str,
    *,
    force: bool,
    json: bool,
) -> None:
    """Write a page of found spans over the texts, with annotated ones where there are any."""
    from attending.explain.spans_page import write_spans_page
    from attending.records import Document

    with Progress(screen, "predicting") as progress:
        predictions = model.predict(rows, progress=progress)
    known = any(isinstance(row, Document) and row.spans for row in rows)
    title = f"{model.recipe.name} on {Path(file).name}"
    write_spans_page(out, rows, predictions, model.labels, title=title, known=known, force=force)
    found = sum(len(p.spans or ()) for p in predictions)
    unread = sum(p.status != "ok" for p in predictions)
    if json:
        screen.data({"rows": total, "shown": len(rows), "unread": unread, "spans": found,
                     "annotated": known, "written": {"page": str(out)}})  # fmt: skip
        return
    part = f"{len(rows):,} of {total:,}" if len(rows) < total else f"{total:,}"
    beside = "found ones beside annotated ones" if known else "as found; none are annotated"
    screen.show(facts([
        ("documents", part + ("; --limit 0 takes all" if len(rows) < total else "")),
        *([("not read", f"{unread:,}")] if unread else []),
        ("spans", f"{found:,}, {beside}"),
        ("page", str(out)),
    ]))  # fmt: skip
    screen.tell("note", "the page holds the texts: handle it as patient data")
