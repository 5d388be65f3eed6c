"""``attending keys``: who may ask a service."""

from pathlib import Path
from typing import Annotated

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.cli.tables import facts

verbs = typer.Typer(help="Make and remove keys of a service.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is: a system or a person.")]
File = Annotated[Path, typer.Option("--keys", metavar="FILE", help="The file of keys.")]
_FILE = Path("attending-keys.json")


@verbs.command()
def add(name: Name, keys: File = _FILE, json: options.Json = False) -> None:
    """Make a key and print it, once: only its hash is kept.

    It counts from the next request on, also for a service that runs already.
    """
    from attending.serve.keys import Keys

    secret = Keys(keys).add(name)
    screen = Screen(json)
    if json:
        screen.data({"name": name, "key": secret})
        return
    screen.commands(secret)
    screen.say(f"Keep it now, it is shown only once. Send it as: Authorization: Bearer {'KEY'}")


@verbs.command("list")
def list_(keys: File = _FILE, json: options.Json = False) -> None:
    """List whose keys there are, and since when."""
    from attending.serve.keys import Keys

    known = Keys(keys).all()
    screen = Screen(json)
    if json:
        screen.data([{"name": key.name, "since": key.since} for key in known])
    elif known:
        screen.show(facts([(key.name, f"since {key.since}") for key in known]))
    else:
        screen.say("there are no keys")


@verbs.command()
def remove(name: Name, keys: File = _FILE) -> None:
    """Make a key worthless from the next request on."""
    from attending.serve.keys import Keys

    Keys(keys).remove(name)
    Screen().say(f"removed: {name}")
