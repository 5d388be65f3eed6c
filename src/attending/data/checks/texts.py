"""Checks of texts alone: unreadable rows, empty and damaged texts, missing columns."""

from collections.abc import Callable, Iterator

from attending.data.checks.findings import Finding, Place, singles
from attending.data.corpora import Corpus
from attending.data.wording import plural
from attending.records import Document, is_blank

_C1 = frozenset(map(chr, range(0x80, 0xA0))) - {"\x85"}


def check_texts(corpus: Corpus) -> Iterator[Finding]:
    """Report on the rows of one corpus, one by one."""
    name = corpus.name
    for note in corpus.notes:
        yield Finding("reading", "note", note)
    yield from unreadable_rows(corpus)
    if not corpus.documents:
        yield Finding("no-documents", "error", f"{name} has no document that can be read")
        return
    yield from _bad_texts(corpus)
    yield from _missing(corpus, "group", [d for d in corpus if d.group is None])
    yield from _missing(corpus, "date", [d for d in corpus if d.when is None])


def unreadable_rows(corpus: Corpus) -> Iterator[Finding]:
    """Report the rows of a corpus that could not become documents, if there are any."""
    if not corpus.problems:
        return
    reasons: dict[str, int] = {}
    for problem in corpus.problems:
        reasons[problem.reason] = reasons.get(problem.reason, 0) + 1
    top = max(reasons, key=lambda reason: reasons[reason])
    yield Finding(
        "unreadable-rows",
        "warning",
        f"{plural(len(corpus.problems), 'row')} of {len(corpus.rows):,} in {corpus.name} can't be "
        f"read ({'' if len(reasons) == 1 else 'most often: '}{top})",
        {"rows": len(corpus.problems), "reasons": reasons},
        singles(Place.of(corpus.name, p) for p in corpus.problems),
    )


def _bad_texts(corpus: Corpus) -> Iterator[Finding]:
    kinds: tuple[tuple[str, Callable[[str], bool], str, str], ...] = (
        (
            "empty-texts",
            is_blank,
            "is empty or shows nothing (white space, zero-width characters)",
            "are empty or show nothing (white space, zero-width characters)",
        ),
        (
            "damaged-texts",
            _damaged,
            "holds characters that a wrong encoding leaves behind (U+FFFD, U+0080 to U+009F)",
            "hold characters that a wrong encoding leaves behind (U+FFFD, U+0080 to U+009F)",
        ),
    )
    for code, holds, one, several in kinds:
        found = [d for d in corpus if holds(d.text)]
        if found:
            yield Finding(
                code,
                "warning",
                f"{plural(len(found), 'text')} in {corpus.name} "
                f"{one if len(found) == 1 else several}",
                {"documents": len(found)},
                singles(Place.of(corpus.name, d) for d in found),
            )


def _damaged(text: str) -> bool:
    return not text.isascii() and ("\ufffd" in text or not _C1.isdisjoint(text))


def _missing(corpus: Corpus, role: str, found: list[Document]) -> Iterator[Finding]:
    """Report gaps in a column that is there; a column that isn't is no gap."""
    if found and len(found) < len(corpus):
        yield Finding(
            f"missing-{role}s",
            "note",
            f"{plural(len(found), 'document')} of {len(corpus):,} in {corpus.name} "
            f"{'has' if len(found) == 1 else 'have'} no {role}",
            {"documents": len(found)},
            singles(Place.of(corpus.name, d) for d in found),
        )
