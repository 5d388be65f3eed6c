"""Turns the finished cells of ``tagging.py`` into a page under docs/results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attending.evaluation.significance import holm
from attending.evaluation.spans.counts import SpanCounts, count_spans
from attending.evaluation.spans.significance import paired_spans
from attending.records import Coverage, Prediction, Span
from quality_page import figure
from tagging import ALONE, KNN, TABLES, parts_of, read
from tagging_curve import curves, frequent, over

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"
Cell = dict[str, Any]
Row = tuple[str, str]
"""A system, and whether its neighbours vote."""
COLUMNS = (
    ("unweighted accuracy", "unweighted_accuracy"),
    ("mean F1", "mean_f1"),
    ("strict micro-F1", "strict_micro_f1"),
    ("strict macro-F1", "strict_macro_f1"),
)
FREQUENT = {"maccrobat": 33}
"""How many types the paper reports on: of a table, the most frequent ones are averaged besides."""
TESTED = {"maccrobat": ("mean_f1", "strict_micro_f1"), "ncbi": ("strict_micro_f1",)}
REFERENCE: dict[str, Row] = {
    "maccrobat": ("atl-ner, weights none", ALONE),
    "ncbi": ("atl-ner", ALONE),
    "bc5cdr": ("atl-ner", ALONE),
}
PUBLISHED = {
    "maccrobat": (
        ("BTL, as published", 0.7266, 0.761),
        ("ATL, as published", 0.6487, 0.751),
    )
}
ROUNDS = 10_000


def table_of(name: str) -> dict[Row, list[Cell]]:
    """Return the finished cells by row, in the table's order."""
    found = sorted(read(name), key=lambda cell: int(cell["seed"]))
    rows: dict[Row, list[Cell]] = {}
    for system in TABLES[name]:
        for way in (ALONE, KNN):
            own = [c for c in found if c["system"] == system and way in c["found"]]
            if own:
                rows[system, way] = own
    return rows


def written(row: Row) -> str:
    """Write a row's name."""
    system, way = row
    return f"`{system.partition(',')[0]}`{system.partition(',')[1]}{system.partition(',')[2]}" + (
        "" if way == ALONE else ", neighbours vote"
    )


def tail(cell: Cell, way: str) -> float | None:
    """Return the strict macro-F1 of the rarest types of a cell."""
    groups = {g["name"]: g for g in cell["found"][way]["groups"] or ()}
    value: float | None = groups.get("tail", {}).get("figures", {}).get("strict_macro_f1")
    return value


def main_table(name: str, rows: dict[Row, list[Cell]]) -> Iterator[str]:
    """Write the figures of all rows, published ones below."""
    most = FREQUENT.get(name)
    extra = [] if most is None else [f"accuracy of {most} types", f"F1 of {most} types"]
    heads = ["System", "seeds", *extra, *(head for head, _ in COLUMNS)]
    heads += ["macro-F1 of the tail", "strict micro-F1, development", "minutes"]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for row, cells in rows.items():
        figures = [c["found"][row[1]]["figures"] for c in cells]
        values = [figure([f.get(key) for f in figures]) for _, key in COLUMNS]
        if most is not None:
            values = [
                figure([over(c, row[1], key, frequent(c, most)) for c in cells])
                for key in ("word_recall", "word_f1")
            ] + values
        values.append(figure([tail(c, row[1]) for c in cells]))
        values.append(figure([c["development"][row[1]]["strict_micro_f1"] for c in cells]))
        minutes = sum(c["seconds"] for c in cells) / len(cells) / 60
        texts = [written(row), str(len(cells)), *values]
        yield "| " + " | ".join([*texts, f"{minutes:.0f}"]) + " |"
    for published, accuracy, f1 in PUBLISHED.get(name, ()):
        cells_ = [published, "", f"{accuracy:.3f}", f"{f1:.3f}"]
        yield "| " + " | ".join(cells_ + [""] * (len(heads) - len(cells_))) + " |"
    yield ""


