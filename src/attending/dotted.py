"""Dotted keys: ``{"a": {"b": 1}}`` and ``{"a.b": 1}`` say the same."""

from collections.abc import Mapping
from typing import Any


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested tables as one table with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with dotted keys ``slot.key`` as one table a slot."""
    table: dict[str, Any] = {}
    for key, value in flat.items():
        slot, _, name = key.partition(".")
        table.setdefault(slot, {})[name] = value
    return table
