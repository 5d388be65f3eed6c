"""Decoders: from raw scores to labels. The one decision step, saved with the model.

No torch here: linear and exported models decide in the same way.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attending.parts.choices import choose, lead
from attending.parts.decision_file import check_labels, check_values, kept_values
from attending.parts.prices import band_in_words, price_in_words
from attending.records import LabelSet
from attending.specs import ArgmaxDecoder, ThresholdDecoder, TopKDecoder

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Decision:
    """How logits become probabilities and labels.

    Attributes:
        kind: ``argmax`` (softmax, the best label), ``threshold`` (sigmoid, all labels that reach
            theirs) or ``top-k`` (sigmoid, the k best labels).
        temperature: Logits are divided by it before softmax or sigmoid.
        abstain_below: ``argmax``: no label if the probability of the chosen one is lower.
        abstain_margin: ``argmax``: no label if the chosen one isn't ahead of the next by so much.
        scales: ``argmax``: logits are multiplied by these in place of the temperature, one a
            label in their order, and
        biases: added to, to make probabilities.
        prior_shift: ``argmax``: tau, how much a label's share of training rows is discounted.
        shares: Shares of training rows that the shift discounts, by label id.
        note: Why something was not fitted.
        shift: Added to the logits first, to undo what the loss did to them.
        threshold: The threshold of labels that have none of their own.
        thresholds: Own thresholds, by label id. ``argmax``: labels with a recall to keep; see
            ``attending.parts.choices``. A label that came by its threshold is always given, however
            unsure the model is.
        recall_floors: The recalls wanted, and what they were and cost on development rows, by
            label id; a record, which decides nothing.
        abstention: The same for handing over to a person.
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
    prior_shift: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict, hash=False)
    abstain_margin: float | None = None
    scales: tuple[float, ...] = ()
    biases: tuple[float, ...] = ()
    recall_floors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    abstention: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def probabilities(self, logits: Array) -> Array:
        """Return calibrated probabilities (N, L) of logits (N, L).

        ``argmax``: they sum to 1 over the labels of a row. Otherwise each label has its own.
        """
        scaled = logits.astype(np.float64)
        if self.kind != "argmax":
            return np.asarray(expit((scaled + self.shift) / self.temperature))
        if self.scales:
            scaled = scaled * np.array(self.scales) + np.array(self.biases)
        else:
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
            chosen, alerted = self._choose(probabilities, labels)
            silent = self.doubtful(probabilities, chosen) & ~alerted
            return [
                () if quiet else (labels.ids[i],) for i, quiet in zip(chosen, silent, strict=True)
            ]
        floors = self.floors(labels)
        return [
            tuple(labels.ids[i] for i in self._chosen(row, floors).tolist())
            for row in probabilities
        ]

    def best(self, probabilities: Array, labels: LabelSet) -> NDArray[np.intp]:
        """Return the position of the one label that each row (N, L) gets, (N,).

        With a shift, log p - tau log share decides. Probabilities stay what they are: what is
        corrected is the choice, for the mean of recalls in place of accuracy.
        Source: Menon et al. 2021, arXiv:2007.07314, equation 9, on calibrated probabilities.
        """
        return self._choose(probabilities, labels)[0]

    def raised(self, probabilities: Array, labels: LabelSet) -> NDArray[np.bool_]:
        """Return which rows (N, L) got their label by a threshold, (N,); they are never silent."""
        return self._choose(probabilities, labels)[1]

    def _choose(
        self, probabilities: Array, labels: LabelSet
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        scores = probabilities
        if self.prior_shift:
            known = np.maximum(probabilities, np.finfo(np.float64).tiny)
            shares = np.array([self.shares[i] for i in labels.ids])
            scores = np.log(known) - self.prior_shift * np.log(shares)
        if not self.thresholds:
            return np.asarray(scores.argmax(axis=1)), np.zeros(len(scores), bool)
        return choose(scores, probabilities, labels, self.thresholds)

    def doubtful(self, probabilities: Array, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which rows (N, L) are too unsure for the label that was chosen (N,), (N,)."""
        rows = np.arange(len(probabilities))
        unsure = probabilities[rows, chosen] < (self.abstain_below or 0.0)
        if self.abstain_margin is not None:
            unsure |= lead(probabilities, chosen) < self.abstain_margin
        return np.asarray(unsure)

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
            return self._describe_one()
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
        said += [price_in_words(x, p) for x, p in self.recall_floors.items()]
        return [*said, self.note] if self.note else said

    def _describe_one(self) -> list[str]:
        manner = f"temperature {self.temperature:.3f}"
        if self.scales:
            manner = "every label's score has a scale and an offset of its own"
        said = [f"The label with the highest score; {manner}"]
        if self.prior_shift:
            said.append(
                "Rare labels are preferred: highest is log probability - "
                f"{self.prior_shift:g} x log of the label's share of training rows"
            )
        said += [
            f"{label} goes to what reaches {value:.4g} for it, and to nothing else"
            for label, value in self.thresholds.items()
        ]
        said += [price_in_words(x, p) for x, p in self.recall_floors.items()]
        if self.note:
            said.append(self.note)
        if self.abstain_below is not None:
            which = "its" if self.prior_shift or self.thresholds else "the best"
            said.append(f"No label if {which} probability is below {self.abstain_below:.4g}")
        if self.abstain_margin is not None:
            said.append(
                f"No label unless its probability is {self.abstain_margin:.4g} ahead of the next"
            )
        return [*said, *band_in_words(self.abstention)]

    def to_dict(self) -> dict[str, Any]:
        """Return the decision in its on-disk form."""
        return kept_values(asdict(self))

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
        check_values(values, where)
        made: dict[str, Any] = {k: tuple(v) if k in _LISTS else v for k, v in values.items()}
        decision = cls(**made)
        if labels is not None:
            check_labels(values, labels, where)
        return decision


_LISTS = ("scales", "biases")


def build_argmax(
    spec: ArgmaxDecoder,
    *,
    temperature: float = 1.0,
    counts: Mapping[str, int] | None = None,
    **_: object,
) -> Decision:
    """Build the decision of a recipe, with a temperature fitted elsewhere.

    ``counts`` are training rows by label; a label without rows counts as having one, for its
    share would have no logarithm. A shift needs them: without, nothing is shifted.
    """
    margin = spec.abstain_margin
    if not spec.prior_shift or counts is None:
        return Decision("argmax", temperature, spec.abstain_below, abstain_margin=margin)
    known = {label: max(count, 1) for label, count in counts.items()}
    total = sum(known.values())
    return Decision(
        "argmax",
        temperature,
        spec.abstain_below,
        prior_shift=spec.prior_shift,
        shares={label: count / total for label, count in known.items()},
        abstain_margin=margin,
    )


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
