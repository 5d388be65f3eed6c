"""``attending corrections``: what people corrected in the inbox, as training rows."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.records import Document
    from attending.serve.entries import Reviewed

verbs = typer.Typer(
    name="corrections",
    help="Labels that people gave in the inbox, as rows to train on.",
    no_args_is_help=True,
)


@verbs.callback()
def start() -> None:
    """Labels that people gave in the inbox, as rows to train on."""


@verbs.command()
def export(
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="URL",
            help="Database of the inbox: a SQLite file, or postgresql://user:password@host/name.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="CSV, TSV or JSON lines to write. [bold]It holds the text of the messages.[/]",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Only corrections made since: a date, or a time, in ISO 8601.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write every message whose label a person corrected or confirmed, for [bold]train[/].

    A row has id, text and label, patient (group) and date where they are known, and what the
    model said, who reviewed it and when. Corrections that were taken back are left out.
    """
    from attending.data.writers import write_documents
    from attending.outputs import require_new
    from attending.serve.store import Store

    screen = Screen(json)
    require_new(out, force=force)
    moment = _moment(since) if since else None
    store = Store(database, create=False)
    try:
        found = store.corrections(moment)
    finally:
        store.close()
    if not found:
        raise DataError(
            "there are no corrections to export",
            where="the inbox",
            found=f"none since {since}" if since else None,
            step="Correct or confirm labels in the inbox first.",
        )
    write_documents([_row(reviewed) for reviewed in found], out, force=force)
    changed = sum(set(r.predicted) != set(r.change.labels) for r in found)
    if json:
        screen.data({"rows": len(found), "changed": changed, "written": str(out)})
        return
    screen.say(f"{len(found):,} rows written to {out}; the model had {changed:,} of them wrong.")
    screen.tell("warning", "the file holds messages: handle them as patient data")


def _row(reviewed: "Reviewed") -> "Document":
    from dataclasses import replace

    change = reviewed.change
    known = {
        "predicted": ", ".join(reviewed.predicted),
        "reviewer": change.reviewer,
        "reviewed_at": change.made_at.isoformat(timespec="seconds"),
        "reviewer_note": change.note,
        "inbox_message": reviewed.message,
    }
    return replace(reviewed.document, attributes={k: v for k, v in known.items() if v is not None})


def _moment(text: str) -> datetime:
    """Read a moment; one without a zone is one of this machine's zone.

    Raises:
        DataError: If it is none.
    """
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise DataError(
            "--since is no date", found=text[:40], allowed="ISO 8601, such as 2026-03-01"
        ) from None
