"""CoNLL files: a word a line with its tag in a column, a blank line between sentences.

The text of a document is its words with a blank in between, and its sentences with a line break.
A document keeps its lines (``attributes["conll"]``), so that what is written back is the same to
the byte, other columns, comments and markers included; where spans were changed, only tags change.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from attending.data.files import decode, read_bytes
from attending.data.spans.conll_lines import (
    DIVISIONS,
    Division,
    Line,
    Lines,
    divide,
    split_lines,
)
from attending.data.spans.corpus import Faults, SpanCorpus, warn_of_repeats
from attending.data.spans.schemes import (
    Rule,
    Scheme,
    detect_scheme,
    is_tag,
    read_tags,
)
from attending.data.wording import plural, shown_label
from attending.errors import DataError
from attending.records import Document, Source, Span

KEY = "conll"
"""Attribute that holds a document's lines and how they are to be read."""
TOKENS, SENTENCES = "tokens", "sentences"
"""Attributes: start and end of every word; first word and word behind the last of a sentence."""

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Reading:
    """How the lines of a file are read: where word and tag stand, and what tags mean."""

    columns: int
    tabs: bool
    word: int
    tag: int
    scheme: Scheme
    rule: Rule
    bare: bool

    @property
    def tagged(self) -> bool:
        """Whether there is a column of tags beside the words."""
        return self.columns > 1

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def read_conll(
    path: str | Path,
    *,
    column: int = -1,
    word_column: int | None = None,
    scheme: Literal["auto"] | Scheme = "auto",
    rule: Rule = "conlleval",
    documents: Division = "auto",
    strict: bool = True,
    encoding: str = "utf-8",
) -> SpanCorpus:
    """Read a file of words and tags (also ``.gz``).

    Columns are parted by tabs, or by blanks where no line has a tab. A file of one column is read
    as words without tags. Documents are called by their marker's id in brackets, else by the
    file's name and their number. ``attributes["tokens"]`` has the words' offsets,
    ``attributes["sentences"]`` which words form a sentence.

    Args:
        path: The file.
        column: Where the tags are: 0 is the first column, -1 the last.
        word_column: Where the words are; where left out, the first column that isn't the tags'.
        scheme: How tags are meant; ``auto`` looks at them.
        rule: What a tag that breaks the scheme spells (``conlleval`` or ``strict``); each is
            listed as a warning, with its sentence.
        documents: ``markers``, ``sentences``, ``file``; ``auto``: by markers if there are any, else
            every sentence is a document; a number: sentences in a row up to so many words, so that
            a tagger reads a sentence with those around it.
        strict: Raise if a line can't be read; otherwise its word counts as outside.
        encoding: How the file's characters are stored.

    Raises:
        DataError: If the file can't be read, holds no word or not these columns, a carriage
            return stands alone, an option is unknown, or ``strict`` and a line can't be read.
    """
    path = Path(path)
    _require(scheme, ("auto", *get_args(Scheme)), "scheme")
    _require(rule, get_args(Rule), "rule")
    require_division(documents)
    data = read_bytes(path)
    text = decode(data, path.name, encoding)
    _require_line_ends(text, path.name)
    if data.startswith(b"\xef\xbb\xbf"):
        text = _MARK + text
    found = split_lines(text)
    word = _word_column(word_column, column, found.columns)
    tags = _tags(found, path.name, word, column)
    every = {tag for sentence in tags for tag in sentence}
    reading = Reading(
        found.columns,
        found.tabs,
        word,
        column,
        detect_scheme(tags) if scheme == "auto" else scheme,
        rule,
        bare=every != {"O"} and all(len(tag) == 1 for tag in every),
    )
    faults = Faults()
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    made: list[Document] = []
    sentences = 0
    for number, lines in enumerate(divide(found.lines, documents), start=1):
        id_ = next((line.id for line in lines if line.id), None)
        id_ = id_ or (stem if documents == "file" else f"{stem}-{number}")
        last = lines[-1] is found.lines[-1]
        document = read_lines(lines, reading, id_, path.name, faults, sentences, whole=last)
        sentences += len(document.attributes[SENTENCES])
        made.append(document)
    warn_of_repeats(made, faults)
    settled = faults.settle(strict)
    notes = [] if reading.tagged else [f"{path.name}: one column, read as words without tags"]
    notes += _plain_types(every, path.name)
    return SpanCorpus(tuple(made), stem, tuple(notes), {}, settled, "conll")


