"""What ``decision.json`` may hold, and what makes no sense in it."""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from attending.errors import ModelError, nearest
from attending.parts.prices import BAND_COUNTS, FLOOR_COUNTS, FLOOR_SHARES
from attending.records import LabelSet

VALUES = {
    "argmax": (
        "kind", "temperature", "scales", "biases", "thresholds", "recall_floors", "abstain_below",
        "abstain_margin", "abstention", "prior_shift", "shares", "note",
    ),
    "threshold": (
        "kind", "temperature", "shift", "threshold", "thresholds", "recall_floors",
        "at_least_one", "keep_scores", "note",
    ),
    "top-k": ("kind", "temperature", "shift", "k", "keep_scores", "note"),
}  # fmt: skip
"""The values of each kind, in the order in which they are written."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {"threshold": ("threshold",), "top-k": ("k",)}
_WHERE_USED = {
    "scales", "biases", "recall_floors", "abstain_margin", "abstention", "prior_shift", "shares",
}  # fmt: skip
"""Written only where they hold something, so that earlier versions read what they can."""


def kept_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a decision that its kind uses, in their order."""
    unused = {name for name in _WHERE_USED if not values[name]}
    if values["kind"] == "argmax" and not values["thresholds"]:
        unused.add("thresholds")
    found = {name: values[name] for name in VALUES[values["kind"]] if name not in unused}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


def check_values(values: Mapping[str, Any], where: str) -> None:
    """Refuse values that make no decision.

    Raises:
        ModelError: If one is unknown, missing, of the wrong type or out of range.
    """
    kind = values.get("kind", "argmax")
    if not isinstance(kind, str) or kind not in VALUES:
        raise ModelError(
            "holds a decision that this version can't take",
            where=where,
            found=f"kind {kind!r}",
            allowed=", ".join(VALUES),
        )
    strange = sorted(set(values) - set(VALUES[kind]))
    if strange:
        raise ModelError("holds unknown values", where=where, found=", ".join(strange))
    missing = [name for name in _REQUIRED.get(kind, ()) if name not in values]
    wrong = [name for name, value in values.items() if not _fits(name, value)]
    if len(values.get("scales", ())) != len(values.get("biases", ())) and not wrong:
        wrong = ["biases"]
    if missing or wrong:
        raise ModelError(
            "holds a decision that this version can't take",
            where=where,
            found=", ".join([*(f"no {n}" for n in missing), *(f"a wrong {n}" for n in wrong)]),
        )


def check_labels(values: Mapping[str, Any], labels: LabelSet, where: str) -> None:
    """Refuse a decision of other labels than a model's.

    Raises:
        ModelError: If a threshold is of an unknown label, or what is kept for every label isn't
            for these.
    """
    known = {*values.get("thresholds", ()), *values.get("recall_floors", ())}
    unknown = sorted(known - set(labels.ids))
    if unknown:
        first = f'"{unknown[0]}"'
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise ModelError(
            "holds thresholds of labels that the model doesn't have",
            where=where,
            found=first + more,
            step=nearest(unknown[0], labels.ids).strip() or None,
        )
    if values.get("prior_shift") and set(values.get("shares", ())) != set(labels.ids):
        raise ModelError("holds shares of other labels than the model's", where=where)
    if values.get("scales") and len(values["scales"]) != len(labels):
        raise ModelError(
            "holds scales of other labels than the model's",
            where=where,
            found=f"{len(values['scales'])} scales for {len(labels)} labels",
        )


def _fits(name: str, value: object) -> bool:
    """Say whether a value of a decision is of the right type and in range."""
    check = _CHECKS.get(name)
    return check(value) if check else _is_share(value)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(k, str) and (v is None or isinstance(v, str | bool) or _is_number(v))
        for k, v in value.items()
    )


def _is_price(value: object) -> bool:
    return (
        _is_record(value)
        and isinstance(value, Mapping)
        and all(_is_share(value.get(name)) for name in FLOOR_SHARES)
        and all(isinstance(value.get(name), int) for name in FLOOR_COUNTS)
        and value["rows"] > 0
        and value["positives"] > 0
    )


def _is_band(value: object) -> bool:
    if not _is_record(value) or not isinstance(value, Mapping):
        return False
    return not value or (
        value.get("what") in ("share", "accuracy")
        and _is_share(value.get("wanted"))
        and all(isinstance(value.get(name), int) for name in BAND_COUNTS)
        and value["rows"] > 0
        and value["all_rows"] > 0
    )


def _by_label(value: object, lowest: float) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) and _is_share(share) and share >= lowest
        for key, share in value.items()
    )


def _are_numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_number(x) for x in value)


_TINY = 5e-324
_CHECKS = {
    "kind": lambda _: True,
    "note": lambda v: v is None or isinstance(v, str),
    "at_least_one": lambda v: isinstance(v, bool),
    "thresholds": lambda v: _by_label(v, 0.0),
    "shares": lambda v: _by_label(v, _TINY),
    "k": _is_count,
    "keep_scores": _is_count,
    "temperature": lambda v: _is_number(v) and v > 0,
    "shift": _is_number,
    "prior_shift": lambda v: _is_number(v) and v >= 0,
    "abstain_below": lambda v: v is None or _is_share(v),
    "abstain_margin": lambda v: v is None or _is_share(v),
    "scales": lambda v: _are_numbers(v) and all(x > 0 for x in v),
    "biases": _are_numbers,
    "recall_floors": lambda v: isinstance(v, Mapping) and all(map(_is_price, v.values())),
    "abstention": _is_band,
}
