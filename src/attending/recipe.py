"""Recipes: a system is a short TOML file that names one part per slot.

The comment block at the top of a recipe tells the system's story and is kept when the recipe is
written. ``[bundled]`` holds the settings that replace the published ones when no encoder is named
and the bundled one is used. ``[multi]`` in a single-label recipe, ``[single]`` in a multi-label
one, holds what changes for documents of the other task.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import tomli_w
from pydantic import ValidationError

from attending import registry
from attending.dotted import flatten, nest
from attending.errors import RecipeError, nearest
from attending.specs import Spec

Family = Literal["neural", "linear"]
Task = Literal["single", "multi"]
_SLOTS: dict[Family, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "neural": (
        ("encoder", "label_attention", "head", "loss", "decoder", "training"),
        ("label_states", "sampler", "windows"),
    ),
    "linear": (("estimator", "decoder"), ("features", "training")),
}
_DEFAULTS = {"sampler": "bucketed", "windows": "tokens"}
_ON_DEMAND = ("label_states", "features")
_TEXT_KEYS = ("name", "summary", "source")
_TASKS: tuple[Task, ...] = ("single", "multi")


@dataclass(frozen=True)
class Recipe:
    """A system: its name, its story and one spec per slot.

    ``bundled`` maps dotted keys to the values used with the bundled encoder, ``other`` to those
    for data of the other task.
    """

    name: str
    slots: Mapping[str, Spec]
    summary: str = ""
    source: str = ""
    header: str = ""
    bundled: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    other: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings can't be copied or sent to worker processes; scikit-learn does both.
        parts = (self.name, dict(self.slots), self.summary, self.source, self.header)
        return _restored, (*parts, dict(self.bundled), dict(self.other))

    def __getitem__(self, slot: str) -> Any:
        """Return the spec of a slot.

        Raises:
            RecipeError: If the recipe leaves the slot empty.
        """
        if slot not in self.slots:
            raise RecipeError(f'recipe "{self.name}" has no "{slot}"')
        return self.slots[slot]

    def get(self, slot: str) -> Any | None:
        """Return the spec of a slot, or ``None``."""
        return self.slots.get(slot)

    @property
    def family(self) -> Family:
        """``neural`` if the recipe names an encoder, else ``linear``."""
        return "neural" if "encoder" in self.slots else "linear"

    @property
    def task(self) -> Task:
        """``multi`` if a document may get any number of labels, else ``single``."""
        task: Task = self["decoder"].task
        return task

    @property
    def _other_task(self) -> Task:
        return _TASKS[1 - _TASKS.index(self.task)]

    @classmethod
    def load(cls, source: "str | Path | Recipe") -> "Recipe":
        """Load a shipped recipe by name, or a recipe file by path.

        Raises:
            RecipeError: If there is no such recipe, or with all faults of the file at once.
        """
        if isinstance(source, Recipe):
            return source
        path = Path(source)
        if path.suffix == ".toml" or path.is_file():
            if not path.is_file():
                raise RecipeError("no such recipe file", where=str(source))
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                what = f"the recipe can't be read ({type(error).__name__})"
                raise RecipeError(what, where=str(source)) from None
            return cls.loads(text, where=str(source))
        names = shipped()
        if str(source) not in names:
            raise RecipeError(
                f'no recipe "{source}"',
                allowed=", ".join(names),
                step=nearest(str(source), names).strip() or "Or give the path of a .toml file.",
            )
        file = resources.files("attending.recipes").joinpath(f"{source}.toml")
        return cls.loads(file.read_text(encoding="utf-8"), where=f"{source}.toml")

    @classmethod
    def loads(cls, text: str, where: str = "recipe") -> "Recipe":
        """Read a recipe from TOML.

        Raises:
            RecipeError: With all faults of the text at once.
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RecipeError(f"is not valid TOML: {error}", where=where) from None
        header = []
        for line in text.splitlines():
            if not line.startswith("#"):
                break
            header.append(line)
        return cls._from_table(table, "\n".join(header), where)

    @classmethod
    def _from_table(cls, table: Mapping[str, Any], header: str, where: str) -> "Recipe":
        faults: list[str] = []
        known = (*_TEXT_KEYS, "bundled", *_TASKS, *registry.slots())
        for key in table:
            if key not in known:
                faults.append(f'unknown slot "{key}".{nearest(key, known)}')
        slots: dict[str, Spec] = {}
        for slot in registry.slots():
            if slot in table:
                spec = _read_spec(slot, table[slot], faults)
                if spec is not None:
                    slots[slot] = spec
        bundled = _read_words(table, faults)
        if not faults:
            _complete(slots, faults)
        if not faults and bundled:
            _check_keys(slots, bundled, faults)
        _refuse(faults, where)
        made = cls(
            name=table["name"],
            slots=MappingProxyType(slots),
            summary=table.get("summary", ""),
            source=table.get("source", ""),
            header=header,
            bundled=MappingProxyType(bundled),
        )
        return made._with_other(table, where)

    def _with_other(self, table: Mapping[str, Any], where: str) -> "Recipe":
        """Check the settings for the other task by applying them."""
        if self.task in table:
            _refuse([f'"{self.task}": the recipe is {self.task}-label as it is'], where)
        other = table.get(self._other_task)
        if other is None:
            return self
        if not isinstance(other, Mapping):
            _refuse([f'"{self._other_task}" must be a table'], where)
        settings = flatten(other)
        changed = self.override(settings)
        if changed.task == self.task:
            _refuse([f'"{self._other_task}" changes no decoder, so the task stays'], where)
        return replace(self, other=MappingProxyType(settings))

    def to_table(self) -> dict[str, Any]:
        """Return the recipe as nested plain values, every setting spelled out."""
        table: dict[str, Any] = {"name": self.name}
        table |= {k: v for k in ("summary", "source") if (v := getattr(self, k))}
        for slot, spec in self.slots.items():
            table[slot] = spec.model_dump(mode="json", exclude_none=True)
        if self.bundled:
            table["bundled"] = nest(self.bundled)
        if self.other:
            table[self._other_task] = nest(self.other)
        return table

    def to_toml(self) -> str:
        """Write the recipe as TOML that ``loads`` reads back to an equal recipe."""
        body = tomli_w.dumps(self.to_table())
        return f"{self.header}\n{body}" if self.header else body

    def override(self, settings: Mapping[str, Any]) -> "Recipe":
        """Return the recipe with dotted keys replaced, as ``{"encoder.layers": 6}``.

        Setting ``slot.kind`` starts that slot anew with the kind's defaults. A slot that only the
        replaced parts needed is dropped, so that ``label_attention.kind = "cls"`` is a recipe
        without label vectors.

        Raises:
            RecipeError: With all faults at once; a wrong key gets the nearest one.
        """
        if not settings:
            return self
        table = self.to_table()
        for variant in ("bundled", *_TASKS):
            table.pop(variant, None)
        faults: list[str] = []
        for key, value in sorted(settings.items(), key=lambda kv: not kv[0].endswith(".kind")):
            slot, _, name = key.partition(".")
            if slot not in registry.slots() or not name:
                faults.append(f'"{key}": no slot "{slot}".{nearest(slot, registry.slots())}')
            elif name == "kind":
                table[slot] = {"kind": value}
            else:
                table.setdefault(slot, {})[name] = value
        where = f'recipe "{self.name}"'
        _refuse(faults, where)
        named = {key.partition(".")[0] for key in settings}
        for slot in _ON_DEMAND:
            if slot in table and slot not in named and not _needed(slot, table):
                del table[slot]
        changed = Recipe._from_table(table, self.header, where)
        other = self.other if changed.task == self.task else MappingProxyType({})
        # What the bundled encoder's settings say of a part goes with the part.
        anew = {s for s in named if changed.slots[s].kind != getattr(self.get(s), "kind", None)}
        kept = {k: v for k, v in self.bundled.items() if k.partition(".")[0] not in anew}
        return replace(changed, bundled=MappingProxyType(kept), other=other)

    def for_task(self, task: Task) -> "Recipe":
        """Return the recipe for documents with one label each, or with any number.

        A multi-label recipe that says nothing of single-label documents takes them as they are.

        Raises:
            RecipeError: If a single-label recipe has no multi-label form.
        """
        if task == self.task or (task == "single" and not self.other):
            return self
        if not self.other:
            raise RecipeError(
                f'recipe "{self.name}" gives one label a document',
                found="documents with several labels, or with none",
                step="Choose a multi-label recipe: attending recipes lists them.",
            )
        return self.override(self.other)

    def with_encoder(self, name: str | None) -> "Recipe":
        """Settle the encoder: ``None`` takes the bundled one and its settings.

        ``"recipe"`` keeps the one that the recipe names; anything else replaces its name and
        keeps the published settings.
        """
        if self.family == "linear" or name == "recipe":
            return self
        if "name" not in type(self["encoder"]).model_fields:  # it learns its words from the rows
            swap = {"encoder.kind": "pretrained", "encoder.name": name}
            return self if name is None else self.override(swap)
        if name in (None, "minilm"):
            return self.override({"encoder.name": "minilm", **self.bundled})
        return self.override({"encoder.name": name})