def counts_of(name: str, root: Path, rows: dict[Row, list[Cell]]) -> dict[Row, list[SpanCounts]]:
    """Count what each row found in the test documents, seed by seed."""
    counted: dict[Row, list[SpanCounts]] = {row: [] for row in rows}
    for seed in sorted({c["seed"] for cells in rows.values() for c in cells}):
        parts = parts_of(name, root, seed)
        for row, cells in rows.items():
            for cell in cells:
                if cell["seed"] == seed:
                    given = cell["found"][row[1]]["spans"]
                    predictions = [
                        Prediction(
                            id=d.id, status="ok", labels=(), scores={}, read=Coverage(0, 0, 0),
                            spans=tuple(Span(a, b, label) for a, b, label in given[d.id]),
                        )
                        for d in parts.test
                    ]  # fmt: skip
                    counted[row].append(
                        count_spans(parts.test, predictions, parts.labels, unknown="miss")
                    )
    return counted


def tests(name: str, root: Path, rows: dict[Row, list[Cell]]) -> Iterator[str]:
    """Write paired tests of all rows against the plain tagger, on the seeds that both have."""
    reference = REFERENCE[name]
    rows = {row: cells for row, cells in rows.items() if TABLES[name][row[0]].paired}
    seeds = {row: [c["seed"] for c in cells] for row, cells in rows.items()}
    shared = {row: [s for s in own if s in seeds.get(reference, ())] for row, own in seeds.items()}
    others = [row for row in rows if row != reference and shared[row]]
    if not others:
        return
    counted = counts_of(name, root, rows)
    for metric in TESTED.get(name, ("strict_micro_f1",)):
        found = []
        for row in others:
            pair = (row, reference)
            one, other = ([counted[r][seeds[r].index(s)] for s in shared[row]] for r in pair)
            found.append(paired_spans(one, other, metric, rounds=ROUNDS))
        adjusted = holm([t.p_value for t in found])
        yield f"### {metric} against {written(reference)}"
        yield ""
        yield "| System | difference | 95 % interval | p | p, Holm |"
        yield "|---|---:|---:|---:|---:|"
        for row, test, p in zip(others, found, adjusted, strict=True):
            interval = test.interval
            told = f"{interval.low:+.3f} to {interval.high:+.3f}" if interval else ""
            yield (
                f"| {written(row)} | {test.difference:+.3f} | {told} | {test.p_value:.3f} "
                f"| {p:.3f} |"
            )
        yield ""


def unmade(name: str) -> list[str]:
    """Name the cells that are still to be made."""
    made = {(c["system"], c["seed"]) for c in read(name)}
    told = []
    for system, row in TABLES[name].items():
        seeds = [str(seed) for seed in row.seeds if (system, seed) not in made]
        if seeds:
            told.append(f"`{system}` seed {', '.join(seeds)}")
    return [f"Not made yet: {'; '.join(told)}.", ""] if told else []


def write(name: str, root: Path) -> None:
    """Write the page of a table: its own words, its figures, its tests."""
    rows = table_of(name)
    preface = (HERE / "pages" / f"tagging-{name}.md").read_text(encoding="utf-8").strip()
    lines = [preface, "", *main_table(name, rows)]
    if f"{name}-curve" in TABLES:
        picture = DOCS / f"tagging-{name}.png"
        lines += ["## By epochs, documents and encoder", ""]
        lines += curves(name, FREQUENT[name], PUBLISHED[name], picture)
    lines += ["## Paired tests", "", *tests(name, root, rows)]
    lines += unmade(name)
    if f"{name}-curve" in TABLES:
        lines += unmade(f"{name}-curve")
    text = "\n".join(lines).strip()
    (DOCS / f"tagging-{name}.md").write_text(f"{text}\n", encoding="utf-8")
