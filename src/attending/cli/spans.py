"""Options, messages and reading of files of annotated spans: BRAT, CoNLL, JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli.columns import STDIN, Columns
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.data.spans.corpus import SpanCorpus
    from attending.records import Row

PANEL = "Annotated spans"
_SHOWN = 10

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, JSON lines (each also .gz) or Parquet, FHIR messages, or annotated spans: "
        "a folder of BRAT, CoNLL, JSON. [bold]portal[/] is the bundled corpus.",
        show_default=False,
    ),
]
Format = Literal["brat", "conll", "jsonl", "doccano", "label-studio"]
From = Annotated[
    Format | None,
    typer.Option(
        "--from",
        metavar="brat|conll|jsonl",
        help="Format of annotated spans to read; by name and content if left out. jsonl reads "
        "doccano's and Label Studio's exports too.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Offsets = Annotated[
    Literal["auto", "code-points", "utf-16", "utf-8"],
    typer.Option(
        "--offsets",
        metavar="auto|code-points|utf-16|utf-8",
        help="What offsets count; [bold]auto[/] looks at the words that annotations repeat.",
        rich_help_panel=PANEL,
    ),
]
WriteScheme = Annotated[
    Literal["iob1", "iob2", "bioes", "bilou"] | None,
    typer.Option(
        "--scheme",
        metavar="iob1|iob2|bioes|bilou",
        help="CoNLL: how to write tags; as they were, else iob2, if left out.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
TagColumn = Annotated[
    int,
    typer.Option(
        "--tag-column",
        metavar="N",
        help="CoNLL: column of the tags; 0 is the first, -1 the last.",
        rich_help_panel=PANEL,
    ),
]
Documents = Annotated[
    str,
    typer.Option(
        "--documents",
        metavar="auto|markers|sentences|file|N",
        help="CoNLL: what a document is; [bold]auto[/]: what -DOCSTART- parts, else a sentence; "
        "[bold]N[/]: sentences in a row, up to N words, so that each is read with others around.",
        rich_help_panel=PANEL,
    ),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient",
        help="Leave out spans and lines that can't be read, instead of stopping.",
        rich_help_panel=PANEL,
    ),
]
_TABLES = (".jsonl", ".ndjson")
_KEYS = {"format": "from", "offsets": "offsets", "tag_column": "tag-column",
         "documents": "documents", "text": "text", "id": "id", "encoding": "encoding"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpanFile:
    """How a file of spans is read, as the options give it."""

    format: str | None = None
    offsets: str = "auto"
    tag_column: int = -1
    documents: str = "auto"
    text: str | None = None
    id: str | None = None
    encoding: str = "utf-8"

    def holds_spans(self, file: str) -> bool:
        """Say whether a file is of spans: it was said so, or looks like it."""
        return self.kind(file) is not None

    def kind(self, file: str) -> str | None:
        """Return the format of a file of spans, as it was said or as it looks, else ``None``."""
        if self.format is not None:
            return self.format
        if file == STDIN or not Path(file).exists():
            return None
        from attending.data.spans.formats import detect

        return detect(file)

    @property
    def cells(self) -> dict[str, str]:
        """What a file is read again by; ``of`` makes it a ``SpanFile``."""
        return {k: str(v) for k in _KEYS if (v := getattr(self, k)) is not None}

    @classmethod
    def of(cls, cells: Mapping[str, str]) -> "SpanFile":
        """Return what ``cells`` wrote."""
        settings: dict[str, Any] = {k: v for k, v in cells.items() if k in _KEYS}
        return cls(**settings | {"tag_column": int(cells["tag_column"])})

    def words(self, *_: str) -> list[str]:
        """Return the options as typed, for the same file again or for another one like it."""
        usual = SpanFile()
        return [
            word
            for key, option in _KEYS.items()
            if getattr(self, key) != getattr(usual, key)
            for word in (f"--{option}", str(getattr(self, key)))
        ]

    def load(self, file: str, *, strict: bool) -> "SpanCorpus":
        """Read it.

        Raises:
            DataError: If it can't be read, or ``strict`` and something in it can't.
        """
        from attending.data.spans.formats import load_spans

        division = int(self.documents) if self.documents.isdecimal() else self.documents
        settings: dict[str, Any] = {"offsets": self.offsets, "documents": division}
        return load_spans(
            file,
            self.format or "auto",  # type: ignore[arg-type]  # typer has checked it
            strict=strict,
            column=self.tag_column,
            text=self.text,
            id=self.id,
            encoding=self.encoding,
            **settings,
        )


def fault_lines(corpus: "SpanCorpus") -> Iterator[tuple[Literal["warning", "note"], str]]:
    """Yield the first problems of a corpus, and how many more there are."""
    from attending.data.wording import plural

    for severity, head in (("error", "left out"), ("warning", "read by a rule")):
        found = [fault for fault in corpus.faults if fault.severity == severity]
        level: Literal["warning", "note"] = "warning" if severity == "error" else "note"
        for fault in found[:_SHOWN]:
            yield level, str(fault)
        if found:
            yield level, f"{plural(len(found), 'place')} in all {head}"


def format_by_name(out: Path) -> Format | None:
    """Return the format of spans that a name says; a name without ending is a folder of BRAT."""
    suffixes = out.name.removesuffix(".gz").rpartition(".")
    if out.is_dir() or not suffixes[1]:
        return "brat"
    known: dict[str, Format] = {
        "conll": "conll", "bio": "conll", "iob2": "conll", "tsv": "conll", "jsonl": "jsonl",
        "ndjson": "jsonl", "json": "label-studio",
    }  # fmt: skip
    return known.get(suffixes[2].lower())


def is_tagger(folder: str | Path) -> bool:
    """Say whether a model folder holds a tagger.

    Raises:
        ModelError: If it is no model folder.
    """
    from attending.models.store import task_in

    return task_in(folder) == "spans"


def load_annotated(
    file: str, span_file: SpanFile, columns: Columns, *, strict: bool = True
) -> "SpanCorpus":
    """Read documents with annotated spans, from a file of spans or a table with a column of them.

    Raises:
        DataError: If it can't be read, or holds no spans.
    """
    if span_file.holds_spans(file):
        _no_conditions(columns)
        found: SpanCorpus | None = span_file.load(file, strict=strict)
    else:
        found = None if Path(file).is_dir() else _of_table(columns.load(file))
    if found is None or not any(d.spans for d in found):
        raise DataError(
            "holds no annotated spans",
            where=file,
            allowed="a folder of BRAT, CoNLL, JSON with spans, or a table with a column of them",
            step="Name the format with --from, or the column with --spans.",
        )
    return found


def _of_table(corpus: "Corpus") -> "SpanCorpus":
    """Return a table's documents with those of their spans that have a type."""
    from attending.data.spans.corpus import SpanCorpus

    rows = [replace(d, spans=tuple(s for s in d.spans if s.label is not None)) for d in corpus]
    every: tuple[Row, ...] = (*rows, *corpus.problems)
    return SpanCorpus(every, corpus.name, corpus.notes, corpus.columns, format="table")


