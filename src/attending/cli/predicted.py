"""What became of the rows that a model answered, counted for people and machines."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attending.cli.columns import STDIN
from attending.cli.rows import counts_in_words, line_numbers

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.records import LabelSet, Prediction

_FATES = {
    "empty_text": "without text",
    "too_long": "too long",
    "failed": "failed",
}


def count_answers(
    corpus: "Corpus", predictions: Sequence["Prediction"], labels: "LabelSet", out: str
) -> dict[str, Any]:
    """Count what became of the rows, and the labels that they got."""
    given = Counter(label for p in predictions for label in p.labels)
    return {
        **_fates(corpus, predictions),
        "labels": {label: given[label] for label in labels.ids},
        "abstained": sum(p.abstained for p in predictions),
        **_rest(predictions, out),
    }


def count_spans(
    corpus: "Corpus", predictions: Sequence["Prediction"], labels: "LabelSet", out: str
) -> dict[str, Any]:
    """Count what became of the documents, and the spans found in them by type."""
    found = Counter(span.label for p in predictions for span in p.spans or ())
    return {
        **_fates(corpus, predictions),
        "spans": sum(found.values()),
        "types": {label: found[label] for label in labels.ids},
        **_rest(predictions, out),
    }


def _fates(corpus: "Corpus", predictions: Sequence["Prediction"]) -> dict[str, Any]:
    lines: dict[str, list[int]] = {}
    for row, prediction in zip(corpus.rows, predictions, strict=True):
        if prediction.status != "ok" and row.source is not None:
            lines.setdefault(prediction.status, []).append(row.source.line)
    return {
        "rows": len(predictions),
        "status": dict(Counter(p.status for p in predictions)),
        "lines": lines,
    }


def _rest(predictions: Sequence["Prediction"], out: str) -> dict[str, Any]:
    return {
        "read_in_part": sum(p.status == "ok" and p.read.truncated for p in predictions),
        "written": None if out == STDIN else out,
    }


def answers_in_words(counts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what ``count_answers`` counted, by name."""
    from attending.data.wording import plural

    yield "rows", _fates_in_words(counts, lines=True)
    yield "labels", counts_in_words(counts["labels"])
    silent = counts["rows"] - counts["status"].get("ok", 0) + counts["abstained"]
    if silent:
        unsure = f", {counts['abstained']:,} of them for doubt" if counts["abstained"] else ""
        yield "no label", f"{plural(silent, 'row')}{unsure}: for a person to read"
    yield from _rest_in_words(counts)


def spans_in_words(counts: Mapping[str, Any], lines: bool) -> Iterator[tuple[str, str]]:
    """Yield what ``count_spans`` counted, by name; ``lines``: of what wasn't read."""
    from attending.data.wording import plural

    often = sorted(counts["types"].items(), key=lambda pair: -pair[1])
    found = {label: n for label, n in often if n}
    never = len(counts["types"]) - len(found)
    yield "documents", _fates_in_words(counts, lines)
    yield "spans", f"{counts['spans']:,}" + (f"; {counts_in_words(found)}" if found else "")
    if never and found:
        yield "never found", plural(never, "type")
    silent = counts["rows"] - counts["status"].get("ok", 0)
    if silent:
        yield "not read", f"{plural(silent, 'document')}: for a person to read"
    yield from _rest_in_words(counts)


def _fates_in_words(counts: Mapping[str, Any], lines: bool) -> str:
    parts = [f"{counts['status'].get('ok', 0):,} answered"]
    for name, fate in _FATES.items():
        if counts["status"].get(name):
            where = counts["lines"].get(name) if lines else None
            told = f" ({line_numbers(where)})" if where else ""
            parts.append(f"{counts['status'][name]:,} {fate}{told}")
    return f"{counts['rows']:,}: {', '.join(parts)}"


def _rest_in_words(counts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if counts["read_in_part"]:
        yield "read in part", f"{counts['read_in_part']:,}: too long to be read to the end"
    if counts["written"] is not None:
        yield "written", counts["written"]


def write_lines(predictions: Sequence["Prediction"]) -> None:
    """Write predictions to standard output, a line each."""
    for prediction in predictions:
        line = json.dumps(prediction.to_dict(), ensure_ascii=False, allow_nan=False)
        sys.stdout.write(line + "\n")
