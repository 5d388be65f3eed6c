"""The outcome of a study in files: a table as Markdown and CSV, a page, and JSON."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attending.evaluation.intervals import Interval
from attending.evaluation.report import render
from attending.outputs import write_text
from attending.study.epochs import Epochs
from attending.study.names import Figure
from attending.study.results import Block, Claimed, Results, Row, Tested
from attending.study.view import study_view

FILES = {
    "markdown": "table.md",
    "csv": "table.csv",
    "page": "report.html",
    "json": "results.json",
}
_COLUMNS = (
    "corpus", "training_rows", "system", "metric", "runs", "mean", "standard_deviation",
    "standard_error", "minimum", "maximum", "interval_low", "interval_high",
    "mean_on_training_rows", "reference", "difference", "difference_low", "difference_high",
    "p_documents",
    "p_documents_holm", "p_seeds",
)  # fmt: skip
_PACKAGE = "attending.study"


def write_results(folder: Path, results: Results) -> dict[str, Path]:
    """Write the files of a study into its folder, over those of an earlier run.

    Returns:
        The paths by kind: ``markdown``, ``csv``, ``page``, ``json``.

    Raises:
        OutputError: If the folder can't be written.
    """
    paths = {kind: folder / name for kind, name in FILES.items()}
    view = study_view(results)
    _write(paths["markdown"], render("study.md.j2", view, _PACKAGE))
    _write(paths["page"], render("study.html.j2", view, _PACKAGE))
    _write(paths["csv"], _as_csv(results))
    body = json.dumps(as_json(results), indent=2, ensure_ascii=False, allow_nan=False)
    _write(paths["json"], body + "\n")
    return paths


def _write(path: Path, text: str) -> None:
    # Lone surrogates, which a name may hold, have no UTF-8 form.
    write_text(path, text.encode("utf-8", "backslashreplace").decode(), force=True)


def _as_csv(results: Results) -> str:
    """Return one line for each corpus, training size, system and figure."""
    file = io.StringIO()
    writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for block in results.blocks:
        for row in block.rows:
            for figure in block.figures:
                writer.writerow(_line(block, row, figure))
    return file.getvalue()


def _line(block: Block, row: Row, figure: Figure) -> dict[str, Any]:
    spread, interval, learnt = row.spreads[figure], row.intervals[figure], row.training[figure]
    line: dict[str, Any] = {
        "corpus": block.corpus,
        "training_rows": block.training_rows,
        "system": row.system,
        "metric": str(figure),
        "runs": row.runs,
    }
    if spread is not None:
        line |= {
            "mean": spread.mean,
            "standard_deviation": spread.sd,
            "standard_error": spread.se,
            "minimum": spread.min,
            "maximum": spread.max,
        }
    if interval is not None:
        line |= {"interval_low": interval.low, "interval_high": interval.high}
    if learnt is not None:
        line["mean_on_training_rows"] = learnt.mean
    tested = next((t for t in block.tests if (t.a, t.figure) == (row.system, figure)), None)
    return line | (_tested_cells(tested) if tested else {})


def _tested_cells(tested: Tested) -> dict[str, Any]:
    interval = tested.interval
    return {
        "reference": tested.b,
        "difference": tested.documents.difference,
        "difference_low": None if interval is None else interval.low,
        "difference_high": None if interval is None else interval.high,
        "p_documents": tested.documents.p_value,
        "p_documents_holm": tested.adjusted,
        "p_seeds": None if tested.seeds is None else tested.seeds.p_value,
    }


def as_json(results: Results) -> dict[str, Any]:
    """Return the results as JSON-safe values at full precision."""
    return {
        "format": 1,
        "study": results.study.file.name,
        "alpha": results.study.head.alpha,
        "blocks": [_block_json(block) for block in results.blocks],
        "claims": [_claim_json(claimed) for claimed in results.claims],
        "epochs": [_epochs_json(found) for found in results.epochs],
        "timing": {name: asdict(found) for name, found in results.timing.items()},
        "failed": [{"cell": str(cell), "reason": reason} for cell, reason in results.failures],
        "missing": [str(cell) for cell in results.missing],
        "environments": list(results.environments),
    }


def _block_json(block: Block) -> dict[str, Any]:
    return {
        "corpus": block.corpus,
        "training_rows": block.training_rows,
        "all_rows": block.size is None,
        "documents": block.documents,
        "systems": {row.system: dict(_row_json(block, row)) for row in block.rows},
        "tests": [_test_json(tested) for tested in block.tests],
    }


def _row_json(block: Block, row: Row) -> Iterator[tuple[str, Any]]:
    yield "runs", row.runs
    yield "parameters", row.parameters
    yield "training_seconds", None if row.seconds is None else asdict(row.seconds)
    for figure in block.figures:
        spread, learnt = row.spreads[figure], row.training[figure]
        yield (
            str(figure),
            {
                "by_seed": {str(seed): v for seed, v in row.values[figure].items()},
                "spread": None if spread is None else asdict(spread),
                "interval": _interval_json(row.intervals[figure]),
                "on_training_rows": None if learnt is None else asdict(learnt),
            },
        )


def _test_json(tested: Tested) -> dict[str, Any]:
    documents = tested.documents
    return {
        "a": tested.a,
        "b": tested.b,
        "figure": str(tested.figure),
        "mean_a": documents.a,
        "mean_b": documents.b,
        "difference": documents.difference,
        "interval_documents": _interval_json(documents.interval),
        "interval_documents_and_seeds": _interval_json(documents.with_seeds),
        "p_documents": documents.p_value,
        "p": tested.p,
        "p_holm": tested.adjusted,
        "documents": documents.documents,
        "differing": documents.differing,
        "runs": documents.runs,
        "seeds": None if tested.seeds is None else asdict(tested.seeds),
    }


def _epochs_json(found: Epochs) -> dict[str, Any]:
    return {
        "corpus": found.corpus,
        "figure": str(found.figure),
        "systems": {
            s.system: [{"epoch": epoch, **asdict(spread)} for epoch, spread in s.points]
            for s in found.systems
        },
    }


def _claim_json(claimed: Claimed) -> dict[str, Any]:
    return {
        "says": claimed.claim.says,
        "text": claimed.claim.text,
        "corpus": claimed.corpus,
        "rows": claimed.claim.rows,
        "verdict": claimed.verdict,
        "reason": claimed.reason,
        "test": None if claimed.tested is None else _test_json(claimed.tested),
    }


def _interval_json(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
