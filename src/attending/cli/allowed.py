"""What values a setting may have, in a few words, read from its declaration."""

from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def allowed(field: "FieldInfo") -> str:
    """Return the allowed values: ``"none" or "inverse"``, ``at least 1``, ``true or false``."""
    words = _of_type(field.annotation)
    bounds = [
        f"{name} {getattr(limit, key):g}"
        for limit in _limits(field)
        for key, name in _BOUNDS.items()
        if getattr(limit, key, None) is not None
    ]
    return ", ".join([*words, " and ".join(bounds)] if bounds else words)


def _limits(field: "FieldInfo") -> list[Any]:
    """Return the limits of a field, also those inside ``Share | None``."""
    inner = [arg for arg in get_args(field.annotation) if hasattr(arg, "__metadata__")]
    found = [m for arg in inner for m in arg.__metadata__]
    return [*field.metadata, *(n for m in found for n in getattr(m, "metadata", [m]))]


def _of_type(annotation: Any) -> list[str]:
    if annotation is bool:
        return ["true or false"]
    if get_origin(annotation) is Literal:
        options = [f'"{value}"' for value in get_args(annotation)]
        return [" or ".join(options)] if len(options) > 1 else []
    if get_origin(annotation) in (Union, UnionType):
        return [
            " or ".join(f'"{v}"' for v in get_args(arg))
            for arg in get_args(annotation)
            if get_origin(arg) is Literal
        ]
    return []
