"""The pages are complete and current: nothing that a user meets goes without a word."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

import attending
from attending import registry
from attending.recipe import Recipe, shipped

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SOURCES = ROOT / "src" / "attending"
LARGEST_PICTURE = 200_000


@pytest.fixture(scope="module")
def generate():
    """Return ``docs/generate.py`` as a module."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own_part(monkeypatch, tmp_path):
    """Install the example of a part in a package of its own, as pip would."""
    folder = ROOT / "examples" / "own-part"
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    installed = tmp_path / "focal_loss-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(folder)
    registry.parts.cache_clear()
    yield
    sys.modules.pop("focal_loss", None)
    registry.parts.cache_clear()


def read(name):
    return (DOCS / name).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_what_is_generated_is_current(page, generate):
    text = page.read_text("utf-8")
    assert generate.renewed(text) == text, "run: python docs/generate.py"


def test_every_generated_part_has_its_place(generate):
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for name in generate.BLOCKS:
        assert text.count(f"<!-- generated: {name} -->") == 1
        assert text.count(f"<!-- end: {name} -->") == 1


def test_every_figure_is_in_one_group(generate):
    from attending.evaluation.definitions import DEFINITIONS
    from attending.evaluation.multilabel.definitions import MULTILABEL_DEFINITIONS

    grouped = [key for keys in generate.FIGURES.values() for key in keys]
    assert sorted(grouped) == sorted(DEFINITIONS)
    grouped = [key for keys in generate.MULTILABEL_FIGURES.values() for key in keys]
    assert sorted(grouped) == sorted(MULTILABEL_DEFINITIONS)


def test_every_setting_is_described():
    blank = [
        f"{slot}.{name}"
        for slot in registry.slots()
        for kind in registry.kinds(slot)
        for name, field in registry.part(slot, kind).spec.model_fields.items()
        if name != "kind" and not field.description
    ]
    assert blank == []


def test_every_recipe_is_shown_as_it_is_and_has_its_use():
    page = read("recipes.md")
    blocks = [x for x in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "kind = " in x]
    shown = {recipe.name: recipe for recipe in map(Recipe.loads, blocks)}
    assert len(blocks) == len(shipped()) + 1
    for name in shipped():
        recipe = Recipe.load(name)
        assert (shown[name].slots, shown[name].bundled) == (recipe.slots, recipe.bundled)
        assert f"| `{name}` |" in page


def test_every_finding_of_a_check_is_explained():
    sources = "".join(p.read_text("utf-8") for p in (SOURCES / "data" / "checks").glob("*.py"))
    codes = set(re.findall(r'Finding\(\s*"([a-z-]+)"', sources))
    codes |= {"empty-texts", "damaged-texts", "missing-groups", "missing-dates"}
    assert len(codes) >= 20
    page = read("data.md")
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []


def test_every_method_and_status_is_explained():
    from typing import get_args

    from attending.models.attribution import METHODS
    from attending.records import Status

    assert [m for m in (*METHODS, "weights") if f"| `{m}` |" not in read("explain.md")] == []
    assert [s for s in get_args(Status) if f"| `{s}` |" not in read("data.md")] == []


@pytest.mark.parametrize("recipe", ["tfidf-logistic", "bert"])
def test_every_file_of_a_model_folder_is_named(recipe, tmp_path, tiny_encoder, portal_rows):
    from attending.records import Document
    from attending.training.job import train_into

    settings = {"training.epochs": 1} if recipe == "bert" else {}
    made = Recipe.load(recipe).with_encoder(str(tiny_encoder)).override(settings)
    rows = [Document(r["id"], r["text"], (r["label"],)) for r in portal_rows[:40]]
    train_into(tmp_path / "model", made, rows)
    page = read("model-folder.md")
    found = {f"{p.name}/" if p.is_dir() else p.name for p in (tmp_path / "model").iterdir()}
    assert len(found) >= 8
    assert [name for name in sorted(found) if f"\n  {name} " not in page] == []


def test_a_part_of_ones_own_trains_through_its_entry_point(own_part, tiny_encoder, portal_rows):
    recipe = Recipe.load("lesa-bert").override(
        {"loss.kind": "focal", "loss.gamma": 1.5, "training.epochs": 1}
    )
    rows = portal_rows[:60]
    classifier = attending.Classifier(recipe=recipe, encoder=str(tiny_encoder))
    classifier.fit([r["text"] for r in rows], [r["label"] for r in rows])
    assert classifier.model_.recipe["loss"].gamma == 1.5
    assert type(classifier.model_.network.loss).__name__ == "FocalLoss"


def test_pictures_are_shown_and_small():
    text = "".join(page.read_text("utf-8") for page in (*PAGES, ROOT / "README.md"))
    for picture in (DOCS / "pictures").iterdir():
        assert f"pictures/{picture.name}" in text, picture
        assert picture.stat().st_size < LARGEST_PICTURE, picture


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    assert [
        str(p.relative_to(DOCS)) for p in PAGES if str(p.relative_to(DOCS)) not in navigation
    ] == []