def load_texts(file: str, span_file: SpanFile, columns: Columns) -> "Corpus":
    """Read documents to be tagged: a file of spans, a folder of texts, one text, or a table.

    Annotations that can't be read don't matter here and are left out.

    Raises:
        DataError: If it can't be read.
    """
    if not span_file.holds_spans(file) and file.lower().endswith(".txt") and Path(file).is_file():
        span_file = replace(span_file, format="brat")
    if span_file.holds_spans(file):
        _no_conditions(columns)
        return span_file.load(file, strict=False)
    return columns.load(file)


def load_labelled(
    file: str, span_file: SpanFile, columns: Columns, who: str, *, known: bool = True
) -> "Corpus":
    """Read documents for a model or recipe that gives labels, which a file of spans has none of.

    Args:
        file: What to read.
        span_file: How it would be read if it held spans.
        columns: How it is read.
        who: What gives labels: ``recipe "bert"``.
        known: Whether the documents must have labels themselves.

    Raises:
        DataError: If it can't be read, or holds spans and no labels.
    """
    kind = span_file.kind(file)
    table = file.removesuffix(".gz").lower().endswith(_TABLES)
    if span_file.format is None and (kind is None or (kind == "jsonl" and table)):
        corpus = columns.load(file)
        if kind is None or not known or any(d.labels is not None for d in corpus):
            return corpus
    raise DataError(
        f"holds annotated spans, and {who} gives documents labels",
        where=file,
        step=f"Train a recipe that tags: {', '.join(recipes_that_tag())}.",
    )


def recipes_that_tag() -> list[str]:
    """Return the names of the shipped recipes that tag spans."""
    from attending.recipe import Recipe, shipped

    return [name for name in shipped() if Recipe.load(name).task == "spans"]


def _no_conditions(columns: Columns) -> None:
    if columns.where:
        raise DataError("--where is for tables of documents, not for annotated spans")
