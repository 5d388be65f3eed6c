"""Span files by format: told from their names and content, read, written."""

import gzip
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from attending.data.columns import USUAL
from attending.data.fhir.sniff import is_fhir_file
from attending.data.files import read_bytes
from attending.data.spans.brat import read_brat, write_brat
from attending.data.spans.conll import read_conll, require_division
from attending.data.spans.conll_lines import Division
from attending.data.spans.conll_writer import write_conll
from attending.data.spans.corpus import SpanCorpus, Written
from attending.data.spans.exports import UNITS, read_row
from attending.data.spans.jsonl import read_span_jsonl, write_span_jsonl
from attending.data.spans.schemes import Rule, Scheme, is_tag
from attending.errors import DataError
from attending.records import Document, Prediction

Format = Literal["brat", "conll", "jsonl", "doccano", "label-studio"]
"""How spans are written; ``doccano`` and ``label-studio`` are read as ``jsonl`` is."""

Offsets = Literal["auto", "code-points", "utf-16", "utf-8"]
"""What offsets count; ``auto`` looks at the words that annotations repeat."""

_CONLL = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes", ".bioes", ".ner")
_JSON = (".json", ".jsonl", ".ndjson")
_LOOK = 40
_READ = 1 << 18


def load_spans(
    path: str | Path,
    format: Literal["auto"] | Format = "auto",
    *,
    strict: bool = True,
    offsets: Offsets = "auto",
    column: int = -1,
    scheme: Literal["auto"] | Scheme = "auto",
    rule: Rule = "conlleval",
    documents: Division = "auto",
    text: str | None = None,
    id: str | None = None,
    encoding: str = "utf-8",
) -> SpanCorpus:
    """Read documents with annotated spans, of whichever format.

    Args:
        path: A BRAT folder (or one of its files), a CoNLL file, or JSON of ours, of doccano or of
            Label Studio.
        format: ``brat``, ``conll``, ``jsonl``, ``doccano``, ``label-studio``; ``auto`` tells by
            name and content.
        strict: Raise if anything can't be read, naming the first problems; otherwise leave it out
            and list it in ``faults``.
        offsets: What offsets count, for BRAT and JSON.
        column: Where the tags are, for CoNLL: 0 is the first column, -1 the last.
        scheme: How tags are meant, for CoNLL.
        rule: What tags that break the scheme spell, for CoNLL.
        documents: What a document is, for CoNLL: ``markers``, ``sentences``, ``file``, or the most
            words of sentences in a row that are one.
        text: Key of the text, for JSON.
        id: Key of the id, for JSON.
        encoding: How the files' characters are stored.

    Raises:
        DataError: If the format is unknown or can't be told, nothing can be read, or ``strict`` and
            something can't be read.
    """
    kind = _known(path) if format == "auto" else format
    if offsets != "auto" and offsets not in UNITS:
        raise DataError(f'offsets can\'t count "{offsets}"', allowed=", ".join(["auto", *UNITS]))
    require_division(documents)
    counting = None if offsets == "auto" else UNITS[offsets]
    if kind == "brat":
        return read_brat(path, strict=strict, counting=counting, encoding=encoding)
    if kind == "conll":
        return read_conll(
            path,
            column=column,
            scheme=scheme,
            rule=rule,
            documents=documents,
            strict=strict,
            encoding=encoding,
        )
    if kind not in get_args(Format):
        raise DataError(
            f'there is no format of spans "{kind}"', allowed=", ".join(get_args(Format))
        )
    return read_span_jsonl(
        path, text=text, id=id, counting=counting, strict=strict, encoding=encoding
    )


def _known(path: str | Path) -> Format:
    if not Path(path).exists():
        read_bytes(Path(path))
    found = detect(path)
    if found is None:
        raise DataError(
            "the format of the spans can't be told",
            where=str(path),
            allowed="a folder with .ann files, CoNLL (.conll, .bio, tagged .tsv or .txt), JSON "
            "(.jsonl, .json)",
            step="Name it: brat, conll or jsonl.",
        )
    return found


def detect(path: str | Path) -> Format | None:
    """Return the format of a span file; ``None`` for a table of documents or anything else.

    A folder is BRAT if it holds ``.ann`` or ``.txt`` files; ``.conll`` and its like are CoNLL, and
    so is a ``.tsv`` or ``.txt`` whose last column holds tags. ``.json`` is an export; JSON lines
    are of spans if a list of annotations stands in the first rows and no label does.
    """
    path = Path(path)
    if path.is_dir():
        return "brat" if any(p.suffix in (".ann", ".txt") for p in path.rglob("*")) else None
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == ".ann" or (suffix == ".txt" and path.with_suffix(".ann").exists()):
        return "brat"
    if suffix in _CONLL:
        return "conll"
    if not path.is_file():
        return None
    if suffix in (".tsv", ".txt", ".tab", ""):
        return "conll" if _tagged(_beginning(path)) else None
    if suffix in _JSON:
        if is_fhir_file(path):
            return None
        return "jsonl" if suffix == ".json" or _annotated(_beginning(path)) else None
    return None


def _beginning(path: Path) -> list[str]:
    """Return the first lines of a file, as far as they are whole."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            data = file.read(_READ)
    except (OSError, EOFError, zlib.error):
        return []
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    return lines[: -1 if len(data) == _READ and len(lines) > 1 else None][:_LOOK]


def _annotated(lines: Sequence[str]) -> bool:
    """Say whether JSON lines hold lists of annotations, and no labels of whole documents."""
    found = False
    for line in lines:
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        if any(isinstance(row.get(key), str) for key in USUAL["label"]):
            return False
        found |= bool(read_row(row, 1).annotations)
    return found


def _tagged(lines: Sequence[str]) -> bool:
    """Say whether every line that is not blank ends in a tag behind a word."""
    lines = [line.rstrip("\r") for line in lines if line.strip()]
    cells = [re.split(r"[\t ]+", line) for line in lines if not line.startswith(("#", "-DOCSTART"))]
    return bool(cells) and all(len(row) > 1 and is_tag(row[-1]) for row in cells)


def write_spans(
    documents: Sequence[Document],
    path: str | Path,
    format: Format,
    *,
    predictions: Sequence[Prediction] | None = None,
    force: bool = False,
    **options: Any,
) -> Written:
    """Write documents with their spans, or with predicted ones.

    Args:
        documents: What to write.
        path: Folder for ``brat``, file for the others.
        format: How.
        predictions: One for every document, in order, to write instead of its own spans.
        force: Write over what is there.
        **options: What the format's own writer takes beyond these.

    Raises:
        OutputError: If something is there already or can't be written.
        DataError: If there is no such format.
    """
    if format == "brat":
        return write_brat(documents, path, predictions=predictions, force=force, **options)
    if format == "conll":
        return write_conll(documents, path, predictions=predictions, force=force, **options)
    return write_span_jsonl(
        documents, path, predictions=predictions, form=format, force=force, **options
    )
