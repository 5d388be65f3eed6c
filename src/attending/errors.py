"""One family of errors, each a single clear line.

Every error says what is wrong, where, what was found, what is allowed and what to do next. The
text of a document never enters an error: ids, line numbers, lengths and counts do.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class AttendingError(Exception):
    """Base of all errors that Attending raises on purpose.

    Args:
        what: What is wrong, in a few words.
        where: File and line, or the setting.
        found: What was found there.
        allowed: What would have been accepted.
        step: What to do next.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        allowed: str | None = None,
        step: str | None = None,
    ) -> None:
        self.what, self.where, self.found, self.allowed, self.step = (
            what,
            where,
            found,
            allowed,
            step,
        )
        super().__init__(self._line())

    def __reduce__(self) -> tuple[Any, ...]:
        # Keywords and another signature below would not survive a worker process otherwise.
        return _again, (type(self), str(self), vars(self))

    def _line(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        facts = []
        if self.found:
            facts.append(f"found {self.found}")
        if self.allowed:
            facts.append(f"allowed: {self.allowed}")
        line = f"{head} ({'; '.join(facts)})" if facts else head
        if not line.endswith((".", "?")):
            line += "."
        return " ".join(f"{line} {self.step}".split()) if self.step else " ".join(line.split())


def _again(kind: type[AttendingError], line: str, values: dict[str, Any]) -> AttendingError:
    error = kind.__new__(kind, line)
    error.args = (line,)
    vars(error).update(values)
    return error


class DataError(AttendingError):
    """A file of documents can't be read or used as asked."""


class LabelError(AttendingError):
    """A label is unknown, a label file is wrong, or two label sets differ."""


class RecipeError(AttendingError):
    """A recipe or an override of it is wrong."""


class EncoderError(AttendingError):
    """An encoder is missing, damaged or of a family that can't be used."""


class ModelError(AttendingError):
    """A model folder is missing, damaged or was changed."""


class OutputError(AttendingError):
    """An output exists already or can't be written."""


class ShapeError(AttendingError):
    """Tensors don't fit each other."""


class TrainingError(AttendingError):
    """Training can't start, go on or be resumed."""


class TrainingInterrupted(AttendingError):
    """Training was stopped by the user and can be resumed."""


class StudyError(AttendingError):
    """A study file is wrong, or a folder holds another study.

    Args:
        what: What is wrong, in a few words.
        faults: Every fault of the file, one line each.
        more: As of every error.
    """

    def __init__(self, what: str, *, faults: Iterable[str] = (), **more: str | None) -> None:
        self.faults = tuple(faults)
        super().__init__(what, **more)


class ServeError(AttendingError):
    """A service can't start or go on as asked."""


class QueueFull(ServeError):
    """More is waiting for the model than allowed.

    Args:
        what: What is wrong, in a few words.
        seconds: After how many seconds to ask again.
        more: As of every error.
    """

    def __init__(self, what: str, *, seconds: int = 1, **more: str | None) -> None:
        self.seconds = seconds
        super().__init__(what, **more)


class MissingExtra(AttendingError):
    """A part needs a package that isn't installed.

    Args:
        package: The package's import name.
        extra: The extra of ``attending`` that brings it.
        purpose: What needs it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed",
            step=f'Install it with: pip install "attending[{extra}]"',
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``' Did you mean "x"?'`` for the nearest known name, or an empty string."""
    hits = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f' Did you mean "{hits[0]}"?' if hits else ""
