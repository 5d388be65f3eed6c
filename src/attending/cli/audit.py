"""``attending audit``: whether the record of who did what is whole."""

from pathlib import Path
from typing import Annotated

import typer

from attending.cli import options
from attending.cli.console import Screen

verbs = typer.Typer(help="Check the audit of a service.", no_args_is_help=True)


@verbs.callback()
def start() -> None:
    """Keep ``verify`` a verb of its own."""


@verbs.command()
def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The audit.jsonl of a service.")
    ] = Path("attending-data/audit.jsonl"),
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="LINES:HASH",
            help="A head that you kept, as the service logs it; finds lines that were cut off.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Check that no line was changed, removed or put in."""
    from attending.serve.audit import verify as check

    found = check(file, head)
    screen = Screen(json)
    if json:
        screen.data({"lines": found.lines, "head": str(found)})
    else:
        screen.show(f"whole: {found.lines:,} lines", f"head: {found}")
