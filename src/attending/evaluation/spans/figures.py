"""Figures on entities and words from sums of counts; every function takes any number of resamples.

Letters: R resamples, T types.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attending.errors import DataError
from attending.evaluation.counts import FloatArray, LabelCounts, mean_over, ratio, scores_of
from attending.evaluation.multilabel.decisions import label_averages, micro
from attending.evaluation.spans.matching import SCHEMES

Sums = Mapping[str, Any]
"""Sums by name (see ``counts.BY_TYPE`` and ``counts.IN_ALL``): (R, T) by type, (R,) in all."""
FEW_WORDS = 5
"""Types of at most so many gold words are left out of figures whose name ends in ``_over_5``."""


def _strict(sums: Sums) -> dict[str, FloatArray]:
    counts = LabelCounts(sums["right"], sums["gold"], sums["found"])
    return {f"strict_{key}": value for key, value in label_averages(counts).items()}


def _scheme(name: str) -> Callable[[Sums], dict[str, FloatArray]]:
    def figures(sums: Sums) -> dict[str, FloatArray]:
        # Halves are counted as whole numbers: everything is doubled.
        credit = 2 * sums[f"{name}_correct"] + sums[f"{name}_partial"]
        values = micro(credit, 2 * sums["gold_all"], 2 * sums["found_all"])
        return {f"{name}_{key}": value for key, value in values.items()}

    return figures


def _within(sums: Sums) -> dict[str, FloatArray]:
    seen = (sums["gold"] > 0) | (sums["found"] > 0)
    total = sums["gold"] + sums["found"]
    return {
        "partial_macro_f1": mean_over(ratio(sums["partial"], total), seen),
        "type_macro_f1": mean_over(ratio(2 * sums["overlap"], total), seen),
    }


def _token(sums: Sums) -> dict[str, FloatArray]:
    true, given, right = (sums[f"words_{key}"] for key in ("gold", "found", "right"))
    counts = LabelCounts(right, true, given)
    return {f"token_{key}_without_o": value for key, value in label_averages(counts).items()}


def _paper(sums: Sums) -> dict[str, FloatArray]:
    true, given, right = (sums[f"words_{key}"] for key in ("gold", "found", "right"))
    scores = scores_of(LabelCounts(right, true, given))
    has, more = true > 0, true > FEW_WORDS
    middle = (np.nan_to_num(scores.precision) + np.nan_to_num(scores.recall)) / 2
    return {
        "unweighted_accuracy": mean_over(scores.recall, has),
        "unweighted_accuracy_over_5": mean_over(scores.recall, more),
        "mean_f1": mean_over(scores.f1, has),
        "mean_f1_arithmetic_over_5": mean_over(middle, more),
    }


def _with_o(sums: Sums) -> dict[str, FloatArray]:
    true, given, right = (sums[f"words_{key}"] for key in ("gold", "found", "right"))
    words, same = sums["words"], sums["words_same"]
    outside = words - true.sum(axis=-1)
    precision = np.concatenate(
        [
            ratio(right, given),
            ratio(same - right.sum(axis=-1), words - given.sum(axis=-1))[:, None],
        ],
        axis=-1,
    )
    classes = np.concatenate([true > 0, (outside > 0)[:, None]], axis=-1)
    return {
        "token_accuracy_with_o": ratio(same, words),
        "mean_f1_as_printed": mean_over(precision, classes),
    }


_ENTITIES = ("gold", "found")
_WORDS = ("words_gold", "words_found", "words_right")
FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[Sums], dict[str, FloatArray]]]] = {
    "strict": ((*_ENTITIES, "right"), _strict),
    **{
        name: ((f"{name}_correct", f"{name}_partial", "gold_all", "found_all"), _scheme(name))
        for name in SCHEMES[1:]
    },
    "within": ((*_ENTITIES, "partial", "overlap"), _within),
    "token": (_WORDS, _token),
    "paper": (_WORDS, _paper),
    "with_o": ((*_WORDS, "words", "words_same"), _with_o),
}
"""By name: the counts that a family of figures needs, and how it is computed from their sums."""
OF_SOME_TYPES = ("strict", "within", "token", "paper")
"""Families that have a meaning for some of the types alone."""


def figures_of(sums: Sums, families: tuple[str, ...] = tuple(FAMILIES)) -> dict[str, FloatArray]:
    """Return the figures of some families by key, each (R,); NaN where undefined."""
    found: dict[str, FloatArray] = {}
    for name in families:
        found |= FAMILIES[name][1](sums)
    return found


def _known() -> dict[str, str]:
    nothing: dict[str, Any] = {}
    for blocks, _ in FAMILIES.values():
        for name in blocks:
            by_type = name in _ENTITIES or name in _WORDS or name in ("right", "partial", "overlap")
            nothing[name] = np.zeros((1, 1) if by_type else 1, np.int64)
    return {key: name for name in FAMILIES for key in figures_of(nothing, (name,))}


FAMILY_OF = _known()
"""The family of every figure, by key."""


def family_of(metric: str, *, some_types: bool = False) -> str:
    """Return the family of a figure.

    Raises:
        DataError: If there is no such figure, or it has no meaning for some types alone.
    """
    allowed = [k for k, f in FAMILY_OF.items() if not some_types or f in OF_SOME_TYPES]
    if metric not in allowed:
        where = " for some types alone" if some_types else ""
        raise DataError(f'the metric "{metric}" is not known{where}', allowed=", ".join(allowed))
    return FAMILY_OF[metric]


def is_mean_over_types(metric: str) -> bool:
    """Say whether a figure averages over types, so that rare ones falling out of draws move it."""
    return "macro" in metric or metric.startswith(("unweighted", "mean_f1"))
