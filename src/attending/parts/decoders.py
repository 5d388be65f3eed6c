"""Decoders: from raw scores to labels. The one decision step, saved with the model.

No torch here: linear and exported models decide in the same way.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError
from attending.records import LabelSet
from attending.specs import ArgmaxDecoder

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Decision:
    """How logits become probabilities and labels.

    kind: ``argmax``. temperature: logits are divided by it before the softmax.
    abstain_below: no label if the best probability is lower. note: why there is no temperature.
    """

    kind: str = "argmax"
    temperature: float = 1.0
    abstain_below: float | None = None
    note: str | None = None

    def probabilities(self, logits: Array) -> Array:
        """Return calibrated probabilities (N, L) of logits (N, L)."""
        scaled = logits.astype(np.float64) / self.temperature
        scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

    def decode(self, probabilities: Array, labels: LabelSet) -> list[tuple[str, ...]]:
        """Return the label ids of each row; an empty tuple where the model abstains.

        Equal scores go to the label that comes first in the set.
        """
        best = probabilities.argmax(axis=1)
        floor = self.abstain_below or 0.0
        return [
            (labels.ids[i],) if row[i] >= floor else ()
            for row, i in zip(probabilities, best, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the decision in its on-disk form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "decision.json") -> "Decision":
        """Read a decision.

        Raises:
            ModelError: If a value is unknown, of the wrong type or out of range.
        """
        known = {"kind", "temperature", "abstain_below", "note"}
        if not known.issuperset(values):
            found = ", ".join(sorted(set(values) - known))
            raise ModelError("holds unknown values", where=where, found=found)
        decision = cls(**values)
        floor = decision.abstain_below
        if (
            decision.kind != "argmax"
            or not (_is_number(decision.temperature) and decision.temperature > 0)
            or not (floor is None or (_is_number(floor) and 0 <= floor <= 1))
        ):
            raise ModelError("holds a decision that this version can't take", where=where)
        return decision


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def build_argmax(spec: ArgmaxDecoder, *, temperature: float = 1.0, **_: object) -> Decision:
    """Build the decision of a recipe, with a temperature fitted elsewhere."""
    return Decision("argmax", temperature, spec.abstain_below)
