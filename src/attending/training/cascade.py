"""From two models to one cascade: the smallest margin at which answers stay those of the second."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError
from attending.models.base import Model, Progress, Scored
from attending.models.cascade import (
    CascadeModel,
    leads,
    logarithms,
    of_probabilities,
    probabilities,
    require_alike,
)
from attending.records import Row

CHANGED = 0.02
"""Share of answers that may be other than the second model's, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin and what it did on the rows that it was chosen on.

    Attributes:
        margin: From which lead on the first model answers.
        rows: Rows that both models could read.
        first: How many of them the first model answers.
        changed: How many of them get another label than the second alone would give.
    """

    margin: float
    rows: int
    first: int
    changed: int


def make_cascade(
    first: Model,
    second: Model,
    rows: Sequence[Row],
    *,
    changed: float = CHANGED,
    share: float | None = None,
    scored: tuple[Sequence[Scored], Sequence[Scored]] | None = None,
    progress: Progress | None = None,
) -> tuple[CascadeModel, Margin]:
    """Return the cascade of two models, with the margin that unseen rows ask for.

    Rows need no labels: what is kept is agreement with the second model. The margin is the smallest
    at which no more than ``changed`` of all rows get another label than the second would give;
    with ``share``, the one at which the first model answers that share of the rows, whatever
    changes. The decision is the second's, on the probabilities of whichever model answers.

    Args:
        first: The quick model.
        second: The thorough one.
        rows: Rows that trained neither.
        changed: Share of answers, from 0 to 1.
        share: Share of rows that the first model is to answer, between 0 and 1.
        scored: Both models' scores of the rows, where they are known already.
        progress: Told of the rows that the second model has scored.

    Raises:
        ModelError: If the models can't answer as one, both read none of the rows, or the first
            model agrees too rarely to answer any.
    """
    require_alike(first, second)
    if scored is None:
        scored = first.scores(rows), second.scores(rows, progress=progress)
    pairs = zip(logarithms(first, scored[0]), logarithms(second, scored[1]), strict=True)
    both = [(a, b) for a, b in pairs if a.logits is not None and b.logits is not None]
    if not both:
        raise ModelError(
            "a cascade's margin is chosen on real rows, and both models read none of these",
            found=f"{len(rows):,} rows",
            step="Name others, or the column of their texts.",
        )
    quick, thorough = (probabilities(found) for found in zip(*both, strict=True))
    decision, labels = of_probabilities(second.decision), second.labels
    other = decision.best(quick, labels) != decision.best(thorough, labels)
    ahead = leads(quick)
    found = margin_for(ahead, other, changed) if share is None else _share(ahead, other, share)
    return CascadeModel(first, second, found.margin), found


def margin_for(ahead: NDArray[np.float64], other: NDArray[np.bool_], changed: float) -> Margin:
    """Return the smallest margin above which at most a share of all rows is answered otherwise."""
    for margin in np.unique(ahead):
        kept = ahead >= margin
        if other[kept].sum() <= changed * len(ahead):
            return _of(float(margin), ahead, other)
    raise ModelError(
        "the first model is never sure enough: where it is surest, it still answers otherwise than "
        "the second",
        allowed=f"{changed:.1%} of all answers",
        step="--changed allows more. A better first model answers more of the rows.",
    )


def _share(ahead: NDArray[np.float64], other: NDArray[np.bool_], share: float) -> Margin:
    wanted = max(1, int(share * len(ahead) + 0.5))
    return _of(float(np.sort(ahead)[-wanted]), ahead, other)


def _of(margin: float, ahead: NDArray[np.float64], other: NDArray[np.bool_]) -> Margin:
    kept = ahead >= margin
    return Margin(margin, len(ahead), int(kept.sum()), int(other[kept].sum()))