def _require(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise DataError(f'there is no {what} "{value}"', allowed=", ".join(allowed))


def require_division(documents: object) -> None:
    """Make sure that this says what a document is.

    Raises:
        DataError: If it doesn't.
    """
    count = isinstance(documents, int) and not isinstance(documents, bool) and documents > 0
    if not count and documents not in DIVISIONS:
        raise DataError(
            f'there is no way to divide a file into documents "{documents}"',
            allowed=f"{', '.join(DIVISIONS)}, or a number of words from 1",
        )


def _require_line_ends(text: str, file: str) -> None:
    lone = re.search(r"\r(?!\n)", text)
    if lone:
        line = text.count("\n", 0, lone.start()) + 1
        raise DataError(
            "a carriage return stands without a line feed",
            where=f"{file} line {line}",
            allowed="lines that end with LF or CR LF",
            step="Save the file with line ends of Unix or Windows.",
        )


def _word_column(word: int | None, column: int, columns: int) -> int:
    """Return the column of words: the first one, or the second where the first has the tags."""
    if word is not None:
        return word
    return 1 if columns > 1 and column in (0, -columns) else 0


def _tags(found: Lines, file: str, word: int, column: int) -> list[list[str]]:
    """Return the tags of every sentence.

    Raises:
        DataError: If there is no word, or not these columns.
    """
    if not found.columns:
        raise DataError("the file holds no word", where=file)
    for what, place in (("words", word), ("tags", column)):
        if not -found.columns <= place < found.columns:
            raise DataError(
                f"there is no column {place} of {what}",
                where=file,
                found=plural(found.columns, "column"),
                allowed="0 for the first, -1 for the last",
            )
    return [
        [_tag(line, found.columns, column) for line in sentence]
        for sentence in sentences_of(found.lines)
    ]


def sentences_of(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the word lines of each sentence; blank lines and markers part them."""
    sentence: list[Line] = []
    for line in lines:
        if line.kind == "word":
            sentence.append(line)
        elif line.kind != "comment" and sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _tag(line: Line, columns: int, column: int) -> str:
    """Return the tag of a word; a line that lacks columns has one only if it looks like one."""
    tag = line.cell(column) if columns > 1 else None
    if tag is None or not tag.strip() or (len(line.cells) != columns and not is_tag(tag)):
        return "O"
    return tag


def read_lines(
    lines: Sequence[Line],
    reading: Reading,
    id_: str,
    file: str,
    faults: Faults,
    before: int = 0,
    *,
    whole: bool = True,
) -> Document:
    """Return the document of some lines.

    Args:
        lines: Its lines.
        reading: How they are read.
        id_: What to call it.
        file: The file's name, for messages.
        faults: Where to note what can't be read.
        before: How many sentences of the file come before it.
        whole: Whether the last line ends without a line feed.
    """
    text: list[str] = []
    tokens: list[tuple[int, int]] = []
    borders: list[tuple[int, int]] = []
    spans: list[Span] = []
    length = 0
    for sentence in sentences_of(lines):
        words = [line for line in sentence if _usable(line, reading, file, faults)]
        if not words:
            continue
        first = len(tokens)
        number = before + len(borders) + 1
        for line in words:
            word = line.cell(reading.word) or ""
            if tokens:
                text.append("\n" if len(tokens) == first else " ")
                length += 1
            text.append(word)
            tokens.append((length, length + len(word)))
            length += len(word)
        borders.append((first, len(tokens)))
        tags = [_tag(line, reading.columns, reading.tag) for line in words]
        chunks, odd = read_tags(tags, reading.scheme, reading.rule)
        spans += [Span(tokens[first + a][0], tokens[first + b - 1][1], x) for a, b, x in chunks]
        for place in odd:
            faults.warn(file, words[place].number, _odd(tags[place], reading, number))
    kept = "\n".join(line.raw for line in lines) + ("" if whole else "\n")
    attributes = {
        TOKENS: tuple(tokens),
        SENTENCES: tuple(borders),
        KEY: {"lines": kept, **reading.to_dict()},
    }
    start = next((line.number for line in lines if line.kind == "word"), lines[0].number)
    return Document(
        id_, "".join(text), spans=tuple(spans), attributes=attributes, source=Source(file, start)
    )


def _usable(line: Line, reading: Reading, file: str, faults: Faults) -> bool:
    """Say whether a line has a word; note one that has not as many columns as the others."""
    word = line.cell(reading.word)
    if len(line.cells) != reading.columns:
        found = plural(len(line.cells), "column")
        faults.error(file, line.number, f"{found} where other lines have {reading.columns}")
    elif word is None or not word.strip():
        faults.error(file, line.number, "no word")
    elif reading.tagged and not (line.cell(reading.tag) or "").strip():
        faults.error(file, line.number, "no tag")
    return word is not None and bool(word.strip())


def _odd(tag: str, reading: Reading, sentence: int) -> str:
    fate = "an entity by the rule conlleval" if reading.rule == "conlleval" else "no entity"
    # A tag that is none may be a word, of another column.
    shown = f"the tag {shown_label(tag)}" if is_tag(tag) else "the tag"
    return f"{shown} in sentence {sentence} breaks {reading.scheme}: read as {fate}"


def _plain_types(tags: Iterable[str], file: str) -> list[str]:
    """Note tags that are a type alone: perhaps the column is another one."""
    plain = sum(not is_tag(tag) for tag in tags)
    if not plain:
        return []
    # They aren't shown: of another column, they may be the words of the text.
    found = plural(plain, "tag without B- or I- is", "tags without B- or I- are")
    return [f"{file}: {found} read as a type; is it the right column?"]


Words = Callable[[str], Sequence[tuple[int, int]]]
"""Finds the words of a text: start and end of each."""
