"""Finished runs of a system: what was predicted, by seed, and the figures of that.

A run is one seed on one corpus with one training size; the folds of a cross-validated corpus are
one run, their test parts together.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError
from attending.evaluation.counts import BoolArray
from attending.evaluation.intervals import Interval
from attending.evaluation.multilabel.metrics import KS
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, match_multilabel
from attending.evaluation.multilabel.significance import (
    mean_interval_multilabel,
    paired_multilabel,
)
from attending.evaluation.outcome import why_no_answer
from attending.evaluation.significance import (
    PairedTest,
    Spread,
    mean_and_spread,
    mean_interval,
    paired_randomisation,
)
from attending.evaluation.task import AnyEvaluation, evaluate_task
from attending.records import Document, LabelSet, Prediction
from attending.study.corpora import StudyCorpus
from attending.study.folders import StudyFolder
from attending.study.names import Figure, parse_claim
from attending.study.plan import Cell


@dataclass(frozen=True)
class Run:
    """One seed of a system: test documents without their texts, predictions, facts of its cells.

    figures: what was written of each cell, which knows its training documents. ks: cuts of the
    study's figures. alone: whether the system has no other seed.
    """

    seed: int
    corpus: StudyCorpus
    documents: tuple[Document, ...]
    predictions: tuple[Prediction, ...]
    facts: tuple[Mapping[str, Any], ...]
    figures: tuple[Mapping[str, Any], ...] = ()
    ks: tuple[int, ...] = ()
    alone: bool = False

    @cached_property
    def evaluation(self) -> AnyEvaluation:
        """All figures on the test documents."""
        more: dict[str, Any] = {}
        if self.corpus.task == "multi":
            more = {"ks": tuple(sorted({*KS, *self.ks})), "unknown": self.corpus.unknown}
        rows, given = self.documents, self.predictions
        return evaluate_task(self.corpus.task, rows, given, self.corpus.labels, resamples=0, **more)

    @cached_property
    def _matched(self) -> tuple[MultiLabelOutcome, LabelSet]:
        labels, unknown = self.corpus.labels, self.corpus.unknown
        return match_multilabel(self.documents, self.predictions, labels, unknown=unknown)

    @property
    def outcome(self) -> MultiLabelOutcome:
        """Truth and answers of a multi-label task, as matrices."""
        return self._matched[0]

    def members(self, group: str) -> BoolArray:
        """Mark the labels of a group by their training documents, (L,), as the cell counted them.

        Raises:
            DataError: If the cells are folds, each with training documents of its own, or nothing
                is known of them.
        """
        found = [g for cell in self.figures for g in cell.get("buckets", ()) if g["name"] == group]
        if len(found) != 1:
            raise DataError("groups of labels differ between folds or aren't known")
        low, high = found[0]["low"], found[0]["high"]
        counts = {i: row.get("training") or 0 for i, row in self.figures[0]["per_label"].items()}
        training = np.array([counts.get(i, 0) for i in self._matched[1].ids], np.int64)
        within: BoolArray = (training >= low) & (training <= (np.inf if high is None else high))
        return within

    def value(self, figure: Figure) -> float | None:
        """Return a figure; ``None`` where it is undefined.

        Precision of a label that was never given counts 0, as in the paired test.
        """
        if figure.group is not None:
            known = [_of_group(cell, figure) for cell in self.figures]
            return None if None in known or not known else float(np.mean(np.array(known, float)))
        found = self.evaluation
        row: Mapping[str, Any] = found.metrics
        if figure.label is not None:
            row = found.per_label.get(figure.label, {})
        return _counted(figure, row)

    def training_value(self, figure: Figure) -> float | None:
        """Return a figure on training rows, the mean over folds; ``None`` where it isn't known."""
        values = []
        for facts in self.facts:
            of = facts["training"]
            if of is None or figure.group is not None:
                return None
            row = of["metrics"] if figure.label is None else of["per_label"].get(figure.label, {})
            values.append(_counted(figure, row))
        known = [v for v in values if v is not None]
        return float(np.mean(known)) if known else None

    @property
    def seconds(self) -> float:
        """How long training took, all folds together."""
        return sum(float(f["seconds"]["training"]) for f in self.facts)

    @cached_property
    def keys(self) -> tuple[tuple[str, int], ...]:
        """Ids of the documents; those that occur several times are told apart by their order."""
        return tuple(_numbered([d.id for d in self.documents]))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The label of each document, empty where there is no answer."""
        return tuple("" if why_no_answer(p) else p.labels[0] for p in self.predictions)


def _of_group(cell: Mapping[str, Any], figure: Figure) -> float | None:
    """Return a figure of labels with so many training documents, from what a cell wrote."""
    for group in cell.get("buckets", ()):
        if group["name"] == figure.group:
            return _counted(figure, group["figures"])
    return None


def _counted(figure: Figure, row: Mapping[str, Any]) -> float | None:
    value = row.get(figure.key)
    if value is None and figure.label is not None and figure.key == "precision" and row:
        return 0.0
    return None if value is None else float(value)


def _numbered(ids: Sequence[str]) -> Iterator[tuple[str, int]]:
    seen: Counter[str] = Counter()
    for i in ids:
        yield i, seen[i]
        seen[i] += 1


def runs_of(home: StudyFolder, corpus: str, system: str, size: int | None) -> list[Run]:
    """Return the finished runs of a system, by seed; one with an unfinished fold isn't finished."""
    study = home.study
    ks = tuple(k for f in study.figures[corpus] if (k := f.cut))
    asked = [*study.figures[corpus], *(parse_claim(c.says).figure for c in study.file.claims)]
    grouped = any(f.group is not None for f in asked)
    found = []
    for seed in sorted(study.systems[system].seeds):
        folders = [
            home.cell(Cell(corpus, system, seed, size, fold)) for fold in study.folds(corpus)
        ]
        if not all(folder.done for folder in folders):
            continue
        parts = [folder.answers() for folder in folders]
        documents = tuple(d for rows, _ in parts for d in rows)
        predictions = tuple(p for _, given in parts for p in given)
        facts = tuple(folder.facts for folder in folders)
        alone = len(study.systems[system].seeds) == 1
        figures = tuple(folder.figures for folder in folders) if grouped else ()
        of = study.corpora[corpus]
        found.append(Run(seed, of, documents, predictions, facts, figures, ks, alone))
    return found


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """Return mean and spread of the values that are defined; ``None`` where none is."""
    known = [v for v in values if v is not None]
    return mean_and_spread(known) if known else None


