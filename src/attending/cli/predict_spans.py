"""Spans that a tagger finds: in the form of an annotation tool, or as lines of predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from attending.cli import spans
from attending.cli.columns import STDIN, Columns
from attending.cli.console import Screen
from attending.cli.predicted import count_spans, spans_in_words, write_lines
from attending.cli.progress import Progress
from attending.cli.rows import tell_reading
from attending.cli.tables import facts
from attending.errors import DataError, OutputError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.models.tagger import TaggerModel
    from attending.records import Prediction


@dataclass(frozen=True, slots=True)
class SpanTarget:
    """Where found spans go, and in which format."""

    out: str
    format: spans.Format
    scheme: str | None
    scores: bool
    force: bool

    @classmethod
    def of(
        cls, out: str, format: str | None, scheme: str | None, scores: bool, force: bool
    ) -> "SpanTarget":
        """Settle the format, by the name of ``out`` if none was said, and look if it is free.

        Raises:
            DataError: If it can't be told or doesn't go with the other options.
            OutputError: If something is there.
        """
        known: dict[str | None, spans.Format] = {x: x for x in get_args(spans.Format)}
        asked = format or ("jsonl" if out == STDIN else spans.format_by_name(Path(out)))
        kind = known.get(asked)
        if kind is None:
            raise DataError(
                f"a tagger's spans are not written as {asked}"
                if asked
                else "the format to write spans in can't be told from the name",
                where=out,
                allowed=", ".join(get_args(spans.Format)),
                step="Name it with --format.",
            )
        if out == STDIN and kind != "jsonl":
            raise DataError(f"{kind} is written to a file only", step="Name one with --out.")
        if scheme is not None and kind != "conll":
            raise DataError(f"--scheme is for CoNLL, not for {kind}")
        if scores and kind != "brat":
            raise DataError(f"--span-scores is for BRAT, not for {kind}")
        _require_free(out, kind, force)
        return cls(out, kind, scheme, scores, force)

    def write(self, corpus: "Corpus", predictions: Sequence["Prediction"], model: Any) -> list[str]:
        """Write predictions, one for each row; return what the format could not hold."""
        from attending.data.spans.formats import write_spans
        from attending.data.writers import write_predictions
        from attending.records import Document

        if self.out == STDIN:
            write_lines(predictions)
            return []
        if self.format == "jsonl":
            write_predictions(predictions, self.out, "jsonl", labels=model.labels, force=self.force)
            return []
        settings: dict[str, Any] = {"scheme": self.scheme} if self.scheme else {}
        settings |= {"scores": True} if self.scores else {}
        read = [
            (row, p)
            for row, p in zip(corpus.rows, predictions, strict=True)
            if isinstance(row, Document)
        ]
        written = write_spans(
            [row for row, _ in read],
            self.out,
            self.format,
            predictions=[p for _, p in read],
            force=self.force,
            **settings,
        )
        return list(written.notes)


def _require_free(out: str, kind: str, force: bool) -> None:
    """Refuse what can't be written before anything is read."""
    from attending.outputs import require_new

    path = Path(out)
    if out == STDIN:
        return
    if kind != "brat":
        require_new(path, force=force)
    elif path.exists() and not path.is_dir():
        raise OutputError("this is a file, not a folder", where=out, step="Name a folder.")
    elif path.is_dir() and any(path.iterdir()) and not force:
        raise OutputError(
            "the folder holds files already",
            where=out,
            step="Choose another --out or pass --force.",
        )


def predict_spans(
    screen: Screen,
    model: "TaggerModel",
    file: str,
    span_file: spans.SpanFile,
    columns: Columns,
    target: SpanTarget,
    json: bool,
) -> None:
    """Find the spans of a file's documents, write them, and tell how many of which type.

    Raises:
        DataError: If the file can't be read.
        OutputError: If the spans can't be written.
    """
    corpus = spans.load_texts(file, span_file, columns)
    tell_reading(screen, corpus)
    with Progress(screen, "predicting") as progress:
        predictions = model.predict(corpus.rows, progress=progress)
    screen.tell_all("note", target.write(corpus, predictions, model))
    counts = count_spans(corpus, predictions, model.labels, target.out)
    if json:
        screen.data(counts)
    else:
        # Documents of a folder all begin in line 1 of a file of their own.
        own_lines = getattr(corpus, "format", None) != "brat"
        screen.show(facts(spans_in_words(counts, own_lines)))
