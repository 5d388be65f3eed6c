"""The command line itself: verbs by name, and what holds for all of them."""

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from attending import __version__
from attending.cli.audit import verbs as audit_verbs
from attending.cli.cascade import cascade
from attending.cli.check import check
from attending.cli.corrections import verbs as corrections_verbs
from attending.cli.data import verbs as data_verbs
from attending.cli.decide import decide
from attending.cli.demo import demo
from attending.cli.distil import distil
from attending.cli.doctor import doctor
from attending.cli.evaluate import evaluate
from attending.cli.explain import explain
from attending.cli.export import export
from attending.cli.faults import DEBUG, guarded, run
from attending.cli.keys import verbs as keys_verbs
from attending.cli.labels import verbs as labels_verbs
from attending.cli.predict import predict
from attending.cli.pretrain import pretrain
from attending.cli.recipes import verbs as recipes_verbs
from attending.cli.relevance import relevance
from attending.cli.score import score
from attending.cli.serve import serve
from attending.cli.study import study
from attending.cli.train import train

_FIRST, _DATA, _MODELS = "First steps", "Your data", "Models"
_USE = "In use"


class Verbs(TyperGroup):
    """A group of verbs whose every run ends with an exit code and at most one line of error."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run; ``--debug`` may stand anywhere before ``--``."""
        given = list(sys.argv[1:] if args is None else args)
        end = given.index("--") if "--" in given else len(given)
        debug = DEBUG in given[:end]
        given = [word for word in given[:end] if word != DEBUG] + given[end:]

        def call() -> Any:
            return super(Verbs, self).main(
                given, prog_name or "attending", complete_var, False, windows_expand_args, **extra
            )

        code = run(call, debug)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was named."""
        return guarded(lambda: super(Verbs, self).invoke(ctx))


app = typer.Typer(
    name="attending",
    cls=Verbs,
    help="Learn to triage clinical text from small, imbalanced data, and show the words behind "
    "each decision.",
    epilog="Start with [bold]attending demo[/], or with your own file: "
    "[bold]attending check messages.csv[/].",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"attending {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            DEBUG,
            help="Show tracebacks and the warnings of libraries, which may hold text of a "
            "document. May stand behind any verb.",
        ),
    ] = False,
) -> None:
    """Show the help where no verb is named."""
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help())


def _add(verb: Callable[..., None], panel: str) -> None:
    """Add a verb; its docstring is its help, with lines joined to paragraphs."""
    page = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(verb) or "")
    app.command(verb.__name__, help=page, rich_help_panel=panel)(verb)


_add(demo, _FIRST)
_add(doctor, _FIRST)
_add(check, _DATA)
app.add_typer(data_verbs, name="data", rich_help_panel=_DATA)
app.add_typer(labels_verbs, name="labels", rich_help_panel=_DATA)
_add(relevance, _DATA)
_add(pretrain, _MODELS)
_add(train, _MODELS)
_add(distil, _MODELS)
_add(evaluate, _MODELS)
_add(decide, _MODELS)
_add(predict, _MODELS)
_add(score, _MODELS)
_add(explain, _MODELS)
_add(export, _MODELS)
_add(cascade, _MODELS)
_add(study, _MODELS)
app.add_typer(recipes_verbs, name="recipes", rich_help_panel=_MODELS)
_add(serve, _USE)
app.add_typer(keys_verbs, name="keys", rich_help_panel=_USE)
app.add_typer(corrections_verbs, name="corrections", rich_help_panel=_USE)
app.add_typer(audit_verbs, name="audit", rich_help_panel=_USE)


def main() -> None:
    """Run the command line on the words of this process."""
    app()