def interval_of(runs: Sequence[Run], figure: Figure, seed: int = 0) -> Interval | None:
    """Return the interval of a system's mean, documents and seeds drawn; ``None`` if undefined."""
    if not runs:
        return None
    corpus = runs[0].corpus
    try:
        if corpus.task == "multi":
            return mean_interval_multilabel(
                [run.outcome for run in runs],
                figure.key,
                position=_position(corpus, figure),
                groups=_groups(runs, runs, figure),
                seed=seed,
            )
        truth, given = _laid_out(runs, [runs])
        return mean_interval(truth, given[0], figure.key, label=figure.label, seed=seed)
    except DataError:
        return None


def paired_runs(
    a: Sequence[Run], b: Sequence[Run], *, figure: Figure | None = None
) -> tuple[list[Run], list[Run]]:
    """Return the runs of two systems that go together: those of the same seeds.

    The run of a system with one seed, on a split that is the same for all seeds, goes with every
    run of the other. One of several that are to come doesn't: it is no seed that both have. Nor
    does any for a figure of labels by their training documents, which may be drawn by seed.
    """
    one_split = not any(run.corpus.per_seed for run in (*a, *b))
    one_split = one_split and (figure is None or figure.group is None)
    if one_split and a and b and (a[0].alone or b[0].alone):
        return list(a), list(b)
    seeds = {run.seed for run in a} & {run.seed for run in b}
    first, second = ([run for run in runs if run.seed in seeds] for runs in (a, b))
    return first, second


def compare(
    a: Sequence[Run], b: Sequence[Run], figure: Figure, rounds: int, seed: int = 0
) -> PairedTest:
    """Test two systems on the same documents; the runs are those of ``paired_runs``.

    Raises:
        DataError: If the figure is undefined for a system.
    """
    corpus = a[0].corpus
    if corpus.task == "multi":
        return paired_multilabel(
            [run.outcome for run in a],
            [run.outcome for run in b],
            figure.key,
            position=_position(corpus, figure),
            groups=_groups(a, b, figure),
            rounds=rounds,
            seed=seed,
        )
    truth, (first, second) = _laid_out([*a, *b], [a, b])
    return paired_randomisation(
        truth, first, second, figure.key, label=figure.label, rounds=rounds, seed=seed
    )


def _position(corpus: StudyCorpus, figure: Figure) -> int | None:
    return None if figure.label is None else corpus.labels.position(figure.label)


def _groups(a: Sequence[Run], b: Sequence[Run], figure: Figure) -> list[BoolArray] | None:
    """Mark the labels that a figure of a group is of: those in it in both runs of a seed."""
    group = figure.group
    if group is None:
        return None
    return [x.members(group) & y.members(group) for x, y in zip(a, b, strict=True)]


def _laid_out(
    every: Sequence[Run], systems: Sequence[Sequence[Run]]
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return truth and the answers of systems (S, N) over the documents of all runs.

    Truth is (N,) where all runs have the same documents, else (S, N), empty where a document is
    not in a run.
    """
    if len({run.keys for run in every}) == 1:
        truth = np.array([d.label or "" for d in every[0].documents])
        return truth, [np.array([run.answers for run in runs]) for runs in systems]
    place = {key: k for k, key in enumerate(dict.fromkeys(k for run in every for k in run.keys))}

    def row(run: Run, values: Sequence[str]) -> list[str]:
        cells = [""] * len(place)
        for key, value in zip(run.keys, values, strict=True):
            cells[place[key]] = value
        return cells

    truths = [row(run, [d.label or "" for d in run.documents]) for run in systems[0]]
    laid = [np.array([row(run, run.answers) for run in runs]) for runs in systems]
    return np.array(truths), laid
