"""``attending recipes``: which systems there are, and every setting of one."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.cli.tables import table
from attending.dotted import nest

if TYPE_CHECKING:
    from attending.recipe import Recipe
    from attending.specs import Spec

verbs = typer.Typer(help="List the systems, or show one with every setting.")


@verbs.callback(invoke_without_command=True)
def recipes(context: typer.Context, json: options.Json = False) -> None:
    """List the systems, or show one with every setting."""
    if context.invoked_subcommand is not None:
        return
    from attending.recipe import Recipe, shipped

    screen = Screen(json)
    found = [Recipe.load(name) for name in shipped()]
    if json:
        keys = ("name", "family", "summary", "source")
        screen.data([{key: getattr(recipe, key) for key in keys} for recipe in found])
        return
    rows = [[r.name, r.family, r.summary, r.source] for r in found]
    screen.show(table(["recipe", "family", "what it is", "source"], rows, words=2, wide=(2, 3)))


@verbs.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of a recipe, or a recipe file.", show_default=False
        ),
    ],
    settings: options.Settings = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="E",
            help="Show it as it is used with this encoder; [bold]minilm[/] is the bundled one.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show a recipe with every setting, its meaning and what is allowed.

    What is printed is a recipe file: save it, change it, and train with --recipe FILE.toml.
    """
    from attending.recipe import Recipe, parse_setting

    screen = Screen(json)
    recipe = Recipe.load(name).with_encoder(encoder or "recipe")
    recipe = recipe.override(dict(map(parse_setting, settings or ())))
    if json:
        screen.data(recipe.to_table())
    else:
        for line in explained(recipe):
            screen.out.print(line, soft_wrap=True)


@verbs.command("settings")
def settings(
    slot: Annotated[
        str | None,
        typer.Argument(metavar="SLOT", help="Only this slot: encoder, ...", show_default=False),
    ] = None,
    json: options.Json = False,
) -> None:
    """List every setting of every part, for --set and for recipe files."""
    from attending import registry
    from attending.errors import RecipeError, nearest

    screen = Screen(json)
    slots = registry.slots()
    if slot is not None and slot not in slots:
        raise RecipeError(
            f'no slot "{slot}"', allowed=", ".join(slots),
            step=nearest(slot, slots).strip() or None,
        )  # fmt: skip
    rows = [
        [f"{part.slot}.{name}", part.kind, _value(field.default), meaning(part.spec, name)]
        for chosen in ([slot] if slot else slots)
        for part in registry.parts()[chosen].values()
        for name, field in part.spec.model_fields.items()
        if name != "kind"
    ]
    heads = ["setting", "kind", "default", "meaning"]
    if json:
        screen.data([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        screen.show(table(heads, rows, words=3, wide=(3,)))


def explained(recipe: "Recipe") -> Iterator[str]:
    """Yield a recipe as a TOML file that says what every setting means."""
    if recipe.header:
        yield from recipe.header.splitlines()
    for key in ("name", "summary", "source"):
        if getattr(recipe, key):
            yield f"{key} = {_value(getattr(recipe, key))}"
    for slot, spec in recipe.slots.items():
        yield ""
        yield f"[{slot}]"
        yield from _settings(spec)
    other = "multi" if recipe.task == "single" else "single"
    for variant, changes, remark in (
        ("bundled", recipe.bundled, "used where no encoder is named"),
        (other, recipe.other, f"used where documents are {other}-label"),
    ):
        for slot, values in nest(changes).items():
            yield ""
            yield f"[{variant}.{slot}]  # {remark}"
            yield from (f"{name} = {_value(value)}" for name, value in values.items())


def _settings(spec: "Spec") -> Iterator[str]:
    values: Mapping[str, Any] = spec.model_dump(mode="json")
    lines = [
        (f"{name} = {_value(value)}" if value is not None else f"# {name} =", name)
        for name, value in values.items()
    ]
    width = min(max(len(line) for line, _ in lines), 40)
    for line, name in lines:
        remark = (type(spec).__doc__ or "").splitlines()[0] if name == "kind" else ""
        remark = remark or meaning(type(spec), name)
        yield f"{line:<{width}}  # {remark}" if remark else line


def meaning(spec: type["Spec"], name: str) -> str:
    """Return what a setting means and what is allowed: ``documents a step (at least 1)``."""
    from attending.cli.allowed import allowed

    field = spec.model_fields[name]
    limits = allowed(field)
    parts = [field.description or "", f"({limits})" if limits else ""]
    return " ".join(part for part in parts if part)


def _value(value: Any) -> str:
    """Return a value as TOML."""
    import tomli_w

    if value is None:
        return "unset"
    return tomli_w.dumps({"v": value}).strip().removeprefix("v = ").replace("\n", " ")
