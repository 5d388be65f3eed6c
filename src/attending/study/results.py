"""What came out of a study: rows with their spread, paired tests, and claims with a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from attending.errors import DataError
from attending.evaluation.intervals import Interval, percentile_interval
from attending.evaluation.significance import (
    PairedTest,
    SeedTest,
    Spread,
    holm,
    paired_over_seeds,
)
from attending.study.epochs import Epochs, by_epoch
from attending.study.folders import StudyFolder
from attending.study.names import Comparison, Figure, is_tested, parse_claim
from attending.study.plan import Cell, Study
from attending.study.runs import Run, compare, interval_of, paired_runs, runs_of, spread_of
from attending.study.spec import ALL, ClaimTable
from attending.study.timing import Timing, read_timing

Verdict = Literal["held", "not held", "not decided", "not tested"]


@dataclass(frozen=True, slots=True)
class Row:
    """A system on a corpus with a training size.

    values: each figure by seed. spreads, intervals and training (the same figures on training
    rows): by figure, ``None`` where undefined. failures: why a cell failed. missing: cells not
    made yet.
    """

    system: str
    values: Mapping[Figure, Mapping[int, float | None]]
    spreads: Mapping[Figure, Spread | None]
    intervals: Mapping[Figure, Interval | None]
    training: Mapping[Figure, Spread | None]
    seconds: Spread | None
    parameters: int | None
    failures: tuple[tuple[Cell, str], ...]
    missing: tuple[Cell, ...]

    @property
    def runs(self) -> int:
        """How many runs are finished."""
        return self.seconds.n if self.seconds else 0


@dataclass(frozen=True, slots=True)
class Tested:
    """A system against another.

    documents and seeds: the tests over either. p: what is adjusted for the number of tests, that
    over documents but for claims with a margin; adjusted: the same by Holm.
    """

    a: str
    b: str
    figure: Figure
    documents: PairedTest
    seeds: SeedTest | None
    p: float = 1.0
    adjusted: float = 1.0

    @property
    def interval(self) -> Interval | None:
        """The interval of the difference over documents and, where there are several, seeds."""
        return self.documents.with_seeds or self.documents.interval


@dataclass(frozen=True, slots=True)
class Block:
    """All systems on one corpus with one training size.

    tests: every system against the reference, on the first figure.
    """

    corpus: str
    size: int | None
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...]
    tests: tuple[Tested, ...]
    documents: int
    training_rows: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim on a corpus and what the test says of it."""

    claim: ClaimTable
    compared: Comparison
    corpus: str
    verdict: Verdict
    reason: str
    tested: Tested | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a study's tables and pictures show."""

    study: Study
    blocks: tuple[Block, ...]
    claims: tuple[Claimed, ...]
    timing: Mapping[str, Timing]
    environments: tuple[str, ...]
    notes: Mapping[str, tuple[str, ...]]
    epochs: tuple[Epochs, ...] = ()

    @property
    def main_blocks(self) -> list[Block]:
        """The blocks of the largest training size: what the main table shows."""
        return [block for block in self.blocks if block.size == self.study.largest]

    @property
    def failures(self) -> list[tuple[Cell, str]]:
        """Cells that failed, with the reason."""
        return [f for block in self.blocks for row in block.rows for f in row.failures]

    @property
    def missing(self) -> list[Cell]:
        """Cells that are not made yet."""
        return [c for block in self.blocks for row in block.rows for c in row.missing]


def collect(home: StudyFolder) -> Results:
    """Read the finished cells of a study and work out its results."""
    study = home.study
    runs = {
        (corpus, size, system): runs_of(home, corpus, system, size)
        for corpus in study.corpora
        for size in study.sizes
        for system in study.systems
    }
    blocks = tuple(
        _block(home, corpus, size, {s: runs[corpus, size, s] for s in study.systems})
        for corpus in study.corpora
        for size in study.sizes
    )
    every = [run for of_system in runs.values() for run in of_system]
    notes = {
        name: tuple(dict.fromkeys([*corpus.notes, *_split_notes(study, name)]))
        for name, corpus in study.corpora.items()
    }
    return Results(
        study,
        blocks,
        tuple(_claims(study, runs)),
        {name: found for name in study.corpora if (found := read_timing(home, name))},
        tuple(sorted({_machine(facts["environment"]) for run in every for facts in run.facts})),
        notes,
        tuple(_epochs(home)),
    )


def _epochs(home: StudyFolder) -> Iterator[Epochs]:
    size = home.study.largest
    for corpus in home.study.corpora:
        found = by_epoch(home, corpus, size, home.study.figures[corpus])
        if found is not None:
            yield found


def _split_notes(study: Study, corpus: str) -> tuple[str, ...]:
    seed = next(iter(study.systems.values())).seeds[0]
    return study.corpora[corpus].parts(seed, study.folds(corpus)[0]).notes


def _machine(found: Mapping[str, object]) -> str:
    """Say on what a cell was made, in one line."""
    versions = found["versions"]
    named = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    threads = f"{found['threads']} of {found['cores']} processor cores"
    used = "" if found["device"] == "processor" else f", {found['device']}"
    return f"{found['system']} {found['machine']}, {threads}{used}; {named}"


def _block(
    home: StudyFolder, corpus: str, size: int | None, runs: Mapping[str, Sequence[Run]]
) -> Block:
    study = home.study
    figures = study.figures[corpus]
    rows = tuple(_row(home, corpus, size, system, runs[system]) for system in study.systems)
    parts = study.corpora[corpus].parts(
        next(iter(study.systems.values())).seeds[0], study.folds(corpus)[0], size
    )
    first = next((found[0] for found in runs.values() if found), None)
    documents = len(parts.test) if first is None else len(first.documents)
    tests = tuple(_against(study, runs, figures[0]))
    return Block(corpus, size, figures, rows, tests, documents, len(parts.train))


