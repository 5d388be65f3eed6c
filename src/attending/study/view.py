"""What the page and the Markdown table of a study show, ready for their templates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attending.data.wording import plural
from attending.evaluation.wording import UNDEFINED, decimal
from attending.study import wording
from attending.study.epochs import Epochs
from attending.study.names import Figure
from attending.study.pictures import EPOCHS, Curve, Dot, dot_plot, learning_curves
from attending.study.published import (
    TIMED_TITLES,
    millions,
    published_dots,
    published_points,
    published_table,
    timed_value,
)
from attending.study.results import Block, Claimed, Results, Row, Tested
from attending.study.timing import Timing

_COLUMNS = 10


def study_view(results: Results) -> dict[str, Any]:
    """Return what the templates of a study show."""
    study = results.study
    return {
        "title": study.file.name,
        "about": study.head.about,
        "alpha": f"{study.head.alpha:g}",
        "confidence": f"{100 * (1 - study.head.alpha):g}%",
        "rounds": study.head.rounds,
        "systems": len(study.systems),
        "seeds": sorted({s for system in study.systems.values() for s in system.seeds}),
        "short": wording.in_short(results),
        "blocks": [_block(results, block) for block in results.main_blocks],
        "claims": [_claim(claimed) for claimed in results.claims],
        "published": published_table(results),
        "curves": list(_curves(results)) if len(study.sizes) > 1 else [],
        "epochs": [_epochs(found) for found in results.epochs],
        "timing": [_timing(results, name, found) for name, found in results.timing.items()],
        "failures": [(str(cell), reason) for cell, reason in results.failures],
        "missing": [str(cell) for cell in results.missing],
        "corpora": [_corpus(results, name) for name in study.corpora],
        "recipes": list(_recipes(results)),
        "environments": results.environments,
        "figures": list(_definitions(results)),
        "context": {},
    }


def _block(results: Results, block: Block) -> dict[str, Any]:
    first = block.figures[0]
    reference = results.study.head.reference
    corpus = results.study.corpora[block.corpus]
    return {
        "corpus": block.corpus,
        "training_rows": block.training_rows,
        "documents": block.documents,
        "split": wording.split_in_words(corpus),
        "first": first.title,
        "others": [f.title for f in block.figures[1:]],
        "reference": reference,
        "rows": [_row(results, block, row) for row in block.rows],
        "training": any(row.training[first] for row in block.rows),
        "plot": _plot(results, block),
        "tests": [_test(tested) for tested in block.tests],
        "compared": plural(len(block.tests), "comparison"),
        "few_seeds": _few_seeds(block.tests),
    }


def _row(results: Results, block: Block, row: Row) -> dict[str, Any]:
    first, *others = block.figures
    spread = row.spreads[first]
    best = _best(block, first)
    return {
        "system": row.system,
        "reference": row.system == results.study.head.reference,
        "runs": row.runs,
        "wanted": len(results.study.systems[row.system].seeds),
        "best": row.system == best,
        "mean": wording.value(first, spread.mean if spread else None),
        "sd": wording.bare(first, spread.sd if spread else None),
        "se": wording.bare(first, spread.se if spread else None),
        "interval": wording.between(first, row.intervals[first]),
        "training": wording.with_spread(first, row.training[first]),
        "others": [wording.with_spread(f, row.spreads[f]) for f in others],
        "seconds": UNDEFINED if row.seconds is None else f"{row.seconds.mean:,.0f}",
        "parameters": millions(row.parameters),
        "failed": len(row.failures),
        "missing": len(row.missing),
    }


def _best(block: Block, figure: Figure) -> str | None:
    means = {row.system: s.mean for row in block.rows if (s := row.spreads[figure])}
    if not means:
        return None
    choose = min if figure.better_low else max
    return choose(means, key=lambda system: means[system])


def _plot(results: Results, block: Block) -> Any:
    first = block.figures[0]
    published = published_dots(results, block, first)
    dots = [
        Dot(
            row.system,
            spread.mean,
            row.intervals[first],
            tuple(v for v in row.values[first].values() if v is not None),
            published.get(row.system),
        )
        for row in block.rows
        if (spread := row.spreads[first])
    ]
    reference = next((d.mean for d in dots if d.name == results.study.head.reference), None)
    return dot_plot(dots, first.title, reference)


def _test(tested: Tested) -> dict[str, Any]:
    figure, documents, seeds = tested.figure, tested.documents, tested.seeds
    return {
        "a": tested.a,
        "b": tested.b,
        "figure": figure.title,
        "difference": wording.signed(figure, documents.difference),
        "interval": wording.signed_between(figure, tested.interval),
        "p": wording.chance(tested.p),
        "adjusted": wording.chance(tested.adjusted),
        "differing": documents.differing,
        "documents": documents.documents,
        "ahead": wording.seeds_in_words(tested),
        "p_seeds": UNDEFINED if seeds is None else wording.chance(seeds.p_value),
    }


def _few_seeds(tests: Sequence[Tested]) -> dict[str, Any] | None:
    """Return the least p-value of the test over seeds, where seeds are too few to decide."""
    known = [t.seeds for t in tests if t.seeds is not None and t.seeds.least > 0.05]
    if not known:
        return None
    fewest = min(known, key=lambda s: s.seeds)
    return {"seeds": fewest.seeds, "least": f"{fewest.least:.3g}"}


def _claim(claimed: Claimed) -> dict[str, Any]:
    tested = claimed.tested
    rows = claimed.claim.rows
    return {
        "says": claimed.claim.says,
        "text": claimed.claim.text,
        "corpus": claimed.corpus,
        "rows": "" if rows == "all" else f"{rows:,} rows",
        "verdict": claimed.verdict,
        "reason": claimed.reason,
        "test": None if tested is None else _test(tested),
    }


def _curves(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the learning curves of each corpus, picture and table."""
    for corpus in results.study.corpora:
        blocks = sorted(
            (b for b in results.blocks if b.corpus == corpus), key=lambda b: b.training_rows
        )
        figure = blocks[0].figures[0]
        curves = [_curve(results, system, blocks) for system in results.study.systems]
        rows = []
        for system in results.study.systems:
            own = [next(r for r in b.rows if r.system == system) for b in blocks]
            cells = [wording.with_spread(figure, r.spreads[figure]) for r in own]
            learnt = [wording.with_spread(figure, r.training[figure]) for r in own]
            rows.append({"system": system, "cells": cells, "training": learnt})
        yield {
            "corpus": corpus,
            "figure": figure.title,
            "sizes": [b.training_rows for b in blocks],
            "rows": rows,
            "training": any(c.training for c in curves),
            "published": any(c.published for c in curves),
            "picture": learning_curves(curves, figure.title),
        }


