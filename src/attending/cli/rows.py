"""Rows that could not be read, and findings, in short lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attending.cli.console import Screen
    from attending.data.check import CheckReport
    from attending.data.corpora import Corpus
    from attending.records import Unreadable

_SHOWN = 10


def tell_reading(screen: "Screen", corpus: "Corpus") -> None:
    """Tell what is to be known of a file that was read: its notes, then rows that can't be read."""
    screen.tell_all("note", corpus.notes)
    screen.say(*unreadable_lines(corpus.problems)) if corpus.problems else None


def unreadable_lines(problems: Sequence["Unreadable"]) -> Iterator[str]:
    """Yield one line that counts unreadable rows, and one for each of the first ten."""
    from attending.data.wording import plural

    if not problems:
        return
    yield f"{plural(len(problems), 'row')} can't be read:"
    for row in problems[:_SHOWN]:
        yield f"  {row.source or row.id}: {row.reason}"
    if len(problems) > _SHOWN:
        yield f"  and {len(problems) - _SHOWN:,} more"


def line_numbers(lines: Iterable[int]) -> str:
    """Return line numbers in words: ``line 7``, ``lines 7, 9, 12 and 4 more``."""
    from attending.data.wording import some

    numbers = sorted(lines)
    return f"line{'' if len(numbers) == 1 else 's'} {some(numbers, _SHOWN)}"


def findings_in_short(
    report: "CheckReport", without: Sequence[str] = (), mild: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield severity and message of what matters before training: errors first, no notes.

    ``without`` names kinds of findings to leave out, ``mild`` kinds that are warnings here.
    """
    for severity in ("error", "warning"):
        for finding in report.findings:
            if finding.severity == severity and finding.code not in without:
                level = "warning" if finding.code in mild else severity
                yield level, f"{finding.message} [{finding.code}]"


def counts_in_words(counts: Mapping[str, int], most: int = 12) -> str:
    """Return counts by label: ``urgent: 170, medium: 955``; of many labels, the first ones."""
    from attending.data.wording import some

    return some([f"{label}: {count:,}" for label, count in counts.items()], most)
