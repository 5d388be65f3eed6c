"""Options and messages for files of annotated spans: BRAT, CoNLL, JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli.columns import STDIN

if TYPE_CHECKING:
    from attending.data.spans.corpus import SpanCorpus

PANEL = "Annotated spans"
_SHOWN = 10

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
    Literal["auto", "markers", "sentences", "file"],
    typer.Option(
        "--documents",
        metavar="auto|markers|sentences|file",
        help="CoNLL: what a document is; [bold]auto[/]: what -DOCSTART- parts, else a sentence.",
        rich_help_panel=PANEL,
    ),
]


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
        if self.format is not None:
            return True
        if file == STDIN or not Path(file).exists():
            return False
        from attending.data.spans.formats import detect

        return detect(file) is not None

    def load(self, file: str, *, strict: bool) -> "SpanCorpus":
        """Read it.

        Raises:
            DataError: If it can't be read, or ``strict`` and something in it can't.
        """
        from attending.data.spans.formats import load_spans

        settings: dict[str, Any] = {"offsets": self.offsets, "documents": self.documents}
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
