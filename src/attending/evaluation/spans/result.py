"""The outcome of an evaluation of entities: every figure, its interval, and what it is over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attending.evaluation.calibration import Bin
from attending.evaluation.intervals import Interval
from attending.evaluation.multilabel.frequency import Bucket
from attending.evaluation.result import Figure
from attending.evaluation.spans.breakdown import Breakdown
from attending.evaluation.spans.definitions import SPAN_DEFINITIONS
from attending.evaluation.spans.layers import Layers
from attending.records import LabelSet

BOOTSTRAP = (
    "percentile bootstrap over documents drawn with replacement, all entities of a document"
    " together; draws in which a figure is undefined are left out; draws of averages over types,"
    " from which rare types fall out, are moved so that their mean is the figure"
)
MATCHING = (
    "the four schemes of nervaluate; two entities overlap if they share at least one in a hundred"
    " of the gold one's code points; a discontinuous entity is one entity, compared by its pieces;"
    " nested entities all count; entities that are the same on both sides find each other first"
)
WORDS = (
    "a word is of the entity that covers it; where several do, of the one that covers most code"
    " points, then of the first in the text"
)


@dataclass(frozen=True, slots=True)
class NotRead:
    """A document without an answer: why, and how many gold entities are missed by it."""

    id: str
    reason: str
    entities: int


@dataclass(frozen=True)
class SpanResult:
    """All figures of one evaluation of entities; ``SPAN_DEFINITIONS`` says what each means.

    Attributes:
        labels: The types; those that only documents have are at the end.
        coverage: Counts of documents: given, answered, not answered and why, read.
        metrics: Figures over all types.
        schemes: Correct, incorrect, partial, missed and spurious entities of each scheme.
        per_label: Figures of each type that occurs in the gold entities or in those found.
        groups: Figures by training frequency; empty where training counts aren't known.
        breakdown: What kinds of errors there are, and which types are taken for which.
        layers: What one layer of tags can't hold of the gold entities.
        found: How many entities were found.
        repeated: How many gold and found entities stood there more than once.
        not_read: Documents without an answer: all of their entities count as missed.
        unreadable: Ids of rows that are no documents.
        words: How many words there are, and in how many documents they are the source's own.
        intervals: Bootstrap intervals of figures over all types.
        label_intervals: Bootstrap intervals of each type's figures.
        group_intervals: Bootstrap intervals of each group's figures.
        undefined: Why a figure is ``None``, by path.
        settings: Confidence, resamples, seed, cut-offs, and whether a rule for words was given.
    """

    labels: LabelSet
    coverage: Mapping[str, int]
    metrics: Mapping[str, Figure]
    schemes: Mapping[str, Mapping[str, int]]
    per_label: Mapping[str, Mapping[str, Figure]]
    groups: tuple[Bucket, ...]
    breakdown: Breakdown
    layers: Layers
    found: int
    repeated: tuple[int, int]
    not_read: tuple[NotRead, ...]
    unreadable: tuple[str, ...]
    words: tuple[int, int]
    intervals: Mapping[str, Interval | None]
    label_intervals: Mapping[str, Mapping[str, Interval | None]]
    group_intervals: Mapping[str, Mapping[str, Interval | None]]
    undefined: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def headline(self) -> dict[str, Figure]:
        """The figures to show first."""
        keys = ("strict_micro_f1", "strict_macro_f1", "partial_micro_f1", "unweighted_accuracy")
        return {key: self.metrics[key] for key in keys}

    @property
    def reliability(self) -> tuple[Bin, ...]:
        """Entities have no probabilities here: always empty."""
        return ()

    @property
    def shares(self) -> Mapping[str, Interval | None]:
        """Entities of a document aren't independent, so no figure has a Wilson interval."""
        return {}

    @property
    def label_shares(self) -> Mapping[str, Mapping[str, Interval | None]]:
        """As ``shares``: an empty mapping for each type."""
        return {label: {} for label in self.per_label}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-safe values: no NaN, undefined figures are null."""
        rows = self.per_label
        used = [*self.metrics, *next(iter(rows.values()), {})]
        return {
            "format": 1,
            "task": "tagging",
            "label_set": {
                "name": self.labels.name,
                "labels": len(self.labels),
                "hash": self.labels.hash,
            },
            "documents": dict(self.coverage),
            "not_read": [asdict(document) for document in self.not_read],
            "unreadable_rows": list(self.unreadable),
            "entities": self._entities(),
            "words": {"words": self.words[0], "documents_with_own_words": self.words[1]},
            "metrics": dict(self.metrics),
            "schemes": {name: dict(row) for name, row in self.schemes.items()},
            "by_training_frequency": [
                group.to_dict() | {"intervals": _plain(self.group_intervals[group.name])}
                for group in self.groups
            ],
            "per_type": {label: dict(row) for label, row in rows.items()},
            "types_not_seen": [i for i in self.labels.ids if i not in rows],
            "errors": self.breakdown.to_dict(self.labels),
            "intervals": {
                **{key: self.settings[key] for key in ("confidence", "resamples", "seed")},
                "bootstrap": {
                    "method": BOOTSTRAP,
                    "metrics": _plain(self.intervals),
                    "per_type": {i: _plain(row) for i, row in self.label_intervals.items()},
                },
            },
            "undefined": dict(self.undefined),
            "rules": {"entities": MATCHING, "words": WORDS},
            "definitions": {key: SPAN_DEFINITIONS[key] for key in used},
        }

    def _entities(self) -> dict[str, int]:
        return {
            "gold": self.layers.entities,
            "found": self.found,
            "gold_repeated": self.repeated[0],
            "found_repeated": self.repeated[1],
            "gold_discontinuous": self.layers.discontinuous,
            "gold_overlapping": self.layers.overlapping,
            "gold_that_one_layer_holds": self.layers.flat,
        }

    def write(
        self,
        folder: str | Path,
        *,
        title: str = "Entities found",
        context: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> dict[str, Path]:
        """Write ``metrics.json``, ``summary.md`` and ``report.html`` into a folder.

        No document's text is in any of the three; documents are named by id. The text with its
        entities is a page of its own, see ``explain.spans_page``.

        Args:
            folder: Made where it doesn't exist; other files in it are left alone.
            title: The page's heading.
            context: Facts about the model and the data, shown as given.
            force: Whether files of these names may be replaced.

        Returns:
            The paths by kind: ``json``, ``summary``, ``page``.

        Raises:
            OutputError: If a file exists and ``force`` is false, or the folder can't be written.
        """
        from attending.evaluation.report import write_rendered
        from attending.evaluation.spans.view import span_view

        return write_rendered(
            folder,
            template="spans",
            view=span_view(self),
            machine=self.to_dict(),
            title=title,
            context=context or {},
            force=force,
        )


def _plain(row: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
    return {k: [v.low, v.high] if v else None for k, v in row.items()}
