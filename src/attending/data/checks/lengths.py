"""How long documents are, and how much of them a model would not read."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from attending.data.checks.findings import Finding, Lengths, Place, singles
from attending.data.corpora import Corpus
from attending.data.wording import plural

_BARS = 10
CountTokens = Callable[[Sequence[str]], Sequence[int]]


def measure(
    corpus: Corpus, count_tokens: CountTokens | None, max_tokens: int | None
) -> tuple[tuple[Lengths, ...], list[Finding]]:
    """Return the lengths of a corpus in words, and in tokens if they can be counted.

    Words are runs of characters without white space; tokens are what ``count_tokens`` counts.
    """
    if not corpus.documents:
        return (), []
    texts = [d.text for d in corpus.documents]
    found = [_lengths("words", [len(text.split()) for text in texts], None)]
    if count_tokens is None:
        return tuple(found), []
    counts = [int(count) for count in count_tokens(texts)]
    tokens = _lengths("tokens", counts, max_tokens)
    return (*found, tokens), list(_cut(corpus, counts, tokens))


def _lengths(unit: Literal["words", "tokens"], counts: Sequence[int], limit: int | None) -> Lengths:
    ordered = sorted(counts)
    total = sum(ordered)
    beyond = sum(max(0, count - limit) for count in ordered) if limit else 0
    middle = len(ordered) // 2
    median = (ordered[middle] + ordered[~middle]) / 2
    return Lengths(
        unit=unit,
        total=total,
        mean=total / len(ordered),
        median=median,
        p95=float(ordered[math.ceil(0.95 * len(ordered)) - 1]),
        largest=ordered[-1],
        histogram=_histogram(ordered),
        limit=limit,
        over=sum(count > limit for count in ordered) if limit else 0,
        unread=beyond / total if total else 0.0,
    )


def _histogram(ordered: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Count in at most ten equal steps of a round width; the last one takes the longest 1 %."""
    usual = ordered[math.ceil(0.99 * len(ordered)) - 1]
    width = _round_width((usual + 1) / _BARS)
    bars = usual // width + 1
    counts = [0] * bars
    for count in ordered:
        counts[min(count // width, bars - 1)] += 1
    ends = [(i + 1) * width for i in range(bars)]
    ends[-1] = max(ends[-1], ordered[-1] + 1)
    return tuple((i * width, ends[i], n) for i, n in enumerate(counts))


def _round_width(raw: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 25, 50, ... that is not below ``raw``."""
    scale = 1
    while True:
        for step in (1, 2, 5) if scale == 1 else (1, 2, 2.5, 5):
            if raw <= step * scale:
                return int(step * scale)
        scale *= 10


def _cut(corpus: Corpus, counts: Sequence[int], lengths: Lengths) -> Iterator[Finding]:
    limit = lengths.limit
    if not limit or not lengths.over:
        return
    places = [
        Place.of(corpus.name, d)
        for d, count in zip(corpus.documents, counts, strict=True)
        if count > limit
    ]
    yield Finding(
        "long-texts",
        "warning" if lengths.unread >= 0.01 else "note",
        f"{plural(lengths.over, 'document')} of {len(corpus):,} in {corpus.name} "
        f"{'is' if lengths.over == 1 else 'are'} longer than {limit:,} tokens: "
        f"{lengths.unread:.1%} of all tokens would not be read without windows",
        {"documents": lengths.over, "limit": limit, "unread_share": lengths.unread},
        singles(places),
    )
