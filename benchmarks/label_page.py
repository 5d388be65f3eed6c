"""Writes docs/results/coding-cost.md from what the benchmarks of many labels found."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "results" / "coding-cost.md"
PICTURE = "coding-memory.png"
BOUND = 4.0
"""GiB within which 70,000 labels are to be scored."""
COLOURS = ("#0072B2", "#D55E00", "#009E73")
MARKERS = ("o", "s", "^")


def write_page() -> None:
    """Write the page from the figures at hand; a part without figures is left out."""
    lines = [
        "# What many labels cost",
        "",
        "Time and memory of label attention over described labels, with the bundled encoder. The "
        "texts are random words of the bundled corpus: only their lengths matter here.",
        "",
    ]
    parts = (
        ("label-cost", cost),
        ("label-sample", sampling),
        ("label-memory", memory),
        ("training-memory", training),
    )
    for name, part in parts:
        path = RESULTS / f"{name}.json"
        if path.is_file():
            lines += part(json.loads(path.read_text(encoding="utf-8")))
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def cost(report: Mapping[str, Any]) -> list[str]:
    """Return the part on the cost of a training step."""
    found: Mapping[str, Mapping[str, Any]] = report["found"]
    kinds = list(found)
    ways = list(found[kinds[0]])
    head = [f"{kind}, s | times cheaper" for kind in kinds]
    lines = [
        f"## A training step with {report['labels']:,} described labels",
        "",
        "```text",
        "python benchmarks/label_cost.py",
        "```",
        "",
        f"| How labels are encoded | {' | '.join(head)} |",
        "|---|" + "---:|" * (2 * len(kinds)),
    ]
    for way in ways:
        cells = [_timed(found[kind][way]) for kind in kinds]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    least = found[kinds[0]][ways[1]]["times_cheaper"]
    whole = ", ".join(f"{found[k][ways[1]]['times_cheaper']:.1f} ({k})" for k in kinds[1:])
    lines += [
        "",
        f"Processor seconds a step, {report['threads']} thread, {report['number']}, median of "
        f"{report['rounds']} rounds; a description has 15 tokens, a window 200. *Labels alone* is "
        "what a step spends on the labels' encodings, forward and backward; the other columns are "
        "whole steps, with the text, the attention and the optimiser.",
        "",
        f"As `label-description` has it (the second row), labels cost **{least:.0f} times less** "
        "than encoding all of them in every step. A whole step gains less, since the text has to "
        f"be read either way: {whole} times. The last row is all that can be gained.",
        "",
    ]
    return lines


def sampling(report: Mapping[str, Any]) -> list[str]:
    """Return the part on steps that score some of the labels."""
    lines = [
        f"## A training step that scores {report['sampled']} labels beside its documents' own",
        "",
        "```text",
        "python benchmarks/label_sample.py",
        "```",
        "",
        "| Labels | all in every step, s | some, s | times cheaper |",
        "|---:|---:|---:|---:|",
    ]
    for row in report["rows"]:
        cells = f"{row['all']:.2f} | {row['some']:.2f} | {row['times_cheaper']:.1f}"
        lines.append(f"| {row['labels']:,} | {cells} |")
    lines += [
        "",
        f"`lame`, two documents of four windows of 200 tokens, {report['threads']} thread, "
        f"{report['number']}, processor seconds, median of {report['rounds']} rounds; labels are "
        "not encoded anew in these steps. With `training.sampled_labels` a step costs what its "
        "documents cost, however many labels there are: each label left out is stood in for by one "
        "that was drawn, so that the loss and its gradient are in expectation those of all labels.",
        "",
    ]
    return lines


def training(report: Mapping[str, Any]) -> list[str]:
    """Return the part on memory while training."""
    rows: Sequence[Mapping[str, Any]] = report["rows"]
    lines = [
        f"## Memory of training on documents of {rows[0]['tokens']:,} words",
        "",
        "```text",
        "python benchmarks/training_memory.py",
        "```",
        "",
        "| Labels | before the first step, GiB | in all, GiB | seconds a step |",
        "|---:|---:|---:|---:|",
    ]
    for row in rows:
        cells = [f"{row['gib_before']:.2f}", f"{row['gib']:.2f}", f"{row['seconds_a_step']:.1f}"]
        lines.append(f"| {row['labels']:,} | {' | '.join(cells)} |")
    most = rows[-1]
    every = most["labels"] * most["tokens"] * report["batch"] * 4 / 2**30
    lines += [
        "",
        f"`{report['recipe']}`, 64 wide, with votes, bfloat16, {report['threads']} thread; every "
        f"label learns in every step of {report['batch']} documents. The most memory that the "
        "whole process ever held; the machine had other work, so seconds are an upper bound. "
        "Chunks of labels attend in turn, and what a chunk made is made again on the way back, so "
        "that what grows with labels is the labels themselves. One score for every label and word "
        f"of a batch would be {every:.2f} GiB alone with {most['labels']:,} labels, and attention "
        "keeps several of them.",
        "",
    ]
    return lines


def _timed(cell: Mapping[str, float]) -> str:
    seconds = cell["seconds"]
    if seconds < 0.001:
        return "0.000 | "
    return f"{seconds:.3f} | {cell['times_cheaper']:.1f}"


def memory(report: Mapping[str, Any]) -> list[str]:
    """Return the part on memory, and draw its picture."""
    rows: Sequence[Mapping[str, Any]] = report["rows"]
    names = list(dict.fromkeys(r["recipe"] for r in rows))
    counts = sorted({r["labels"] for r in rows})
    by = {(r["recipe"], r["labels"]): r for r in rows}
    _draw(by, names, counts)
    tokens = rows[0]["tokens"]
    lines = [
        f"## Memory of one document of {tokens:,} tokens",
        "",
        "```text",
        "python benchmarks/label_memory.py",
        "```",
        "",
        "| Labels | " + " | ".join(f"`{n}`, GiB | before, GiB | s" for n in names) + " |",
        "|---:|" + "---:|" * (3 * len(names)),
    ]
    for count in counts:
        cells = [_held(by[name, count]) for name in names if (name, count) in by]
        lines.append(f"| {count:,} | {' | '.join(cells)} |")
    most = max(r["gib"] for r in rows)
    kept = "stays within" if most <= BOUND else "does not stay within"
    lines += [
        "",
        f"![Peak memory against the number of labels]({PICTURE})",
        "",
        "The most memory that the whole process ever held, in GiB: libraries, model, labels and "
        f"the prediction ({report['threads']} thread; seconds are of the processor, for the "
        "prediction alone). *Before* is the same count before the document was scored. The most is "
        f"{most:.2f} GiB, which {kept} {BOUND:g} GiB: labels attend in chunks whose size follows "
        "from the document's length, so what grows is the labels themselves: their vectors, and "
        "the ids, descriptions and tokens.",
        "",
    ]
    return lines


def _held(row: Mapping[str, Any]) -> str:
    return f"{row['gib']:.2f} | {row['gib_before']:.2f} | {row['processor_seconds']:.0f}"


def _draw(
    by: Mapping[tuple[str, int], Mapping[str, Any]], names: Sequence[str], counts: Sequence[int]
) -> None:
    figure = Figure(figsize=(7, 3.6), dpi=150, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for name, colour, marker in zip(names, COLOURS, MARKERS, strict=False):
        here = [c for c in counts if (name, c) in by]
        held = [by[name, c]["gib"] for c in here]
        axes.plot(here, held, marker=marker, color=colour, label=name)
    axes.axhline(BOUND, color="#555555", linestyle="--", linewidth=1)
    axes.text(counts[0], BOUND - 0.22, f"{BOUND:g} GiB", color="#555555", fontsize=9)
    axes.set(
        xlabel="labels",
        ylabel="peak memory, GiB",
        ylim=(0, BOUND + 0.3),
        xticks=list(counts),
        xticklabels=[f"{c:,}" for c in counts],
    )
    axes.tick_params(axis="x", labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(PAGE.parent / PICTURE, metadata={"Software": None})


if __name__ == "__main__":
    write_page()
