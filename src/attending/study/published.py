"""A paper's figures beside ours: a table, dots, and points of learning curves."""

from collections.abc import Iterator
from typing import Any

from attending.evaluation.wording import UNDEFINED, count
from attending.study import wording
from attending.study.claims import TIMED
from attending.study.names import Figure, parse_figure
from attending.study.results import Block, Results, Row
from attending.study.spec import ALL, PublishedRow
from attending.study.timing import Timing

TIMED_TITLES = {
    "parameters": "Parameters",
    "megabytes": "MB on disk",
    "milliseconds": "ms a message",
    "cpu_seconds": "CPU seconds, test part",
}


def published_table(results: Results) -> dict[str, Any] | None:
    """Return a paper's rows with ours beside them: of as many training rows, where it says so."""
    table = results.study.head.published
    if table is None or not table.row:
        return None
    keys = list(dict.fromkeys(key for row in table.row for key in row.figures))
    corpora = [c for c in results.study.corpora if table.corpus in (None, c)]
    rows = []
    for corpus in corpora:
        timed = results.timing.get(corpus)
        for published in table.row:
            own = _beside(results, corpus, published)
            cells = [(_paper(key, published), _ours(key, own, timed)) for key in keys]
            rows.append(
                {
                    "name": published.name,
                    "system": published.system or UNDEFINED,
                    "corpus": corpus,
                    "cells": cells,
                }
            )
    titles = [TIMED_TITLES.get(key) or parse_figure(key).title for key in keys]
    return {
        "source": table.source,
        "note": _closed(table.note),
        "titles": titles,
        "rows": rows,
        "several": len(corpora) > 1,
    }


def published_dots(results: Results, block: Block, figure: Figure) -> dict[str, float]:
    """Return a paper's figures by system: those with as many training rows as a block."""
    main = block in results.main_blocks
    return {
        row.system: value
        for row, value in _values(results, block.corpus, figure)
        if row.system is not None and (row.rows == block.size or (main and row.rows == ALL))
    }


def published_points(
    results: Results, corpus: str, system: str, figure: Figure
) -> tuple[tuple[int, float], ...]:
    """Return a paper's figures for a system by training rows, as far as it says how many."""
    found = [
        (row.rows, value)
        for row, value in _values(results, corpus, figure)
        if row.system == system and row.rows != ALL
    ]
    return tuple(sorted(found))


def _values(results: Results, corpus: str, figure: Figure) -> Iterator[tuple[PublishedRow, float]]:
    table = results.study.head.published
    if table is None or table.corpus not in (None, corpus):
        return
    for row in table.row:
        for key, value in row.figures.items():
            if key not in TIMED and parse_figure(key) == figure:
                yield row, value[0] if isinstance(value, list) else value


def _beside(results: Results, corpus: str, published: PublishedRow) -> Row | None:
    """Return our row that a published one stands beside."""
    blocks = results.main_blocks if published.rows == ALL else results.blocks
    rows = [
        row
        for block in blocks
        if block.corpus == corpus and published.rows in (ALL, block.size)
        for row in block.rows
        if row.system == published.system
    ]
    return rows[0] if rows else None


def _closed(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _paper(key: str, row: PublishedRow) -> str:
    given = row.figures.get(key)
    if given is None:
        return UNDEFINED
    number, behind = given if isinstance(given, list) else (given, None)
    if key in TIMED:
        return timed_value(key, number)
    figure = parse_figure(key)
    said = wording.value(figure, number)
    return said if behind is None else f"{said} ± {wording.bare(figure, behind)}"


def _ours(key: str, row: Row | None, timed: Timing | None) -> str:
    if row is None:
        return UNDEFINED
    if key in TIMED:
        found = timed.systems.get(row.system) if timed else None
        if found is None:
            return millions(row.parameters) if key == "parameters" else UNDEFINED
        return timed_value(key, getattr(found, key))
    figure = parse_figure(key)
    return wording.with_spread(figure, row.spreads.get(figure))


def timed_value(key: str, value: float | None) -> str:
    """Write a figure of size or time in the way of its kind."""
    if value is None:
        return UNDEFINED
    if key == "parameters":
        return millions(value)
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"


def millions(value: float | None) -> str:
    """Write a number of parameters: ``22.6 M``, ``3,003``."""
    if value is None:
        return UNDEFINED
    return f"{value / 1e6:.1f} M" if value >= 1e6 else count(round(value))
