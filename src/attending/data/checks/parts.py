"""Checks of a file that a column divides into parts: what is in none of them."""

from collections.abc import Iterator, Mapping

from attending.data.checks.findings import Finding, Place, singles
from attending.data.checks.texts import unreadable_rows
from attending.data.corpora import Corpus
from attending.data.wording import plural


def check_division(corpus: Corpus, column: str, parts: Mapping[str, Corpus]) -> Iterator[Finding]:
    """Report the rows of a corpus that are in none of its parts.

    Args:
        corpus: The whole, with the rows that can't be read.
        column: What divides it.
        parts: Its parts by the column's values, as ``Corpus.parts`` returns them.
    """
    yield from unreadable_rows(corpus)
    held = {id(document) for part in parts.values() for document in part}
    left = [document for document in corpus if id(document) not in held]
    if left:
        yield Finding(
            "rows-without-part",
            "warning",
            f"{plural(len(left), 'document')} of {len(corpus):,} in {corpus.name} "
            f'{"has" if len(left) == 1 else "have"} no value in "{column}": in no part',
            {"documents": len(left)},
            singles(Place.of(corpus.name, d) for d in left),
        )
