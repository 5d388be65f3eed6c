"""Decoders: from raw scores to labels. The one decision step, saved with the model.

No torch here: linear and exported models decide in the same way.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attending.errors import ModelError, nearest
from attending.records import LabelSet
from attending.specs import ArgmaxDecoder, ThresholdDecoder, TopKDecoder

Array = NDArray[np.float64]

_VALUES = {
    "argmax": ("kind", "temperature", "abstain_below", "note"),
    "threshold": (
        "kind", "temperature", "shift", "threshold", "thresholds", "at_least_one", "keep_scores",
        "note",
    ),
    "top-k": ("kind", "temperature", "shift", "k", "keep_scores", "note"),
}  # fmt: skip
_REQUIRED = {"argmax": (), "threshold": ("threshold",), "top-k": ("k",)}


@dataclass(frozen=True, slots=True)
class Decision:
    """How logits become probabilities and labels.

    Attributes:
        kind: ``argmax`` (softmax, the best label), ``threshold`` (sigmoid, all labels that reach
            theirs) or ``top-k`` (sigmoid, the k best labels).
        temperature: Logits are divided by it before softmax or sigmoid.
        abstain_below: ``argmax``: no label if the best probability is lower.
        note: Why something was not fitted.
        shift: Added to the logits first, to undo what the loss did to them.
        threshold: The threshold of labels that have none of their own.
        thresholds: Own thresholds, by label id.
        at_least_one: ``threshold``: give the best label where none reaches its threshold.
        k: How many labels ``top-k`` gives.
        keep_scores: Of very many labels, scores of so many are reported.
    """

    kind: str = "argmax"
    temperature: float = 1.0
    abstain_below: float | None = None
    note: str | None = None
    shift: float = 0.0
    threshold: float = 0.5
    thresholds: Mapping[str, float] = field(default_factory=dict, hash=False)
    at_least_one: bool = False
    k: int = 1
    keep_scores: int = 100

    def probabilities(self, logits: Array) -> Array:
        """Return calibrated probabilities (N, L) of logits (N, L).

        ``argmax``: they sum to 1 over the labels of a row. Otherwise each label has its own.
        """
        scaled = logits.astype(np.float64)
        if self.kind != "argmax":
            return np.asarray(expit((scaled + self.shift) / self.temperature))
        scaled = scaled / self.temperature
        scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

    def decode(self, probabilities: Array, labels: LabelSet) -> list[tuple[str, ...]]:
        """Return the label ids of each row, the most probable first.

        ``argmax`` gives one, or none where the model abstains; ``threshold`` any number. Equal
        scores go in the order of the set.

        Raises:
            LabelError: If a threshold is of a label that is not in the set.
        """
        if self.kind == "argmax":
            best = probabilities.argmax(axis=1)
            floor = self.abstain_below or 0.0
            return [
                (labels.ids[i],) if row[i] >= floor else ()
                for row, i in zip(probabilities, best, strict=True)
            ]
        floors = self.floors(labels)
        return [
            tuple(labels.ids[i] for i in self._chosen(row, floors).tolist())
            for row in probabilities
        ]

    def floors(self, labels: LabelSet) -> Array:
        """Return every label's threshold, (L,), in the order of the set.

        Raises:
            LabelError: If a threshold is of a label that is not in the set.
        """
        floors = np.full(len(labels), self.threshold)
        for label, value in self.thresholds.items():
            floors[labels.position(label)] = value
        return floors

    def _chosen(self, row: Array, floors: Array) -> NDArray[np.intp]:
        """Return the positions that a row (L,) of probabilities gets, best first."""
        if self.kind == "top-k":
            return np.argsort(-row, kind="stable")[: self.k]
        chosen = np.flatnonzero(row >= floors)
        if not chosen.size and self.at_least_one:
            return np.array([row.argmax()])
        return chosen[np.argsort(-row[chosen], kind="stable")]

    def describe(self) -> list[str]:
        """Say in a few sentences how labels are given."""
        if self.kind == "argmax":
            said = [f"The label with the highest score; temperature {self.temperature:.3f}"]
            if self.note:
                said.append(self.note)
            if self.abstain_below is not None:
                said.append(f"No label if the best probability is below {self.abstain_below}")
            return said
        if self.kind == "top-k":
            said = [f"The {self.k} most probable labels; temperature {self.temperature:.3f}"]
        else:
            said = [
                f"Labels with a probability of at least {self.threshold:.3f}, the most probable "
                f"first; temperature {self.temperature:.3f}"
            ]
            if self.thresholds:
                low, high = min(self.thresholds.values()), max(self.thresholds.values())
                own = f"{len(self.thresholds)} labels have thresholds of their own"
                said.append(f"{own}, {low:.3f} to {high:.3f}")
            if self.at_least_one:
                said.append("The most probable label where none reaches its threshold")
        if self.shift:
            said.append(f"{self.shift:+.3f} on every score, which undoes the weights of the loss")
        return [*said, self.note] if self.note else said

    def to_dict(self) -> dict[str, Any]:
        """Return the decision in its on-disk form."""
        values = asdict(self)
        return {name: values[name] for name in _VALUES[self.kind]}

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        where: str = "decision.json",
        labels: LabelSet | None = None,
    ) -> "Decision":
        """Read a decision; with ``labels``, its thresholds must be of these.

        Raises:
            ModelError: If a value is unknown, missing, of the wrong type or out of range, or a
                threshold is of an unknown label.
        """
        kind = values.get("kind", "argmax")
        if not isinstance(kind, str) or kind not in _VALUES:
            raise ModelError(
                "holds a decision that this version can't take",
                where=where,
                found=f"kind {kind!r}",
                allowed=", ".join(_VALUES),
            )
        strange = sorted(set(values) - set(_VALUES[kind]))
        if strange:
            raise ModelError("holds unknown values", where=where, found=", ".join(strange))
        missing = [name for name in _REQUIRED[kind] if name not in values]
        wrong = [name for name, value in values.items() if not _fits(name, value)]
        if missing or wrong:
            raise ModelError(
                "holds a decision that this version can't take",
                where=where,
                found=", ".join([*(f"no {n}" for n in missing), *(f"a wrong {n}" for n in wrong)]),
            )
        decision = cls(**values)
        if labels is not None:
            _require_known(decision.thresholds, labels, where)
        return decision


def _require_known(thresholds: Mapping[str, float], labels: LabelSet, where: str) -> None:
    unknown = sorted(set(thresholds) - set(labels.ids))
    if unknown:
        first = f'"{unknown[0]}"'
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise ModelError(
            "holds thresholds of labels that the model doesn't have",
            where=where,
            found=first + more,
            step=nearest(unknown[0], labels.ids).strip() or None,
        )


def _fits(name: str, value: object) -> bool:
    """Say whether a value of a decision is of the right type and in range."""
    if name == "kind":
        return True
    if name == "note":
        return value is None or isinstance(value, str)
    if name == "at_least_one":
        return isinstance(value, bool)
    if name == "thresholds":
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and _is_share(share) for key, share in value.items()
        )
    if name in ("k", "keep_scores"):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if name == "temperature":
        return _is_number(value) and value > 0
    if name == "shift":
        return _is_number(value)
    return _is_share(value) or (name == "abstain_below" and value is None)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= value <= 1


def build_argmax(spec: ArgmaxDecoder, *, temperature: float = 1.0, **_: object) -> Decision:
    """Build the decision of a recipe, with a temperature fitted elsewhere."""
    return Decision("argmax", temperature, spec.abstain_below)


def build_threshold(
    spec: ThresholdDecoder,
    *,
    temperature: float = 1.0,
    shift: float = 0.0,
    threshold: float | None = None,
    thresholds: Mapping[str, float] | None = None,
    **_: object,
) -> Decision:
    """Build the decision of a recipe, with what was fitted elsewhere."""
    return Decision(
        "threshold",
        temperature,
        shift=shift,
        threshold=spec.threshold if threshold is None else threshold,
        thresholds=dict(thresholds or {}),
        at_least_one=spec.at_least_one,
        keep_scores=spec.keep_scores,
    )


def build_top_k(
    spec: TopKDecoder,
    *,
    temperature: float = 1.0,
    shift: float = 0.0,
    k: int | None = None,
    **_: object,
) -> Decision:
    """Build the decision of a recipe; ``k`` counts where the recipe leaves it open."""
    return Decision(
        "top-k", temperature, shift=shift, k=spec.k or k or 1, keep_scores=spec.keep_scores
    )
