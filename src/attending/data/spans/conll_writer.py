"""Writing CoNLL: the lines that were read with their tags, or words and tags of any document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from attending.data.spans.conll import (
    KEY,
    SENTENCES,
    TOKENS,
    Reading,
    Words,
    read_lines,
    sentences_of,
)
from attending.data.spans.conll_lines import Line, is_marker, split_lines
from attending.data.spans.corpus import Faults, Written, spans_to_write
from attending.data.spans.flat import Discontinuous, Flat, flat_notes, flatten, words_of
from attending.data.spans.schemes import UNNAMED, Chunk, Rule, Scheme, write_tags
from attending.data.tagging.words import Words as Offsets
from attending.data.tagging.words import words as usual_words
from attending.data.wording import plural, some
from attending.outputs import new_file
from attending.records import Document, Prediction, Span
from attending.tokens import is_pair, own_words

_BREAKS = str.maketrans("\t\n\r", "   ")


def write_conll(
    documents: Sequence[Document],
    path: str | Path,
    *,
    predictions: Sequence[Prediction] | None = None,
    scheme: Scheme | None = None,
    words: Words | None = None,
    append: bool = False,
    discontinuous: Discontinuous = "fragments",
    force: bool = False,
) -> Written:
    """Write documents as words and tags, in UTF-8.

    A document that was read from CoNLL and not changed is written as it was. Where its spans were
    changed, or predictions are written, its tag column changes and nothing else does. Any other
    document gets a ``-DOCSTART-`` line with its id in brackets, and a word, a tab and a tag a line;
    a line of its text is a sentence. What parts columns becomes ``_`` in a type. One tag
    a word holds no nested, overlapping or discontinuous spans: ``attending.data.spans.flat`` says
    what becomes of them, the result which they are.

    Args:
        documents: What to write.
        path: File, also ``.gz``.
        predictions: One for every document, in order, to write instead of its own spans.
        scheme: How to write tags; as they were, or ``iob2``, where left out.
        words: Finds the words of documents that were not read from CoNLL.
        append: Add a column of tags instead of changing the one that is there.
        discontinuous: What becomes of spans in pieces.
        force: Write over an existing file.

    Raises:
        OutputError: If the file exists or can't be written.
        DataError: If there is no such scheme.
    """
    spans = spans_to_write(documents, predictions)
    flats: list[tuple[str, Flat]] = []
    respelled: set[str] = set()
    with new_file(Path(path), force=force) as file:
        end = ""
        for document, own in zip(documents, spans, strict=True):
            kept = _own_lines(document)
            named = _named(own, kept, respelled)
            if kept is None:
                content, flat = _made(document, named, scheme or "iob2", words, discontinuous)
            elif predictions is None and scheme is None and not append and _same(kept, own):
                content, flat = str(kept["lines"]), Flat(tuple(own))
            else:
                content, flat = _kept(kept, named, scheme, append, discontinuous)
            flats.append((document.id, flat))
            gap = _gap(end, content)
            file.write((gap + content).encode("utf-8"))
            end += gap + content
            end = end[end.rfind("\n", 0, -1) + 1 :]
    written = sum(len(flat.kept) for _, flat in flats)
    return Written(len(documents), written, (*flat_notes(flats), *_type_notes(respelled)))


def _gap(end: str, content: str) -> str:
    """Return what must stand between the last line written and a document, so that it is one."""
    if not end:
        return ""
    gap = "" if end.endswith("\n") else "\n"
    first = content.partition("\n")[0]
    if not end.strip(" \t\r\n") or not first.strip(" \t\r") or is_marker(first):
        return gap
    return gap + ("\r\n" if end.endswith("\r\n") else "\n")


def _named(
    spans: Sequence[Span], kept: Mapping[str, Any] | None, respelled: set[str]
) -> list[Span]:
    """Return spans with types that a column can hold; those that were others are added.

    Tabs part the columns of a document that has no lines yet, or only one column.
    """
    tabs = kept is None or kept["tabs"] or kept["columns"] < 2
    parting = re.compile(r"[\t\n\r]+" if tabs else r"[ \t\n\r]+")
    made = [replace(s, label=s.label and parting.sub("_", s.label)) for s in spans]
    respelled.update(s.label or "" for s, m in zip(spans, made, strict=True) if s.label != m.label)
    return made


def _type_notes(respelled: set[str]) -> list[str]:
    if not respelled:
        return []
    shown = some([f'"{x}"' for x in sorted(respelled)])
    found = plural(len(respelled), "type")
    return [f"{found} written without white space, as CoNLL needs it: {shown}"]


def _made(
    document: Document,
    spans: Sequence[Span],
    scheme: Scheme,
    words: Words | None,
    discontinuous: Discontinuous,
) -> tuple[str, Flat]:
    text = document.text
    own = own_words(document)
    tokens = [(start, end) for start, end in own or (words or usual_words)(text)]
    sentences = _own_sentences(document, own) or _by_line(text, tokens)
    lines = [f"-DOCSTART- ({document.id.translate(_BREAKS)})\tO", ""]
    tags, flat = _tags(spans, tokens, sentences, scheme, discontinuous)
    for start, end in sentences:
        for place in range(start, end):
            word = text[slice(*tokens[place])].translate(_BREAKS)
            lines.append(f"{word}\t{tags[place]}")
        lines.append("")
    return "\n".join([*lines, ""]), flat


def _own_sentences(document: Document, tokens: Offsets | None) -> Sequence[Sequence[int]] | None:
    """Return which tokens form a sentence if its source says so: pairs that part all of them."""
    own = document.attributes.get(SENTENCES)
    if tokens is None or not isinstance(own, list | tuple) or not all(map(is_pair, own)):
        return None
    starts, ends = [start for start, _ in own], [end for _, end in own]
    parted = starts == [0, *ends[:-1]] and ends[-1:] == [len(tokens)]
    return own if parted and all(a < b for a, b in own) else None


def _own_lines(document: Document) -> Mapping[str, Any] | None:
    """Return the lines that a document was read from; ``None`` if the attribute isn't ours."""
    kept = document.attributes.get(KEY)
    if not isinstance(kept, dict) or set(kept) != {"lines", *Reading.__slots__}:
        return None
    kinds = {"lines": str, "columns": int, "word": int, "tag": int, "tabs": bool, "bare": bool}
    ours = all(type(kept[name]) is kind for name, kind in kinds.items())
    ours = ours and kept["scheme"] in get_args(Scheme) and kept["rule"] in get_args(Rule)
    return kept if ours else None


