"""From scores of tags to spans: the decision step of taggers, saved with the model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from attending.errors import ModelError
from attending.parts.tagging.chains import Chain, Floats, Ints, Runs, best_tags, marginals, runs_of
from attending.specs import ArgmaxTagDecoder, ViterbiDecoder
from attending.tags import TagSet

_KINDS = ("tag-argmax", "viterbi")


@dataclass(frozen=True, slots=True)
class SpanDecision:
    """How scores of tags become spans with scores.

    Attributes:
        kind: ``tag-argmax`` (each word's best tag) or ``viterbi`` (the best sequence that the tags
            allow).
        temperature: Log probabilities are divided by it before they become a span's score; it
            moves no span.
        score: A span's score is the ``min`` or the ``mean`` of its words' probabilities.
        min_score: Spans of a lower score are not given.
        note: Why something was not fitted.
    """

    kind: str = "tag-argmax"
    temperature: float = 1.0
    score: str = "min"
    min_score: float = 0.0
    note: str | None = None

    def tags(
        self, logits: Floats, lengths: Sequence[int], known: TagSet, chain: Chain | None
    ) -> tuple[Ints, Floats]:
        """Return the tags (N, K) of words and the log probabilities (N, K, C) behind them.

        ``chain`` holds what a CRF learned; a CRF is always decoded as a sequence.
        """
        likely = self.likely(logits, lengths, known, chain)
        if chain is not None:
            return best_tags(logits, lengths, chain.within(known)), likely
        return self.decoded(likely, lengths, known), likely

    def likely(
        self, logits: Floats, lengths: Sequence[int], known: TagSet, chain: Chain | None
    ) -> Floats:
        """Return the log probabilities (N, K, C) of words' tags."""
        if chain is not None:
            return marginals(logits, lengths, chain.within(known))
        found: Floats = log_softmax(logits, axis=-1)
        return found

    def decoded(self, likely: Floats, lengths: Sequence[int], known: TagSet) -> Ints:
        """Return the tags (N, K) of words from log probabilities (N, K, C)."""
        if self.kind == "tag-argmax":
            return np.asarray(likely.argmax(axis=-1))
        return best_tags(likely, lengths, Chain.of_tags(known))

    def runs(
        self, tags: Ints, likely: Floats, lengths: Sequence[int], known: TagSet
    ) -> tuple[Runs, Floats]:
        """Return the spans that tags say, and their calibrated scores."""
        runs = runs_of(tags, lengths, known)
        if not len(runs):
            return runs, np.zeros(0)
        calm = likely / self.temperature
        calm = calm - np.logaddexp.reduce(calm, axis=-1, keepdims=True)
        chosen = np.exp(np.take_along_axis(calm, tags[..., None], axis=-1)[..., 0])
        scores = np.zeros(len(runs))
        for layer in np.unique(runs.layer).tolist():
            mine = runs.layer == layer
            edges = np.stack([runs.first[mine], runs.last[mine] + 1], axis=1).ravel()
            column = np.append(chosen[:, layer], 0.0)
            if self.score == "min":
                scores[mine] = np.minimum.reduceat(column, edges)[::2]
            else:
                words = edges[1::2] - edges[::2]
                scores[mine] = np.add.reduceat(column, edges)[::2] / words
        return runs, scores

    def describe(self) -> list[str]:
        """Say in a few sentences how spans are given."""
        how = "Each word's best tag" if self.kind == "tag-argmax" else "The best sequence of tags"
        words = "least" if self.score == "min" else "mean"
        said = [
            f"{how}; a span's score is the {words} probability of its words, "
            f"temperature {self.temperature:.3f}"
        ]
        if self.min_score:
            said.append(f"No span with a score below {self.min_score}")
        return [*said, self.note] if self.note else said

    def to_dict(self) -> dict[str, Any]:
        """Return the decision in its on-disk form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "decision.json") -> "SpanDecision":
        """Read a decision.

        Raises:
            ModelError: If a value is unknown, of the wrong type or out of range.
        """
        strange = sorted(set(values) - set(cls.__dataclass_fields__))
        if strange:
            raise ModelError("holds unknown values", where=where, found=", ".join(strange))
        wrong = [name for name, value in values.items() if not _fits(name, value)]
        if wrong or "kind" not in values:
            raise ModelError(
                "holds a decision that this version can't take",
                where=where,
                found=", ".join(f"a wrong {n}" for n in wrong) or "no kind",
            )
        return cls(**values)


def _fits(name: str, value: object) -> bool:
    if name == "kind":
        return value in _KINDS
    if name == "score":
        return value in ("min", "mean")
    if name == "note":
        return value is None or isinstance(value, str)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not np.isfinite(float(value)):  # type: ignore[arg-type]
        return False
    low = float(value)  # type: ignore[arg-type]
    return low > 0 if name == "temperature" else 0 <= low <= 1


def build_decision(
    spec: ArgmaxTagDecoder | ViterbiDecoder, *, temperature: float = 1.0, **_: object
) -> SpanDecision:
    """Build the decision of a recipe, with a temperature fitted elsewhere."""
    return SpanDecision(spec.kind, temperature, spec.score, spec.min_score)
