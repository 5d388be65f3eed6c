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
from typing import Any

import tomli_w

from attending import registry
from attending.dotted import flatten, nest
from attending.errors import RecipeError, nearest
from attending.slots import ON_DEMAND, check_keys, complete, family_of, needed, read_spec
from attending.slots import Family as Family
from attending.slots import Task as Task
from attending.specs import Spec

_TEXT_KEYS = ("name", "summary", "source")
_VARIANTS: tuple[Task, ...] = ("single", "multi")


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
        return family_of(self.slots)

    @property
    def task(self) -> Task:
        """``spans`` if it tags, ``multi`` if a document may get several labels, else ``single``."""
        task: Task = self["decoder"].task
        return task

    @property
    def _other_task(self) -> Task | None:
        """The task that the recipe may have a form for besides its own."""
        return {"single": _VARIANTS[1], "multi": _VARIANTS[0]}.get(self.task)

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
        known = (*_TEXT_KEYS, "bundled", *_VARIANTS, *registry.slots())
        for key in table:
            if key not in known:
                faults.append(f'unknown slot "{key}".{nearest(key, known)}')
        slots: dict[str, Spec] = {}
        for slot in registry.slots():
            if slot in table:
                spec = read_spec(slot, table[slot], faults)
                if spec is not None:
                    slots[slot] = spec
        bundled = _read_words(table, faults)
        if not faults:
            complete(slots, faults)
        if not faults and bundled:
            check_keys(slots, bundled, faults)
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
        if self.task == "spans":
            of_labels = [t for t in _VARIANTS if t in table]
            _refuse([f'"{t}": the recipe tags spans, it gives no labels' for t in of_labels], where)
            return self
        if self.task in table:
            _refuse([f'"{self.task}": the recipe is {self.task}-label as it is'], where)
        other = table.get(str(self._other_task))
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
            table[str(self._other_task)] = nest(self.other)
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
        for variant in ("bundled", *_VARIANTS):
            table.pop(variant, None)
        faults: list[str] = []
        for key, value in sorted(settings.items(), key=lambda kv: not kv[0].endswith(".kind")):
            slot, _, name = key.partition(".")
            if slot not in registry.slots():
                faults.append(f'"{key}": no slot "{slot}".{nearest(slot, registry.slots())}')
            elif not name:
                faults.append(f'"{slot}" is a slot, name a setting of it, such as {slot}.kind')
            elif name == "kind":
                table[slot] = {"kind": value}
            else:
                table.setdefault(slot, {})[name] = value
        where = f'recipe "{self.name}"'
        _refuse(faults, where)
        named = {key.partition(".")[0] for key in settings}
        for slot in ON_DEMAND:
            if slot in table and slot not in named and not needed(slot, table):
                del table[slot]
        changed = Recipe._from_table(table, self.header, where)
        other = self.other if changed.task == self.task else MappingProxyType({})
        # What the bundled encoder's settings say of a part goes with the part, and what they say
        # of a setting goes with the setting.
        anew = {s for s in named if changed.slots[s].kind != getattr(self.get(s), "kind", None)}
        kept = {
            k: v
            for k, v in self.bundled.items()
            if k not in settings and k.partition(".")[0] not in anew
        }
        return replace(changed, bundled=MappingProxyType(kept), other=other)

    def for_task(self, task: Task) -> "Recipe":
        """Return the recipe for documents with one label each, with any number, or with spans.

        A multi-label recipe that says nothing of single-label documents takes them as they are.

        Raises:
            RecipeError: If a single-label recipe has no multi-label form, or one of the two is
                about labels of documents and the other about spans.
        """
        if task != self.task and "spans" in (task, self.task):
            raise RecipeError(
                f'recipe "{self.name}" tags spans, it gives documents no labels'
                if self.task == "spans"
                else f'recipe "{self.name}" gives documents labels, it tags no spans',
                step="Choose another recipe: attending recipes lists them.",
            )
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


def _refuse(faults: list[str], where: str) -> None:
    if len(faults) == 1:
        raise RecipeError(faults[0], where=where)
    if faults:
        listed = "; ".join(f"({i}) {fault}" for i, fault in enumerate(faults, 1))
        raise RecipeError(f"{len(faults)} faults: {listed}", where=where)
