"""From two models to one cascade: the smallest margin at which answers stay those of the second."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError
from attending.models.base import Model, Progress
from attending.models.cascade import CascadeModel, logarithms, require_alike
from attending.parts.choices import lead
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
        progress: Told of the rows that the second model has scored.

    Raises:
        ModelError: If the models can't answer as one, both read none of the rows, or the first
            model agrees too rarely to answer any.
    """
    require_alike(first, second)
    whole = CascadeModel(first, second, 1.0)
    quick, thorough = _read_by_both(first, second, rows, progress)
    leads = lead(quick, quick.argmax(axis=1))
    decision, labels = whole.decision, whole.labels
    other = decision.best(quick, labels) != decision.best(thorough, labels)
    found = margin_for(leads, other, changed) if share is None else _share(leads, other, share)
    return CascadeModel(first, second, found.margin), found


def _read_by_both(
    first: Model, second: Model, rows: Sequence[Row], progress: Progress | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return probabilities (N, L) of both, of the rows that both can read."""
    told = {id(second): progress}
    scored = [
        [logarithms(model, s).logits for s in model.scores(rows, progress=told.get(id(model)))]
        for model in (first, second)
    ]
    both = [(a, b) for a, b in zip(*scored, strict=True) if a is not None and b is not None]
    if not both:
        raise ModelError(
            "a cascade's margin is chosen on real rows, and both models read none of these",
            found=f"{len(rows):,} rows",
            step="Name others, or the column of their texts.",
        )
    quick, thorough = (np.exp(np.stack(found)) for found in zip(*both, strict=True))
    return quick, thorough


def margin_for(leads: NDArray[np.float64], other: NDArray[np.bool_], changed: float) -> Margin:
    """Return the smallest margin above which at most a share of all rows is answered otherwise."""
    for margin in np.unique(leads):
        kept = leads >= margin
        if other[kept].sum() <= changed * len(leads):
            return _of(float(margin), leads, other)
    raise ModelError(
        "the first model is never sure enough: where it is surest, it still answers otherwise than "
        "the second",
        allowed=f"{changed:.1%} of all answers",
        step="--changed allows more. A better first model answers more of the rows.",
    )


def _share(leads: NDArray[np.float64], other: NDArray[np.bool_], share: float) -> Margin:
    wanted = max(1, int(share * len(leads) + 0.5))
    return _of(float(np.sort(leads)[-wanted]), leads, other)


def _of(margin: float, leads: NDArray[np.float64], other: NDArray[np.bool_]) -> Margin:
    kept = leads >= margin
    return Margin(margin, len(leads), int(kept.sum()), int(other[kept].sum()))