def _curve(results: Results, system: str, blocks: Sequence[Block]) -> Curve:
    figure = blocks[0].figures[0]
    points, learnt = [], []
    for block in blocks:
        row = next(r for r in block.rows if r.system == system)
        spread, known = row.spreads[figure], row.training[figure]
        if spread is not None:
            points.append((block.training_rows, spread.mean, spread.se))
        if known is not None:
            learnt.append((block.training_rows, known.mean))
    published = published_points(results, blocks[0].corpus, system, figure)
    return Curve(system, tuple(points), tuple(learnt), published)


def _epochs(found: Epochs) -> dict[str, Any]:
    """Return how networks came along, picture and table; of many epochs a table shows some."""
    figure = found.figure
    known = sorted({epoch for system in found.systems for epoch, _ in system.points})
    places = np.unique(np.linspace(0, len(known) - 1, min(_COLUMNS, len(known))).round())
    shown = [known[int(place)] for place in places]
    rows = []
    for system in found.systems:
        spreads = dict(system.points)
        cells = [wording.with_spread(figure, spreads.get(epoch)) for epoch in shown]
        rows.append({"system": system.system, "cells": cells})
    curves = [Curve(s.system, tuple((e, v.mean, v.se) for e, v in s.points)) for s in found.systems]
    return {
        "corpus": found.corpus,
        "figure": figure.title,
        "epochs": [f"{epoch:g}" for epoch in shown],
        "rows": rows,
        "picture": learning_curves(curves, figure.title, EPOCHS),
    }


def _timing(results: Results, corpus: str, timing: Timing) -> dict[str, Any]:
    reference = timing.systems.get(results.study.head.reference or "")
    rows = []
    for system in results.study.systems:
        found = timing.systems.get(system)
        if found is None:
            continue
        whole = reference.cpu_seconds if reference else 0.0
        ratio = found.cpu_seconds / whole if whole else None
        cells = [timed_value(key, getattr(found, key)) for key in TIMED_TITLES]
        rows.append({"system": system, "cells": cells, "ratio": decimal(ratio)})
    return {
        "corpus": corpus,
        "titles": list(TIMED_TITLES.values()),
        "rows": rows,
        "reference": results.study.head.reference if reference else None,
        "documents": timing.documents,
        "measured": timing.measured,
        "rounds": timing.rounds,
        "threads": timing.threads,
        "cores": timing.cores,
    }


def _corpus(results: Results, name: str) -> dict[str, Any]:
    corpus = results.study.corpora[name]
    task = "one label a document" if corpus.task == "single" else "any number of labels"
    return {
        "name": name,
        "labels": f"{len(corpus.labels)} labels, {task}",
        "split": wording.split_in_words(corpus),
        "notes": results.notes[name],
    }


def _recipes(results: Results) -> Iterator[Mapping[str, str]]:
    for system in results.study.systems.values():
        table = system.table
        settings = ", ".join(f"{k} = {v}" for k, v in sorted(_flat(table.settings).items()))
        recipe = next(iter(system.recipes.values()))
        encoder = recipe.get("encoder")
        named = "" if encoder is None else str(getattr(encoder, "name", encoder.kind))
        teacher = table.teacher or ""
        if teacher:
            teacher += " of the same seed" if table.teacher_seeds == "same" else " of all seeds"
        yield {
            "system": system.name,
            "recipe": recipe.name,
            "encoder": named.rpartition("/")[2] if named.startswith(("/", ".", "~")) else named,
            "settings": settings,
            "teacher": teacher,
            "seeds": ", ".join(map(str, system.seeds)),
        }


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    from attending.dotted import flatten

    return flatten(settings)


def _definitions(results: Results) -> Iterator[tuple[str, str]]:
    told: set[str] = set()
    for name, figures in results.study.figures.items():
        for figure in figures:
            if str(figure) not in told:
                told.add(str(figure))
                task = results.study.corpora[name].task
                yield str(figure), figure.definition(task)
