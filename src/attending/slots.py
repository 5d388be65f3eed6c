"""Which slots a recipe has, which parts fill them, and what these must agree on.

A recipe is of a family (``neural`` with an encoder, else ``linear``) and of a task: its decoder
says which.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from attending import registry
from attending.errors import nearest
from attending.specs import Spec

Family = Literal["neural", "linear"]
Task = Literal["single", "multi", "spans"]
"""One label a document, any number of them, or labelled spans of its text."""

ON_DEMAND = ("label_states", "descriptions", "features")
"""Slots that are filled only where another part needs them."""

_Slots = tuple[tuple[str, ...], tuple[str, ...]]
_OF_DOCUMENTS: dict[Family, _Slots] = {
    "neural": (
        ("encoder", "label_attention", "head", "loss", "decoder", "training"),
        (
            "label_states",
            "descriptions",
            "lexical",
            "planting",
            "shortlist",
            "distillation",
            "sampler",
            "windows",
        ),
    ),
    "linear": (("estimator", "decoder"), ("features", "training")),
}
_OF_SPANS: dict[Family, _Slots] = {
    "neural": (
        ("encoder", "head", "loss", "decoder", "training"),
        ("scheme", "surface", "label_states", "neighbours", "sampler", "windows"),
    ),
    "linear": (("estimator", "decoder"), ("features", "scheme", "neighbours", "training")),
}
_DEFAULTS = {"sampler": "bucketed", "windows": "tokens", "scheme": "flat"}
_OF_A_TASK = ("features", "estimator", "head", "loss", "decoder")
_SAYS = {"single": "single-label", "multi": "multi-label", "spans": "spans"}


def read_spec(slot: str, body: Any, faults: list[str]) -> Spec | None:
    """Return the spec of a slot's table, or ``None`` and its faults."""
    if not isinstance(body, dict):
        faults.append(f'"{slot}" must be a table')
        return None
    kinds = registry.kinds(slot)
    kind = body.get("kind", kinds[0] if len(kinds) == 1 else None)
    if kind not in kinds:
        say = f'"{slot}.kind" is missing' if kind is None else f'"{slot}.kind": no "{kind}"'
        faults.append(f"{say} (allowed: {', '.join(kinds)}).{nearest(str(kind), kinds)}")
        return None
    spec_type = registry.part(slot, kind).spec
    try:
        return spec_type.model_validate(body)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            key = ".".join(str(p) for p in fault["loc"])
            if fault["type"] == "extra_forbidden":
                fields = spec_type.model_fields
                hint = nearest(key, fields) or f" Allowed: {', '.join(sorted(fields))}."
                faults.append(f'"{slot}.{key}": unknown setting of {slot} "{kind}".{hint}')
            else:
                faults.append(f'"{slot}.{key}": {fault["msg"]}, found {fault["input"]!r}')
        return None


def family_of(slots: Mapping[str, Any]) -> Family:
    """Return ``neural`` for slots with an encoder, else ``linear``."""
    return "neural" if "encoder" in slots else "linear"


def complete(slots: dict[str, Spec], faults: list[str]) -> None:
    """Fill the slots that have a default, and find what is missing, of no use or at odds."""
    family = family_of(slots)
    tags = getattr(slots.get("decoder"), "task", None) == "spans"
    required, optional = (_OF_SPANS if tags else _OF_DOCUMENTS)[family]
    for slot in required:
        if slot not in slots:
            faults.append(f'"{slot}" is missing')
    what = f"{family} recipe that tags spans" if tags else f"{family} recipe"
    for slot in slots:
        if slot not in required + optional:
            faults.append(f'"{slot}" does not belong in a {what}')
    for slot, kind in _DEFAULTS.items():
        if slot in optional:
            slots.setdefault(slot, registry.part(slot, kind).spec(kind=kind))
    _agree(slots, faults)
    needed = {needs: slot for slot, spec in slots.items() for needs in spec.needs()}
    for slot in ON_DEMAND:
        if slot in needed and slot not in slots:
            by = needed[slot]
            faults.append(f'"{slot}" is missing: "{by}" {slots[by].kind} needs it as it is set')
        elif slot in slots and slot not in needed and slot in optional:
            faults.append(f'"{slot}" is of no use: no other part of the recipe needs it')


def _agree(slots: Mapping[str, Spec], faults: list[str]) -> None:
    """Make sure that all parts are for the decoder's task."""
    decoder = slots.get("decoder")
    task = getattr(decoder, "task", None)
    if decoder is None or task is None:
        return
    for slot in _OF_A_TASK:
        spec = slots.get(slot)
        own = getattr(spec, "task", None)
        # A part that names no task suits labelled documents of both kinds.
        if spec is None or own == task or (own is None and task != "spans"):
            continue
        mine = _SAYS.get(str(own), "documents")
        kind = "spans" if task == "spans" else f"{_SAYS[task]} documents"
        faults.append(
            f'"{slot}" {spec.kind} is for {mine} but "decoder" {decoder.kind} is for {kind}'
        )


def needed(slot: str, table: Mapping[str, Any]) -> bool:
    """Say whether a part of a recipe's table needs a slot; a faulty table needs all it has."""
    faults: list[str] = []
    specs = [read_spec(s, table[s], faults) for s in registry.slots() if s in table]
    return bool(faults) or any(spec is not None and slot in spec.needs() for spec in specs)


def check_keys(slots: Mapping[str, Spec], settings: Mapping[str, Any], faults: list[str]) -> None:
    """Check the settings for the bundled encoder as if they were the recipe's own."""
    changed: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        slot, _, name = key.partition(".")
        fields = type(slots[slot]).model_fields if slot in slots else {}
        if name not in fields:
            faults.append(f'"bundled.{key}": unknown setting.{nearest(name, fields)}')
        else:
            changed.setdefault(slot, {})[name] = value
    for slot, values in changed.items():
        found: list[str] = []
        read_spec(slot, {**slots[slot].model_dump(), **values}, found)
        faults += [f'"bundled.{fault[1:]}' for fault in found]
