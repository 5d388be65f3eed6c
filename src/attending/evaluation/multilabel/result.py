"""The outcome of a multi-label evaluation: every figure, its interval, and what it is over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attending.evaluation.calibration import Bin
from attending.evaluation.intervals import Interval
from attending.evaluation.multilabel.areas import Operating
from attending.evaluation.multilabel.definitions import definition_of
from attending.evaluation.multilabel.diversity import Diversity
from attending.evaluation.multilabel.frequency import Bucket, Constant, Removed
from attending.evaluation.result import WILSON, Figure
from attending.records import LabelSet

BOOTSTRAP = (
    "percentile bootstrap over documents drawn with replacement; draws in which a figure is"
    " undefined are left out; draws of macro figures, from which rare labels fall out, are moved so"
    " that their mean is the figure"
)


@dataclass(frozen=True)
class MultiLabelEvaluation:
    """All figures of one multi-label evaluation; ``definition_of`` says what each means.

    Attributes:
        labels: The label set evaluated on; labels that only documents have are at its end.
        coverage: Counts of documents: given, labelled, answered, not answered and why, read.
        metrics: Figures over all labels.
        per_label: Figures of each label that occurs in truth or answers, by label id.
        averaged: Over how many labels ``macro_f1`` is.
        defined: For each area figure, over how many of how many labels its macro is.
        diversity: How varied truth and answers are.
        constant: The best that giving every document the same labels could do here.
        buckets: Figures by training frequency; empty where training counts aren't known.
        removed: Figures with the n most frequent labels taken out.
        excluded: Figures with the labels asked for taken out, ``None`` where none were.
        curve: What other thresholds on the score would do.
        best: Its point of the highest F1, chosen on these very documents.
        reliability: Bins of the probabilities of all document-label cells.
        intervals: Bootstrap intervals of figures over all labels.
        label_shares: Wilson intervals of each label's precision and recall.
        notes: What a reader must know about these figures.
        undefined: Why a figure is ``None``, by path.
        settings: Confidence, resamples, seed and the other choices.
    """

    labels: LabelSet
    coverage: Mapping[str, int]
    metrics: Mapping[str, Figure]
    per_label: Mapping[str, Mapping[str, Figure]]
    averaged: int
    defined: Mapping[str, tuple[int, int]]
    diversity: Diversity
    constant: Constant | None
    buckets: tuple[Bucket, ...]
    removed: tuple[Removed, ...]
    excluded: Removed | None
    curve: tuple[Operating, ...]
    best: Operating | None
    reliability: tuple[Bin, ...]
    intervals: Mapping[str, Interval | None]
    label_shares: Mapping[str, Mapping[str, Interval | None]]
    notes: tuple[str, ...]
    undefined: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headline(self) -> dict[str, Figure]:
        """The figures to show first."""
        return {key: self.metrics[key] for key in ("micro_f1", "macro_f1", "map", self.cut)}

    @property
    def cut(self) -> str:
        """The key of the P@k to show first: of 5 where it was asked for, else of the largest."""
        ks = self.settings["ks"]
        return f"p_at_{5 if 5 in ks else max(ks)}"

    @property
    def shares(self) -> Mapping[str, Interval | None]:
        """No figure over all labels is a share of independent things: always empty."""
        return {}

    @property
    def label_intervals(self) -> Mapping[str, Mapping[str, Interval | None]]:
        """Labels have Wilson intervals alone: an empty mapping for each."""
        return {label: {} for label in self.per_label}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-safe values: no NaN, undefined figures are null."""
        rows = self.per_label
        used = [*self.metrics, *next(iter(rows.values()), {})]
        return {
            "format": 1,
            "task": "multi-label",
            "label_set": {
                "name": self.labels.name,
                "labels": len(self.labels),
                "hash": self.labels.hash,
            },
            "documents": dict(self.coverage),
            "metrics": dict(self.metrics),
            "macro_f1_over": {"labels": self.averaged, "of": len(self.labels)},
            "macro_defined": {k: {"labels": a, "of": b} for k, (a, b) in self.defined.items()},
            "diversity": self.diversity.to_dict(),
            "constant_answer": None if self.constant is None else asdict(self.constant),
            "buckets": [bucket.to_dict() for bucket in self.buckets],
            "most_frequent_removed": [removed.to_dict() for removed in self.removed],
            "without": None if self.excluded is None else self.excluded.to_dict(),
            "per_label": {label: dict(row) for label, row in rows.items()},
            "labels_not_seen": len(self.labels) - len(rows),
            "thresholds": {
                "curve": [asdict(point) for point in self.curve],
                "best_f1_on_these_documents": None if self.best is None else asdict(self.best),
            },
            "reliability": [asdict(b) for b in self.reliability],
            "intervals": self._intervals(),
            "notes": list(self.notes),
            "undefined": dict(self.undefined),
            "definitions": {key: definition_of(key) for key in used},
        }

    def _intervals(self) -> dict[str, Any]:
        def plain(row: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
            return {k: [v.low, v.high] if v else None for k, v in row.items()}

        return {
            **{key: self.settings[key] for key in ("confidence", "resamples", "seed")},
            "bootstrap": {"method": BOOTSTRAP, "metrics": plain(self.intervals)},
            "wilson": {
                "method": WILSON,
                "per_label": {label: plain(row) for label, row in self.label_shares.items()},
            },
        }
