"""Turns the finished cells of ``quality.py`` into the pages under docs/results."""

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from attending.evaluation.significance import holm, mean_and_spread, paired_randomisation
from quality import STUDIES

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"
NEURAL = ("lesa-bert", "bert", "bert-mean", "lesa-bert-as-coded")
Cell = dict[str, Any]


def cells(study: str) -> dict[str, list[Cell]]:
    """Return the finished cells of a study by recipe, seeds in order."""
    path = HERE / "results" / f"{study}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    table: dict[str, list[Cell]] = {}
    for row in sorted(rows, key=lambda r: r["seed"]):
        table.setdefault(row["recipe"], []).append(row)
    return table


def figure(values: Sequence[float | None]) -> str:
    """Write a mean with its standard deviation over seeds."""
    known = [v for v in values if v is not None]
    if not known:
        return "undefined"
    spread = mean_and_spread(known)
    return f"{spread.mean:.3f}" if spread.sd is None else f"{spread.mean:.3f} ± {spread.sd:.3f}"


def main_table(table: dict[str, list[Cell]], label: str | None) -> list[str]:
    """Make the table of a study; ``label`` is the rare one that is shown apart."""
    columns: list[tuple[str, Callable[[Cell], float | None]]] = [
        ("macro-F1", lambda c: c["macro_f1"]),
        ("accuracy", lambda c: c["accuracy"]),
    ]
    if label is not None:
        columns += [
            (f"{label} precision", lambda c: c["per_label"][label]["precision"]),
            (f"{label} recall", lambda c: c["per_label"][label]["recall"]),
        ]
    columns.append(("ECE", lambda c: c["ece"]))
    lines = [
        "| Recipe | seeds | " + " | ".join(name for name, _ in columns) + " | seconds a fit |",
        "|---|---:|" + "---:|" * (len(columns) + 1),
    ]
    for recipe, rows in table.items():
        values = " | ".join(figure([get(c) for c in rows]) for _, get in columns)
        seconds = mean_and_spread([c["seconds"] for c in rows]).mean
        lines.append(f"| `{recipe}` | {len(rows)} | {values} | {seconds:.0f} |")
    return lines


def tests(table: dict[str, list[Cell]], names: Sequence[str]) -> list[str]:
    """Compare every pair of the named rows on the same documents."""
    pairs = [p for p in combinations([n for n in names if n in table], 2)]
    if not pairs:
        return []
    found = []
    for a, b in pairs:
        seeds = sorted({c["seed"] for c in table[a]} & {c["seed"] for c in table[b]})
        first, second = ([c["predicted"] for c in table[n] if c["seed"] in seeds] for n in (a, b))
        found.append(paired_randomisation(table[a][0]["truth"], first, second, "macro_f1"))
    adjusted = holm([t.p_value for t in found])
    lines = [
        "| A | B | A - B, macro-F1 | 95 % interval | p | p, Holm |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (a, b), test, p in zip(pairs, found, adjusted, strict=True):
        span = test.interval
        low_high = "" if span is None else f"{span.low:+.3f} to {span.high:+.3f}"
        difference = f"{test.difference:+.3f} | {low_high} | {test.p_value:.3f} | {p:.3f}"
        lines.append(f"| `{a}` | `{b}` | {difference} |")
    undecided = sum(p >= 0.05 for p in adjusted)
    lines += [
        "",
        f"Approximate randomisation on the documents, all seeds of a row together, 10,000 rounds, "
        f"Holm's correction over the pairs ({len(pairs)}). Not decided at 0.05: {undecided} of "
        f"{len(pairs)}.",
    ]
    return lines


def section(study: str, title: str, about: str, label: str | None) -> list[str]:
    """Make one section of a page."""
    path = HERE / "results" / f"{study}.jsonl"
    if not path.is_file():
        return []
    table = cells(study)
    first = next(iter(table.values()))[0]
    lines = [f"## {title}", "", about, "", *main_table(table, label), ""]
    lines += unfinished(study, table)
    lines += [f"{len(first['truth'])} test documents. ± is the standard deviation over seeds.", ""]
    compared = tests(table, NEURAL)
    if compared:
        lines += ["### Are the neural rows different?", "", *compared, ""]
    return lines


def unfinished(study: str, table: dict[str, list[Cell]]) -> list[str]:
    """Say which cells of the study are not made yet."""
    missing = []
    for recipe, seeds in STUDIES[study].rows.items():
        done = {c["seed"] for c in table.get(recipe, [])}
        left = [str(s) for s in seeds if s not in done]
        if left:
            missing.append(f"`{recipe}` (seeds {', '.join(left)})")
    return [f"**Unfinished.** Not made yet: {'; '.join(missing)}.", ""] if missing else []


def machine(table: dict[str, list[Cell]]) -> str:
    """Say with what the rows were made."""
    facts = [c for rows in table.values() for c in rows if "encoder" in c["facts"]]
    if not facts:
        return ""
    threads = sorted({c["threads"] for c in facts})
    precision = sorted({c["facts"]["precision"] for c in facts})
    return (
        f"Neural rows: encoder {facts[0]['facts']['encoder']}, {'/'.join(precision)} training, "
        f"{'/'.join(map(str, threads))} thread(s) of a two-core x86 machine shared with other "
        "work; so seconds are upper bounds, and speed is measured apart (`benchmarks/speed.py`)."
    )


def write(page: str) -> None:
    """Write a page from its template and the finished cells."""
    template = (HERE / "pages" / f"{page}.md").read_text(encoding="utf-8")
    lines: list[str] = []
    for line in template.splitlines():
        if line.startswith("{{") and line.endswith("}}"):
            study, title, label, about = (x.strip() for x in line[2:-2].split("|"))
            lines += section(study, title, about, label or None)
            if (HERE / "results" / f"{study}.jsonl").is_file():
                lines += [machine(cells(study)), ""]
        else:
            lines.append(line)
    DOCS.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines).rstrip() + "\n"
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    (DOCS / f"{page}.md").write_text(text, encoding="utf-8")
