"""The outcome of an evaluation: every figure, its interval, and why it may be undefined."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from attending.evaluation.calibration import Bin
from attending.evaluation.definitions import DEFINITIONS
from attending.evaluation.intervals import Interval
from attending.records import LabelSet

Figure = float | int | None
NO_ANSWER = "no answer"
BOOTSTRAP = (
    "percentile bootstrap over documents drawn with replacement, not stratified: the mix of"
    " labels varies as it would in a new sample; draws in which a figure is undefined are left out"
)
WILSON = "Wilson's interval for a share; it doesn't shrink to a point when all or none are right"


def plain(value: Any) -> float | None:
    """Return a number as a float, ``None`` where it is NaN or infinite."""
    number = float(value)
    return number if math.isfinite(number) else None


class Evaluated(Protocol):
    """What evaluations of both tasks have in common, as tables and reports read it."""

    @property
    def labels(self) -> LabelSet:
        """The label set evaluated on."""

    @property
    def coverage(self) -> Mapping[str, int]:
        """Counts of documents."""

    @property
    def metrics(self) -> Mapping[str, Figure]:
        """Figures over all labels."""

    @property
    def per_label(self) -> Mapping[str, Mapping[str, Figure]]:
        """Figures of each label, by label id."""

    @property
    def headline(self) -> Mapping[str, Figure]:
        """The figures to show first."""

    @property
    def reliability(self) -> tuple[Bin, ...]:
        """Bins of probabilities."""

    @property
    def intervals(self) -> Mapping[str, Interval | None]:
        """Bootstrap intervals of figures over all labels."""

    @property
    def shares(self) -> Mapping[str, Interval | None]:
        """Wilson intervals of figures over all labels."""

    @property
    def label_intervals(self) -> Mapping[str, Mapping[str, Interval | None]]:
        """Bootstrap intervals of each label's figures."""

    @property
    def label_shares(self) -> Mapping[str, Mapping[str, Interval | None]]:
        """Wilson intervals of each label's figures."""

    @property
    def undefined(self) -> Mapping[str, str]:
        """Why a figure is ``None``, by path."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Confidence, resamples, seed."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-safe values."""


@dataclass(frozen=True)
class Evaluation:
    """All figures of one evaluation; see ``DEFINITIONS`` for what each means.

    Figures that the data can't define are ``None``; ``undefined`` says why, by the path of the
    figure in ``to_dict`` (``per_label.urgent.roc_auc``).

    Attributes:
        labels: The label set evaluated on.
        coverage: Counts of documents: given, labelled, answered, not answered and why, read.
        metrics: Figures over all labels.
        per_label: Figures of each label, by label id.
        confusion: (L, L + 1) counts, rows the truth, the last column "no answer".
        averaged: Support of the labels that ``macro_f1`` is over, by label id.
        defined: For each ranking figure, over how many of how many labels its macro is.
        reliability: Bins of the highest probability, equal width.
        intervals: Bootstrap intervals of figures over all labels.
        label_intervals: Bootstrap intervals of each label's precision, recall and F1.
        shares: Wilson intervals of ``accuracy``.
        label_shares: Wilson intervals of each label's precision and recall.
        undefined: Why a figure is ``None``, by path.
        settings: Confidence, resamples and seed.
    """

    labels: LabelSet
    coverage: Mapping[str, int]
    metrics: Mapping[str, Figure]
    per_label: Mapping[str, Mapping[str, Figure]]
    confusion: tuple[tuple[int, ...], ...]
    averaged: Mapping[str, int]
    defined: Mapping[str, tuple[int, int]]
    reliability: tuple[Bin, ...]
    intervals: Mapping[str, Interval | None]
    label_intervals: Mapping[str, Mapping[str, Interval | None]]
    shares: Mapping[str, Interval | None]
    label_shares: Mapping[str, Mapping[str, Interval | None]]
    undefined: Mapping[str, str]
    settings: Mapping[str, float | int] = field(default_factory=dict)

    @property
    def headline(self) -> dict[str, Figure]:
        """The figures to show first; for ordered labels also those of the highest label."""
        figures: dict[str, Figure] = {key: self.metrics[key] for key in ("macro_f1", "accuracy")}
        if self.labels.ordered:
            highest = self.labels.ids[-1]
            for key in ("recall", "precision"):
                figures[f"{highest} {key}"] = self.per_label[highest][key]
        return figures

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-safe values: no NaN, undefined figures are null."""
        used = {*self.metrics, *(key for row in self.per_label.values() for key in row)}
        return {
            "format": 1,
            "task": "single-label",
            "label_set": {
                "name": self.labels.name,
                "ordered": self.labels.ordered,
                "ids": list(self.labels.ids),
                "hash": self.labels.hash,
            },
            "documents": dict(self.coverage),
            "metrics": dict(self.metrics),
            "macro_f1_over": {
                "support": dict(self.averaged),
                "left_out": [i for i in self.labels.ids if i not in self.averaged],
            },
            "macro_defined": {k: {"labels": a, "of": b} for k, (a, b) in self.defined.items()},
            "per_label": {label: dict(row) for label, row in self.per_label.items()},
            "confusion": {
                "rows": list(self.labels.ids),
                "columns": [*self.labels.ids, NO_ANSWER],
                "counts": [list(row) for row in self.confusion],
            },
            "reliability": [asdict(b) for b in self.reliability],
            "intervals": self._intervals(),
            "undefined": dict(self.undefined),
            "definitions": {key: DEFINITIONS[key] for key in DEFINITIONS if key in used},
        }

    def _intervals(self) -> dict[str, Any]:
        def plain(row: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
            return {k: [v.low, v.high] if v else None for k, v in row.items()}

        def section(
            method: str,
            overall: Mapping[str, Interval | None],
            labels: Mapping[str, Mapping[str, Interval | None]],
        ) -> dict[str, Any]:
            rows = {label: plain(row) for label, row in labels.items()}
            return {"method": method, "metrics": plain(overall), "per_label": rows}

        return {
            **self.settings,
            "bootstrap": section(BOOTSTRAP, self.intervals, self.label_intervals),
            "wilson": section(WILSON, self.shares, self.label_shares),
        }
