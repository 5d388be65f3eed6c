"""What is claimed about systems, and what of that can't be tested."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attending.errors import StudyError, nearest
from attending.study.names import Comparison, fault_of, is_tested, parse_claim, parse_figure
from attending.study.spec import ALL, ClaimTable, PublishedTable

if TYPE_CHECKING:
    from attending.study.plan import Study

TIMED = ("parameters", "cpu_seconds", "milliseconds", "megabytes")
"""Figures of size and time, which a paper may give too."""


def faults(study: "Study", names: Sequence[str]) -> list[str]:
    """Say which claims and published figures name what the study hasn't.

    ``names`` are the systems of the file, those with faults too.
    """
    found: list[str] = []
    for claim in study.file.claims:
        found += _of_claim(study, claim, names)
    if study.head.published is not None:
        found += _of_published(study, study.head.published, names)
    return found


def _of_claim(study: "Study", claim: ClaimTable, names: Sequence[str]) -> list[str]:
    try:
        made = parse_claim(claim.says)
    except StudyError as error:
        return [str(error)]
    where = f'claim "{claim.says}"'
    found = [
        f'{where}: no system "{name}".{nearest(name, names)}'
        for name in (made.a, made.b)
        if name not in names
    ]
    if made.a == made.b:
        found.append(f"{where}: compares a system with itself")
    if claim.rows != ALL and claim.rows not in study.sizes:
        found.append(f"{where}: {claim.rows} is not among the sizes of the study")
    elif claim.rows == ALL and None not in study.sizes:
        found.append(f'{where}: "all" is not among the sizes of the study; say rows = ...')
    return [*found, *_of_figure(study, claim, made, where)]


def _of_figure(study: "Study", claim: ClaimTable, made: Comparison, where: str) -> list[str]:
    if claim.corpus is not None and claim.corpus not in study.corpora:
        near = nearest(claim.corpus, study.corpora)
        return [f'{where}: no corpus "{claim.corpus}".{near}'] if study.corpora else []
    corpora = [c for c in study.corpora.values() if claim.corpus in (None, c.name)]
    found = []
    for corpus in corpora:
        fault = fault_of(made.figure, corpus.task, corpus.labels.ids)
        if fault:
            found.append(f'{where} on "{corpus.name}": {fault}')
        elif not is_tested(made.figure, corpus.task):
            found.append(f'{where}: no paired test is known for "{made.figure}"')
    return list(dict.fromkeys(found))


def _of_published(study: "Study", table: PublishedTable, names: Sequence[str]) -> list[str]:
    found = []
    if table.corpus is not None and study.corpora and table.corpus not in study.corpora:
        found.append(
            f'published: no corpus "{table.corpus}".{nearest(table.corpus, study.corpora)}'
        )
    corpora = [c for c in study.corpora.values() if table.corpus in (None, c.name)]
    for row in table.row:
        where = f'published row "{row.name}"'
        if row.system is not None and row.system not in names:
            found.append(f'{where}: no system "{row.system}".{nearest(row.system, names)}')
        for key, value in row.figures.items():
            if isinstance(value, list) and len(value) != 2:
                found.append(f'{where}: "{key}" must be a number or [number, what stands behind ±]')
            if key in TIMED:
                continue
            wrong = [fault_of(parse_figure(key), c.task, c.labels.ids) for c in corpora]
            if wrong and all(wrong):
                found.append(f"{where}: {wrong[0]}")
    return found