def _by_line(text: str, tokens: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    borders = [
        place
        for place in range(1, len(tokens))
        if not {"\n", "\r"}.isdisjoint(text[tokens[place - 1][1] : tokens[place][0]])
    ]
    return list(zip([0, *borders], [*borders, len(tokens)], strict=True)) if tokens else []


def _tags(
    spans: Sequence[Span],
    tokens: Sequence[tuple[int, int]],
    sentences: Sequence[Sequence[int]],
    scheme: Scheme,
    discontinuous: Discontinuous,
    *,
    bare: bool = False,
) -> tuple[list[str], Flat]:
    """Return a tag for every word; an entity over a sentence's end begins anew in the next."""
    flat = flatten(spans, tokens, discontinuous=discontinuous)
    chunks = [(*words_of((s.start, s.end), tokens), s.label or "") for s in flat.kept]
    tags: list[str] = []
    for start, end in sentences:
        inside = [
            Chunk(max(a, start) - start, min(b, end) - start, label)
            for a, b, label in chunks
            if a < end and start < b
        ]
        tags += write_tags(inside, end - start, scheme, bare=bare)
    return tags, flat


def _reread(kept: Mapping[str, Any]) -> tuple[Reading, Sequence[Line], Document]:
    """Return how a document's lines are read, the lines, and the document that they are."""
    reading = Reading(**{name: kept[name] for name in Reading.__slots__})
    lines = split_lines(kept["lines"], reading.columns, reading.tabs).lines
    return reading, lines, read_lines(lines, reading, "", "", Faults())


def _same(kept: Mapping[str, Any], spans: Sequence[Span]) -> bool:
    """Say whether a document has the spans that its lines spell."""
    _, _, before = _reread(kept)
    return sorted(map(_identity, before.spans)) == sorted(map(_identity, spans))


def _kept(
    kept: Mapping[str, Any],
    spans: Sequence[Span],
    scheme: Scheme | None,
    append: bool,
    discontinuous: Discontinuous,
) -> tuple[str, Flat]:
    """Return a document's lines with the tags of other spans."""
    reading, lines, before = _reread(kept)
    tags, flat = _tags(
        spans,
        before.attributes[TOKENS],
        before.attributes[SENTENCES],
        scheme or reading.scheme,
        discontinuous,
        bare=reading.bare and {s.label for s in spans} <= {UNNAMED},
    )
    left = iter(tags)
    words = {
        line.number: next(left)
        for sentence in sentences_of(lines)
        for line in sentence
        if (line.cell(reading.word) or "").strip()
    }
    content = "\n".join(
        _retagged(line, words[line.number], reading, append) if line.number in words else line.raw
        for line in lines
    )
    return content, flat


def _identity(span: Span) -> tuple[str, tuple[tuple[int, int], ...]]:
    return span.label or "", span.pieces


def _retagged(line: Line, tag: str, reading: Reading, append: bool) -> str:
    if not append and reading.tagged and line.cell(reading.tag) is not None:
        start, end = line.cells[reading.tag]
        return line.raw[:start] + tag + line.raw[end:]
    body = line.raw.removesuffix("\r")
    separator = "\t" if reading.tabs or not reading.tagged else " "
    return f"{body}{separator}{tag}{line.raw[len(body) :]}"