def _restored(name: str, slots: dict[str, Spec], *rest: Any) -> Recipe:
    summary, source, header, bundled, other = rest
    read_only = MappingProxyType(bundled), MappingProxyType(other)
    return Recipe(name, MappingProxyType(slots), summary, source, header, *read_only)


def shipped() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package, sorted."""
    folder = resources.files("attending.recipes")
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml")))


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``slot.key=value``; the value is TOML, or else a plain string.

    Raises:
        RecipeError: If there is no ``=``.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise RecipeError(f'"{text}" is not a setting', allowed="slot.key=value")
    try:
        return key.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _read_words(table: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    """Check what is no slot, and return the settings for the bundled encoder by dotted key."""
    if "name" not in table:
        faults.append('"name" is missing')
    for key in _TEXT_KEYS:
        if not isinstance(table.get(key, ""), str):
            faults.append(f'"{key}" must be text, found {table[key]!r}')
    bundled = table.get("bundled", {})
    if not isinstance(bundled, Mapping):
        faults.append('"bundled" must be a table')
        return {}
    return flatten(bundled)


def _read_spec(slot: str, body: Any, faults: list[str]) -> Spec | None:
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
                hint = nearest(key, spec_type.model_fields)
                faults.append(f'"{slot}.{key}": unknown setting of {slot} "{kind}".{hint}')
            else:
                faults.append(f'"{slot}.{key}": {fault["msg"]}, found {fault["input"]!r}')
        return None


def _complete(slots: dict[str, Spec], faults: list[str]) -> None:
    family: Family = "neural" if "encoder" in slots else "linear"
    required, optional = _SLOTS[family]
    for slot in required:
        if slot not in slots:
            faults.append(f'"{slot}" is missing')
    for slot in slots:
        if slot not in required + optional:
            faults.append(f'"{slot}" does not belong in a {family} recipe')
    if family == "neural":
        for slot, kind in _DEFAULTS.items():
            slots.setdefault(slot, registry.part(slot, kind).spec(kind=kind))
    _agree(slots, faults)
    needed = {needs: slot for slot, spec in slots.items() for needs in spec.needs()}
    for slot in _ON_DEMAND:
        if slot in needed and slot not in slots:
            by = needed[slot]
            faults.append(f'"{slot}" is missing: "{by}" {slots[by].kind} needs it as it is set')
        elif slot in slots and slot not in needed and slot in optional:
            faults.append(f'"{slot}" is of no use: no other part of the recipe needs it')


def _agree(slots: Mapping[str, Spec], faults: list[str]) -> None:
    """Make sure that loss and decoder are for the same task."""
    found = {s: slots[s] for s in ("loss", "decoder") if getattr(slots.get(s), "task", None)}
    tasks = {s: getattr(spec, "task", "") for s, spec in found.items()}
    if len(set(tasks.values())) > 1:
        said = " but ".join(f'"{s}" {found[s].kind} is for {t}-label' for s, t in tasks.items())
        faults.append(f"{said} documents")


def _needed(slot: str, table: Mapping[str, Any]) -> bool:
    """Say whether a part of a recipe's table needs a slot; a faulty table needs all it has."""
    faults: list[str] = []
    specs = [_read_spec(s, table[s], faults) for s in registry.slots() if s in table]
    return bool(faults) or any(spec is not None and slot in spec.needs() for spec in specs)


def _check_keys(slots: Mapping[str, Spec], settings: Mapping[str, Any], faults: list[str]) -> None:
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
        _read_spec(slot, {**slots[slot].model_dump(), **values}, found)
        faults += [f'"bundled.{fault[1:]}' for fault in found]


def _refuse(faults: list[str], where: str) -> None:
    if len(faults) == 1:
        raise RecipeError(faults[0], where=where)
    if faults:
        listed = "; ".join(f"({i}) {fault}" for i, fault in enumerate(faults, 1))
        raise RecipeError(f"{len(faults)} faults: {listed}", where=where)
