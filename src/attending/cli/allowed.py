"""What values a setting may have, in a few words, read from its declaration."""

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def allowed(field: "FieldInfo") -> str:
    """Return the allowed values: ``"none" or "inverse"``, ``at least 1``, ``true or false``."""
    return ", ".join(part for part in (_options(field.annotation), _range(field)) if part)


def _options(annotation: Any) -> str:
    """Return the values of a setting that has a fixed few of them."""
    if annotation is bool:
        return "true or false"
    if get_origin(annotation) is not Literal:
        return ""
    values = [f'"{value}"' for value in get_args(annotation)]
    return f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else ""


def _range(field: "FieldInfo") -> str:
    limits = {
        key: getattr(limit, key)
        for limit in _limits(field)
        for key in _BOUNDS
        if getattr(limit, key, None) is not None
    }
    if set(limits) == {"ge", "le"}:
        return f"{limits['ge']:g} to {limits['le']:g}"
    return " and ".join(f"{name} {limits[key]:g}" for key, name in _BOUNDS.items() if key in limits)


def _limits(field: "FieldInfo") -> list[Any]:
    """Return the limits of a field, also those inside ``Share | None``."""
    inner = [arg for arg in get_args(field.annotation) if hasattr(arg, "__metadata__")]
    found = [m for arg in inner for m in arg.__metadata__]
    return [*field.metadata, *(n for m in found for n in getattr(m, "metadata", [m]))]
