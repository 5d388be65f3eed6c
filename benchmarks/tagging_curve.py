"""The curves of a tagging table: by epochs, by documents and by the encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from quality_page import figure
from tagging import ALONE, KNN, TABLES, read

Cell = dict[str, Any]
WHOLE = "atl-ner, weights inverse"
"""The row of the main table that every curve goes through."""
PANELS = (
    ("epochs", 8, ("2 epochs", "4 epochs", "16 epochs")),
    ("documents", 140, ("35 documents", "70 documents")),
    ("layers", 6, ("2 layers", "4 layers")),
)
FIGURES = (
    ("accuracy", "word_recall", ALONE),
    ("F1", "word_f1", ALONE),
    ("accuracy, neighbours vote", "word_recall", KNN),
    ("F1, neighbours vote", "word_f1", KNN),
)
DRAWN = {"accuracy": ("#0072B2", "o"), "F1, neighbours vote": ("#D55E00", "s")}
"""The figures of the picture, in the order of the published ones: colour and marker."""


def frequent(cell: Cell, most: int) -> list[str]:
    """Name the types that have most training spans in a cell."""
    types = cell["found"][ALONE]["per_type"]
    return sorted(types, key=lambda name: -types[name]["training"])[:most]


def over(cell: Cell, way: str, key: str, types: Sequence[str]) -> float:
    """Return the mean of a figure over some types."""
    return sum(cell["found"][way]["per_type"][t][key] or 0.0 for t in types) / len(types)


def curves(
    name: str, most: int, published: Sequence[tuple[str, float, float]], target: Path
) -> Iterator[str]:
    """Write the points of all curves of a table, and draw them; nothing where none was made."""
    found = read(f"{name}-curve")
    seeds = {c["seed"] for c in found}
    whole = {c["seed"]: c for c in read(name) if c["system"] == WHOLE and c["seed"] in seeds}
    types = {seed: frequent(cell, most) for seed, cell in whole.items()}
    points = {
        system: [c for c in found if c["system"] == system and c["seed"] in whole]
        for system in TABLES[f"{name}-curve"]
    }
    points = {WHOLE: list(whole.values())} | {s: cells for s, cells in points.items() if cells}
    if len(points) == 1:
        return
    values = {
        system: {
            head: [over(c, way, key, types[c["seed"]]) for c in cells] for head, key, way in FIGURES
        }
        for system, cells in points.items()
    }
    heads = list(values[WHOLE])
    yield f"| Point | seeds | {' | '.join(heads)} | strict micro-F1 |"
    yield "|---|" + "---:|" * (len(heads) + 2)
    for system, cells in points.items():
        told = [figure(values[system][head]) for head in heads]
        told.append(figure([c["found"][ALONE]["figures"]["strict_micro_f1"] for c in cells]))
        named = "140 documents, 8 epochs, 6 layers" if system == WHOLE else system
        yield f"| {named} | {len(cells)} | {' | '.join(told)} |"
    yield ""
    _draw(values, published, target)
    yield f"![Accuracy, and F1 with votes, by epochs, documents and layers]({target.name})"
    yield ""
    yield "Dotted: the paper's figures."
    yield ""


def _draw(
    values: dict[str, dict[str, list[float]]],
    published: Sequence[tuple[str, float, float]],
    target: Path,
) -> None:
    drawn = Figure(figsize=(8, 3), dpi=150, facecolor="white", layout="constrained")
    panels = [p for p in PANELS if any(name in values for name in p[2])]
    every = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (what, at, names) in zip(every, panels, strict=True):
        placed = {at: WHOLE} | {int(n.split()[0]): n for n in names if n in values}
        for head, (colour, marker) in DRAWN.items():
            means = [(x, values[n][head]) for x, n in sorted(placed.items())]
            axes.plot(
                [x for x, _ in means],
                [sum(v) / len(v) for _, v in means],
                marker=marker,
                color=colour,
                label=head,
            )
        for level, (colour, _) in zip(published[0][1:], DRAWN.values(), strict=True):
            axes.axhline(level, color=colour, linestyle=":", linewidth=1)
        axes.set(xlabel=what, xticks=sorted(placed), ylim=(0, 1))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    every[0].legend(frameon=False, fontsize=8, loc="lower right")
    drawn.savefig(target, metadata={"Software": None})
