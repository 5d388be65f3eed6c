"""The page of all verbs and options, written from the command line itself.

    python -m attending.cli.reference > docs/cli.md

A test fails when the page differs from what this writes.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from attending.cli.app import app
from attending.cli.options import COLUMNS

_HEAD = """\
# Command line

Every verb says more with `--help`. This page is written from the verbs themselves.

Results go to standard output; progress, notes and warnings go to standard error. On a terminal
there is a progress bar with the time left, elsewhere a plain line now and then. Nothing is
overwritten without `--force`. Verbs that print results print JSON with `--json`.

| Exit code | Meaning |
| --- | --- |
| 0 | done |
| 1 | `check` found errors, cells of a `study` failed, or Attending itself failed |
| 2 | bad input: one line says what, where, and what to do |
| 130 | stopped with Ctrl-C; a `train`, `distil`, `pretrain`, `study` or `score` goes on |

A line of error never holds the text of a document. `--debug`, behind any verb, shows the whole
traceback and the warnings of libraries, and these may: read them before you pass them on.
"""

_COLUMNS = """\
Columns that aren't named are found by [their usual names](data.md#columns). Conditions choose
rows: `--where year=2023 --where clinic=north`.
"""

_EXAMPLES = {
    "demo": ["attending demo --out attending-demo"],
    "doctor": ["attending doctor"],
    "cascade": [
        "attending cascade quick small messages.csv --out both",
        "attending cascade quick small unlabelled.csv --out both --changed 0.01",
    ],
    "check": [
        "attending check messages.csv --labels labels.toml",
        "attending check train.csv test.csv --text body --label urgency",
    ],
    "data portal": ["attending data portal --out messages.csv"],
    "data convert": [
        "attending data convert letters.csv letters.jsonl --encoding cp1252",
        "attending data convert notes notes.conll",
    ],
    "data mimic3": [
        "attending data mimic3 --path mimic-iii --splits lists --set full --out mimic3"
    ],
    "data mimic4": ["attending data mimic4 --path mimic-iv --notes mimic-iv-note --out mimic4"],
    "data split": ["attending data split messages.csv --out parts --by group --test 0.3"],
    "relevance": ["attending relevance letters.csv --labels codes.jsonl --only C34.9"],
    "labels build": [
        "attending labels build icd10cm --only letters.csv --label codes --out codes.jsonl",
        "attending labels build icdo3 --table morphology.csv --language es --out icdo3.jsonl",
    ],
    "labels show": ["attending labels show labels.toml --data messages.csv"],
    "pretrain": [
        "attending pretrain letters.csv more.jsonl --out our-encoder",
        "attending pretrain notes.csv --encoder ./our-bert --epochs 1 --out our-encoder",
    ],
    "train": [
        "attending train messages.csv --labels labels.toml --holdout 0.2 --out model",
        "attending train messages.csv --labels labels.toml --seeds 5 --out models",
        "attending train messages.csv --recipe tfidf-svm --set estimator.alpha=1e-4 --out svm",
        "attending train notes --recipe atl-ner --holdout 0.2 --out tagger",
        "attending train train.conll --dev dev.conll --recipe encoder-crf-ner --out tagger",
    ],
    "distil": [
        "attending distil model messages.csv --layers 3 --out student",
        "attending distil models messages.csv --recipe distil-bert-6 --transfer inbox.csv --out s",
    ],
    "export": [
        "attending export model --out small --int8 --rows messages.csv",
    ],
    "evaluate": [
        "attending evaluate model messages.csv",
        "attending evaluate model test.csv --out report",
        "attending evaluate tagger test.conll --out report --spans-page",
    ],
    "decide": [
        "attending decide model development.csv --recall-floor urgent=0.95 --abstain share=0.1",
        "attending decide model development.csv --recall-floor none --dry-run",
    ],
    "score": [
        "attending score january.csv february.parquet --model model --out scored",
        "attending score messages.parquet --model model --out scored --engine ray",
    ],
    "predict": [
        "attending predict model new.csv --out predictions.jsonl --evidence",
        "cat new.jsonl | attending predict model - --out -",
        "attending predict model inbox.json --out tasks.json --fhir R4",
        "attending predict tagger new-notes --out found --format brat",
    ],
    "study": [
        "attending study triage.toml --out study --dry-run",
        "attending study triage.toml --out study",
    ],
    "explain": [
        "attending explain model test.csv --out words.html --png words.png --tsne map.png",
        "attending explain tagger notes --out spans.html",
    ],
    "corrections export": [
        "attending corrections export --database attending-data/inbox.sqlite --out reviewed.jsonl",
    ],
    "serve": [
        "attending serve model",
        "attending serve model --host 0.0.0.0 --keys attending-keys.json --retention 90",
    ],
    "keys add": ["attending keys add record-system"],
    "keys list": ["attending keys list"],
    "keys remove": ["attending keys remove record-system"],
    "audit verify": ["attending audit verify attending-data/audit.jsonl"],
    "recipes": ["attending recipes"],
    "recipes show": ["attending recipes show lesa-bert > mine.toml"],
    "recipes settings": ["attending recipes settings training"],
}


def page() -> str:
    """Return the page as Markdown."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="attending")
    lines = [_HEAD]
    for name, verb in command.commands.items():
        lines += _verb(name, verb, context)
    lines += _columns(command.commands["train"].params)
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page to standard output."""
    sys.stdout.write(page())


def _verb(name: str, verb: Any, parent: Any, level: int = 2) -> Iterator[str]:
    """Yield the section of a verb, and those of the verbs below it."""
    context = verb.context_class(verb, info_name=name, parent=parent)
    path = context.command_path.removeprefix("attending ")
    yield f"{'#' * level} {path}"
    yield ""
    yield _plain(verb.help)
    yield ""
    if path in _EXAMPLES:
        yield "```console"
        yield from (f"$ {example}" for example in _EXAMPLES[path])
        yield "```"
        yield ""
    yield from _parameters([p for p in verb.params if not getattr(p, "hidden", False)])
    for below, one in getattr(verb, "commands", {}).items():
        yield from _verb(below, one, context, level + 1)


def _parameters(parameters: list[Any]) -> Iterator[str]:
    """Yield a table of arguments, one of options, and the names of the columns' options."""
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    if arguments:
        yield "| Argument | Meaning |"
        yield "| --- | --- |"
        yield from (f"| `{p.metavar}` | {_plain(p.help)} |" for p in arguments)
        yield ""
    own = [p for p in options if p.rich_help_panel != COLUMNS]
    if own:
        yield from _options(own)
    columns = [f"`{p.opts[0]}`" for p in options if p.rich_help_panel == COLUMNS]
    if columns:
        yield f"And [what the columns are](#columns): {', '.join(columns)}."
        yield ""


def _columns(parameters: list[Any]) -> Iterator[str]:
    """Yield the section on the options that name columns, which most verbs share."""
    yield "## Columns"
    yield ""
    yield _COLUMNS
    yield from _options([p for p in parameters if getattr(p, "rich_help_panel", "") == COLUMNS])


def _options(options: list[Any]) -> Iterator[str]:
    yield "| Option | Default | Meaning |"
    yield "| --- | --- | --- |"
    yield from (f"| {_spelled(p)} | {_default(p)} | {_plain(p.help)} |" for p in options)
    yield ""


def _spelled(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {option.metavar}"
    return ", ".join(f"`{name}{value}`" for name in names).replace("|", "\\|")


def _default(option: Any) -> str:
    if option.required:
        return "required"
    silent = option.default is None or option.is_flag or not option.show_default
    return "" if silent else f"`{option.default}`"


def _plain(text: str | None) -> str:
    """Return a help text as Markdown: a word that is bold on the screen is code here."""
    marked = re.sub(r"\[bold\]([^.]+?)\[/\]", r"`\1`", text or "")
    marked = re.sub(r"\[bold\](.+?)\[/\]", r"**\1**", marked)
    return " ".join(marked.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