def _row(home: StudyFolder, corpus: str, size: int | None, system: str, runs: Sequence[Run]) -> Row:
    study = home.study
    task = study.corpora[corpus].task
    figures = study.figures[corpus]
    cells = [
        Cell(corpus, system, seed, size, fold)
        for seed in study.systems[system].seeds
        for fold in study.folds(corpus)
    ]
    open_ = [(cell, home.cell(cell)) for cell in cells if not home.cell(cell).done]
    parameters = [facts["parameters"] for run in runs for facts in run.facts]
    return Row(
        system=system,
        values={f: {run.seed: run.value(f) for run in runs} for f in figures},
        spreads={f: spread_of([run.value(f) for run in runs]) for f in figures},
        intervals={f: interval_of(runs, f) if is_tested(f, task) else None for f in figures},
        training={f: spread_of([run.training_value(f) for run in runs]) for f in figures},
        seconds=spread_of([run.seconds for run in runs]),
        parameters=parameters[0] if parameters else None,
        failures=tuple((c, reason) for c, folder in open_ if (reason := folder.failure)),
        missing=tuple(c for c, folder in open_ if not folder.failure),
    )


def _against(study: Study, runs: Mapping[str, Sequence[Run]], figure: Figure) -> Iterator[Tested]:
    """Test every system against the reference; adjusted by Holm for how many there are."""
    reference = study.head.reference
    if reference is None:
        return
    found = [
        tested
        for system in runs
        if system != reference
        and isinstance(
            tested := pair_test(runs, system, reference, figure, study.head.rounds), Tested
        )
    ]
    for tested, adjusted in zip(found, holm([t.p for t in found]), strict=True):
        yield replace(tested, adjusted=adjusted)


def pair_test(
    runs: Mapping[str, Sequence[Run]], a: str, b: str, figure: Figure, rounds: int
) -> Tested | str:
    """Test two systems over documents and over seeds, or say why that can't be done."""
    if not runs[a] or not runs[b]:
        return "a system has no finished run"
    first, second = paired_runs(runs[a], runs[b], figure=figure)
    if not first or not second:
        return "no seed is finished by both systems"
    if figure.group is not None and any(len(run.figures) > 1 for run in (*first, *second)):
        return "which labels have how many training documents differs between folds"
    try:
        documents = compare(first, second, figure, rounds)
        seeds = paired_over_seeds(documents.a_runs, documents.b_runs)
    except DataError:
        return "the figure is undefined on these test documents"
    several = seeds if seeds.seeds > 1 else None
    return Tested(a, b, figure, documents, several, documents.p_value)


def _claims(
    study: Study, runs: Mapping[tuple[str, int | None, str], Sequence[Run]]
) -> Iterator[Claimed]:
    """Test every claim; adjusted by Holm for how many were tested in the whole study."""
    asked: list[tuple[ClaimTable, Comparison, str, Tested | str]] = []
    for claim in study.file.claims:
        made = parse_claim(claim.says)
        size = None if claim.rows == ALL else claim.rows
        for corpus in study.corpora:
            if claim.corpus in (None, corpus):
                own = {s: runs[corpus, size, s] for s in study.systems}
                tested = pair_test(own, made.a, made.b, made.figure, study.head.rounds)
                asked.append((claim, made, corpus, tested))
    chances = [_chance(made, tested) for _, made, _, tested in asked if isinstance(tested, Tested)]
    both = iter(zip(chances, holm(chances), strict=True))
    for claim, made, corpus, tested in asked:
        if isinstance(tested, str):
            yield Claimed(claim, made, corpus, "not tested", tested)
            continue
        p, adjusted = next(both)
        final = replace(tested, p=p, adjusted=adjusted)
        verdict, reason = decide(made, final, study.head.alpha)
        yield Claimed(claim, made, corpus, verdict, reason, final)


def _chance(made: Comparison, tested: Tested) -> float:
    """Return the p-value of a claim.

    Without a margin it is that of the paired test. That test knows only one null hypothesis, that
    the systems are equal; with a margin, p is twice the smaller share of the bootstrap draws on
    either side of it.
    """
    if not made.margin:
        return tested.documents.p_value
    draws = np.asarray(tested.documents.draws)
    below, above = (draws <= -made.margin).sum(), (draws >= -made.margin).sum()
    return float(min(1.0, 2 * (1 + min(below, above)) / (1 + len(draws))))


def decide(made: Comparison, tested: Tested, alpha: float) -> tuple[Verdict, str]:
    """Say whether a claim held.

    It takes both: the paired test over documents (adjusted) and the interval, at 1 - alpha, in
    which seeds are drawn as well. The test alone asks only about the documents; with few seeds,
    systems that are equally good differ by the luck of their seeds.
    """
    lead = tested.documents.difference + made.margin
    interval = percentile_interval(np.asarray(tested.documents.draws), 1 - alpha)
    apart = interval is None or not interval.low <= -made.margin <= interval.high
    if tested.adjusted < alpha and apart:
        if lead > 0:
            return "held", ""
        return "not held", "the opposite was found" if not made.margin else ""
    if tested.adjusted < alpha:
        return "not decided", "clear on these seeds, but other seeds could turn it"
    return "not decided", "the difference could be luck"
