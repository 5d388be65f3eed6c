"""How a run of the command line ends: exit codes, and one line for whatever went wrong.

0: done. 1: ``check`` found errors, or Attending itself failed. 2: bad input. 130: stopped by the
user. 141: the reader of the output went away.
"""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from attending.cli.console import last_line
from attending.cli.quiet import quiet
from attending.errors import AttendingError, TrainingInterrupted

FAILED, BAD_INPUT, STOPPED, NO_READER = 1, 2, 130, 141
DEBUG = "--debug"
# typer keeps its own copy of click since 0.26 and used the package before; its public errors lead
# to the right classes in both.
UsageError: Any = typer.BadParameter.__bases__[0]
_PACKAGE = Path(__file__).parent.parent


class Stopped(Exception):
    """A run that ends early without fault, with its exit code and a line or nothing to say."""

    def __init__(self, code: int, line: str | None = None) -> None:
        super().__init__(line or "")
        self.code, self.line = code, line


def guarded(invoke: Callable[[], Any]) -> Any:
    """Run a verb; turn Ctrl-C and a closed output into ``Stopped`` before typer sees them."""
    try:
        result = invoke()
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise Stopped(STOPPED, "Stopped. Run the same command again to start anew.") from None
    except BrokenPipeError:
        raise Stopped(NO_READER) from None
    return result


def run(call: Callable[[], Any], debug: bool) -> int:
    """Run the command line and return its exit code; nothing gets past this."""
    try:
        if debug:
            return _code(call())
        with quiet():
            return _code(call())
    except Exception as error:
        if debug and not isinstance(error, Stopped | UsageError):
            traceback.print_exc()
        return _explain(error)


def _code(result: Any) -> int:
    return result if isinstance(result, int) else 0


def _explain(error: Exception) -> int:
    """Write the one line that an error deserves, and return the exit code."""
    if isinstance(error, Stopped):
        if error.code == NO_READER:
            # What is left in the buffer has nowhere to go; flushing it at exit would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        elif error.line:
            last_line(error.line, error=False)
        return error.code
    if isinstance(error, TrainingInterrupted):
        last_line(str(error), error=False)
        return STOPPED
    if isinstance(error, AttendingError):
        last_line(str(error))
        return BAD_INPUT
    if type(error).__name__ == "NoArgsIsHelpError":
        return 0  # the help page was shown
    if isinstance(error, UsageError):
        last_line(_usage(error))
        return BAD_INPUT
    last_line(_unexpected(error))
    return FAILED


def _usage(error: Any) -> str:
    message = error.format_message().replace("Value error, ", "").rstrip(". ")
    message += "" if message.endswith("?") else "."
    context = getattr(error, "ctx", None)
    help_page = f"{context.command_path if context else 'attending'} --help"
    return f"{message} See: {help_page}"


def _unexpected(error: Exception) -> str:
    """Name the error without its message, which may hold the text of a document."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}."
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(own[-1].filename).stem} line {own[-1].lineno}" if own else ""
    return (
        f"unexpected {type(error).__name__}{place}: a fault of Attending or of a library. "
        f"{DEBUG} shows the traceback, which may hold text of a document: read it before you "
        "pass it on."
    )
