"""What a code system can say of a code, whether its tables list the code or not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

How = Literal["listed", "composed", "inherited"]
"""Where a description comes from: the code's own row, put together from others, a broader code."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A code as a table lists it; ``parent`` and the texts may be missing."""

    code: str
    description: str = ""
    synonyms: tuple[str, ...] = ()
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code means, and how that is known."""

    description: str
    synonyms: tuple[str, ...]
    how: How


class CodeSystem(Protocol):
    """A code system: spelling, meaning and place of its codes.

    Codes are passed in the system's own spelling, as ``spelled`` returns it.
    """

    name: str

    @property
    def codes(self) -> Iterable[str]:
        """All codes that documents may carry, in the system's order."""
        ...

    def spelled(self, code: str) -> str:
        """Return a code in the system's own spelling; a corpus may write it in another."""
        ...

    def meaning(self, code: str) -> Meaning | None:
        """Return what a code means, or ``None`` if nothing is known of it."""
        ...

    def parent(self, code: str) -> str | None:
        """Return the next broader code, or ``None`` at the top."""
        ...


def own_meaning(entries: Mapping[str, Entry], code: str) -> Meaning | None:
    """Return what a code's own row says."""
    entry = entries.get(code)
    if entry is None or not entry.description:
        return None
    return Meaning(entry.description, entry.synonyms, "listed")


def nearest_prefix(entries: Mapping[str, Entry], code: str, shortest: int) -> str | None:
    """Return the longest listed code that a code begins with and is longer than."""
    for length in range(len(code) - 1, shortest - 1, -1):
        prefix = code[:length].rstrip(".")
        if len(prefix) >= shortest and prefix in entries:
            return prefix
    return None
