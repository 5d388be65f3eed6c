"""Turns the finished cells of ``coding.py`` into pages under docs/results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from coding import TABLES, read

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"
Cell = dict[str, Any]
Column = tuple[str, Callable[[Cell], float | None], str]


def share(value: float | None) -> str:
    """Write a share with three digits."""
    return "" if value is None else f"{value:.3f}"


def metric(key: str) -> Callable[[Cell], float | None]:
    """Return what reads a figure of a cell."""
    return lambda cell: cell["metrics"].get(key)


def variety(key: str) -> Callable[[Cell], float | None]:
    """Return what reads how varied a cell's answers are."""
    return lambda cell: (cell["diversity"]["given"] or {}).get(key)


def mean(cells: Sequence[Cell], get: Callable[[Cell], float | None]) -> float | None:
    """Return the mean of a figure over seeds, ``None`` where it is undefined."""
    known = [v for cell in cells if (v := get(cell)) is not None]
    return sum(known) / len(known) if known else None


def by_recipe(name: str) -> dict[str, list[Cell]]:
    """Return the finished cells of a table by recipe, in the table's order."""
    found = read(name)
    rows = {r: [c for c in found if c["recipe"] == r] for r in TABLES[name].rows}
    return {recipe: cells for recipe, cells in rows.items() if cells}


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def figures(cells: Sequence[Cell], columns: Sequence[Column]) -> list[str]:
    """Write the columns' means over seeds; empty where one is undefined."""
    values = [(mean(cells, get), how) for _, get, how in columns]
    return ["" if value is None else format(value, how) for value, how in values]


def main_table(
    name: str, columns: Sequence[Column], published: Sequence[Sequence[str]] = ()
) -> list[str]:
    """Write a table's finished rows, published ones below, and say which rows are missing."""
    rows = []
    for recipe, cells in by_recipe(name).items():
        rows.append([f"`{recipe}`", *figures(cells, columns)])
    lines = grid(["Recipe", *(title for title, _, _ in columns)], [*rows, *published])
    return [*lines, *missing(name)]


def missing(name: str) -> list[str]:
    """Say which rows of a table are not made yet."""
    left = [f"`{r}`" for r in TABLES[name].rows if r not in by_recipe(name)]
    return [f"**Unfinished.** Not made yet: {', '.join(left)}.", ""] if left else []


def buckets(name: str, title: str = "By training documents of a code") -> list[str]:
    """Write recall and F1 by how many training documents a code has."""
    rows = []
    for recipe, cells in by_recipe(name).items():
        own = cells[0]["buckets"]
        texts = []
        for bucket in own:
            f1 = bucket["figures"].get("micro_f1")
            found = bucket["figures"].get("r_at_15")
            texts.append(f"{share(f1)} / {share(found)}")
        rows.append([f"`{recipe}`", *texts])
    if not rows:
        return []
    first = next(iter(by_recipe(name).values()))[0]["buckets"]
    head = [f"{b['name']} ({b['labels_true']} codes, {b['true']} pairs)" for b in first]
    return [
        f"## {title}",
        "",
        "Micro-F1, and the share of true pairs among a document's first 15. Head: more than 50 "
        "training documents; torso: 6 to 50; tail: 1 to 5; unseen: none, so that only words of "
        "descriptions can find them. Codes that the label set lacks are in the last column.",
        "",
        *grid(["Recipe", *head], rows),
    ]


def seconds(name: str) -> list[str]:
    """Say how long rows took."""
    rows = [
        f"`{r}` {cells[0]['seconds']:.0f} s, {cells[0]['documents_per_second']:.3g} documents/s"
        for r, cells in by_recipe(name).items()
    ]
    if not rows:
        return []
    said = "; ".join(rows)
    return [
        f"Training, and speed of prediction, on one thread of a two-core machine: {said}. Other "
        "work ran beside it, more at some times than at others: these are upper bounds, and no "
        "comparison.",
        "",
    ]


def write(page: str) -> None:
    """Write a page from its text and the finished cells."""
    from coding_pages import PAGES

    lines = PAGES[page]()
    DOCS.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines).rstrip() + "\n"
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    (DOCS / f"{page}.md").write_text(text, encoding="utf-8")
