"""Tags of words, such as ``B-Disease``, and the entities that they spell.

A tag is ``O``, or a prefix with a type behind a hyphen; a type alone is read as ``I-`` of it, a
prefix alone as the only type. The schemes:

- ``iob1``: entities begin with ``I-``; ``B-`` only where one follows another of its type;
- ``iob2`` (BIO): every entity begins with ``B-``;
- ``bioes`` (IOBES): the last word has ``E-``, an only word ``S-``;
- ``bilou``: the same with ``L-`` and ``U-``. ``M-`` is read as ``I-``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from attending.errors import DataError

Scheme = Literal["iob1", "iob2", "bioes", "bilou"]
Rule = Literal["conlleval", "strict"]
"""What tags that break their scheme spell: see ``read_tags``."""

UNNAMED = "entity"
"""Type of an entity whose tags name none (plain ``B``, ``I``, ``O``)."""

_TAG = re.compile(r"([BIESLUM])(?:-(.+))?", re.DOTALL)
_LAST = "ESLU"
_ONLY = "SU"
_PLAIN = {"L": "E", "U": "S", "M": "I"}


class Chunk(NamedTuple):
    """An entity over words: first word, word behind the last, type."""

    start: int
    end: int
    label: str


def parse_tag(tag: str) -> tuple[str, str]:
    """Return prefix and type; ``("O", "")`` outside."""
    if tag == "O":
        return "O", ""
    found = _TAG.fullmatch(tag)
    return (found[1], found[2] or UNNAMED) if found else ("I", tag)


def is_tag(tag: str) -> bool:
    """Say whether a cell is plainly a tag: ``O``, or a prefix with or without a type."""
    return tag == "O" or _TAG.fullmatch(tag) is not None


def detect_scheme(sentences: Iterable[Sequence[str]]) -> Scheme:
    """Return the scheme that tags are written in; ``iob2`` where nothing tells.

    ``E-`` or ``S-`` (``L-`` or ``U-``) tell at once. Otherwise it is ``iob1`` if some entity
    begins with ``I-`` and no ``B-`` stands where ``iob1`` has none.
    """
    inside_first = free_b = False
    for tags in sentences:
        before = ("O", "")
        for tag in tags:
            prefix, label = parse_tag(tag)
            if prefix in "ES":
                return "bioes"
            if prefix in "LU":
                return "bilou"
            follows = before[0] != "O" and before[1] == label
            free_b |= prefix == "B" and not follows
            inside_first |= prefix == "I" and not follows
            before = prefix, label
    return "iob1" if inside_first and not free_b else "iob2"


def read_tags(
    tags: Sequence[str], scheme: Scheme, rule: Rule = "conlleval"
) -> tuple[list[Chunk], list[int]]:
    """Return the entities of one sentence, and the words at which a tag breaks the scheme.

    Args:
        tags: One tag a word.
        scheme: How they are meant.
        rule: ``conlleval`` takes broken tags for what they most likely mean, as the shared task's
            script does: an ``I-`` that continues nothing begins an entity, and an entity may end
            without ``E-``. ``strict`` takes such an entity for none.
    """
    parsed = [parse_tag(tag) for tag in tags]
    runs = list(_runs(parsed, scheme))
    odd = [
        place for start, end in runs for place in _breaks(parsed[start:end], start, scheme, parsed)
    ]
    bad = set(odd)
    chunks = [
        Chunk(start, end, parsed[start][1])
        for start, end in runs
        if rule == "conlleval" or bad.isdisjoint(range(start, end))
    ]
    return chunks, sorted(bad)


def _runs(parsed: Sequence[tuple[str, str]], scheme: Scheme) -> Iterator[tuple[int, int]]:
    """Yield the stretches of words that form one entity each, by the lenient rule."""
    start: int | None = None
    for place, (prefix, label) in enumerate([*parsed, ("O", "")]):
        ended = start is not None and (
            prefix == "O"
            or prefix == "B"
            or prefix in _ONLY
            or label != parsed[place - 1][1]
            or parsed[place - 1][0] in _LAST
        )
        if ended and start is not None:
            yield start, place
            start = None
        if start is None and prefix != "O":
            start = place


def _breaks(
    run: Sequence[tuple[str, str]], start: int, scheme: Scheme, parsed: Sequence[tuple[str, str]]
) -> Iterator[int]:
    """Yield the words of an entity whose tags are not those of the scheme."""
    first, last = run[0][0], run[-1][0]
    if scheme == "iob2" and first != "B":
        yield start
    if scheme == "iob1" and first == "B":
        before = parsed[start - 1] if start else ("O", "")
        if before[0] == "O" or before[1] != run[0][1]:
            yield start
    if scheme in ("bioes", "bilou"):
        prefixes = "".join(_PLAIN.get(prefix, prefix) for prefix, _ in run)
        if prefixes != "S" and not (prefixes[0] == "B" and prefixes[-1] == "E"):
            yield start if first != "B" or len(run) == 1 else start + len(run) - 1
    elif last in _LAST:
        yield start + len(run) - 1


def write_tags(
    chunks: Iterable[Chunk], length: int, scheme: Scheme = "iob2", *, bare: bool = False
) -> list[str]:
    """Return one tag a word.

    Args:
        chunks: Entities that share no word.
        length: How many words there are.
        scheme: How to write them.
        bare: Write prefixes without a type.

    Raises:
        DataError: If two entities share a word, or there is no such scheme.
    """
    if scheme not in get_args(Scheme):
        raise DataError(f'there is no scheme "{scheme}"', allowed=", ".join(get_args(Scheme)))
    tags = ["O"] * length
    before: Chunk | None = None
    for chunk in sorted(chunks):
        if before is not None and chunk.start < before.end:
            raise DataError("two entities share a word", step="Flatten the spans first.")
        near = before is not None and (before.end, before.label) == (chunk.start, chunk.label)
        for place, prefix in enumerate(_prefixes(chunk, scheme, near), start=chunk.start):
            tags[place] = prefix if bare else f"{prefix}-{chunk.label}"
        before = chunk
    return tags


def _prefixes(chunk: Chunk, scheme: Scheme, near: bool) -> str:
    length = chunk.end - chunk.start
    if scheme in ("iob1", "iob2"):
        return ("B" if scheme == "iob2" or near else "I") + "I" * (length - 1)
    last, only = ("E", "S") if scheme == "bioes" else ("L", "U")
    return only if length == 1 else "B" + "I" * (length - 2) + last
