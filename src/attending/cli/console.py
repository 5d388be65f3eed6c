"""Where a verb writes: results on standard output, everything else on standard error.

On a terminal, lines are wrapped to its width and lightly coloured; elsewhere every line stays
whole, so that it can be searched and cut.
"""

import json
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Level = Literal["error", "warning", "note"]
_STYLES: dict[str, str] = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_HEAD = re.compile(r"\s*(?:(?:error|warning|note):?\s+)?")
_UNBOUNDED = 100_000
_NARROWEST = 40


def visible(text: str) -> str:
    """Return a text that can't steer a terminal: control characters are shown by their code."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" or (c.isspace() and c > "\x7f") else ascii(c)[1:-1]
        for c in text
    )


class Screen:
    """Standard output and standard error of one verb.

    Args:
        machine: Whether the verb prints JSON: then ``show`` writes to standard error instead.
    """

    def __init__(self, machine: bool = False) -> None:
        self.out = _console(stderr=machine)
        self.err = _console(stderr=True)

    def show(self, *lines: "RenderableType") -> None:
        """Write results: lines, tables, or nothing for an empty line."""
        _write(self.out, lines)

    def commands(self, *lines: str) -> None:
        """Write commands to type next; they are never broken, so that they can be copied."""
        for line in lines:
            self.out.print(visible(line), soft_wrap=True)

    def say(self, *lines: "RenderableType") -> None:
        """Write what a person may want to know on the way."""
        _write(self.err, lines)

    def tell(self, level: Level, message: str) -> None:
        """Write a warning or a note, one line."""
        from rich.text import Text

        _write(self.err, [Text.assemble((f"{level}: ", _STYLES[level]), visible(message))])

    def tell_all(self, level: Level, messages: Iterable[str]) -> None:
        """Write several warnings or notes."""
        for message in messages:
            self.tell(level, message)

    def data(self, value: Any) -> None:
        """Write a value as JSON on standard output."""
        body = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        sys.stdout.write(body + "\n")


def last_line(message: str, *, error: bool = True) -> None:
    """Write the one line that a run ends with, however narrow the terminal."""
    from rich.text import Text

    head = ("error: ", _STYLES["error"]) if error else ""
    text = Text.assemble(head, " ".join(visible(message).split()))
    _console(stderr=True).print(text, soft_wrap=True)


def heading(text: str) -> "RenderableType":
    """Return a line that stands out."""
    from rich.text import Text

    return Text(visible(text), style="bold")


def _console(*, stderr: bool) -> "Console":
    from rich import console

    class Console(console.Console):
        """A console that leaves a closed output to the one place that ends a run."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = _UNBOUNDED
    return made


def _write(console: "Console", lines: Iterable["RenderableType"]) -> None:
    from rich.text import Text

    for line in lines or [""]:
        if not isinstance(line, str | Text):
            _write_table(console, line)
            continue
        text = line if isinstance(line, Text) else Text(visible(line))
        for part in _wrapped(text, console):
            console.print(part, soft_wrap=True)


def _write_table(console: "Console", table: "RenderableType") -> None:
    """Write a table; without the blanks that fill its last column up, where they would be kept."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), soft_wrap=True)


def _wrapped(text: "Text", console: "Console") -> Iterable["Text"]:
    """Wrap a line at blanks; what goes on in the next lines stands under its first word."""
    head = _HEAD.match(text.plain)
    indent = head.end() if head else 0
    if console.width >= _UNBOUNDED or console.width < indent + _NARROWEST:
        return [text]
    lines = text[indent:].wrap(console, console.width - indent)
    for number, line in enumerate(lines):
        if number:
            line.pad_left(indent)
        else:
            lines[number] = text[:indent] + line
    return lines
