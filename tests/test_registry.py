"""The registry: built-in parts, and those of other packages by entry point."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import ClassVar, Literal

import pytest

from attending import registry
from attending.errors import RecipeError
from attending.recipe import Recipe
from attending.registry import Part
from attending.specs import BalancedSampler, CrossEntropy, Spec, TfidfFeatures


class FocalLoss(Spec):
    """A loss of another package."""

    slot: ClassVar[str] = "loss"
    kind: Literal["focal"] = "focal"
    gamma: float = 2.0


def build_focal(spec, **context):
    return spec.gamma, sorted(context)


FOCAL = Part(FocalLoss, build_focal)
TAKEN = Part(CrossEntropy, build_focal)
NO_PART = build_focal


@pytest.fixture
def entry(monkeypatch):
    """A function that puts entry points of a made-up package in place."""

    def put(**names):
        module = sys.modules[__name__]
        monkeypatch.setitem(sys.modules, "made_up_package", module)
        points = [
            EntryPoint(name, f"made_up_package:{value}", registry.ENTRY_POINT_GROUP)
            for name, value in names.items()
        ]
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registry.parts.cache_clear()

    yield put
    monkeypatch.undo()
    registry.parts.cache_clear()


def test_every_builder_is_there():
    count = 0
    for kinds in registry.parts().values():
        for part in kinds.values():
            if isinstance(part.builder, str):
                module, name = part.builder.split(":")
                assert callable(getattr(import_module(module), name))
                count += 1
    assert count >= 17


def test_slots_and_kinds():
    assert set(registry.slots()) == {
        "encoder",
        "label_states",
        "descriptions",
        "lexical",
        "planting",
        "shortlist",
        "label_attention",
        "head",
        "loss",
        "distillation",
        "sampler",
        "decoder",
        "windows",
        "training",
        "features",
        "estimator",
        "scheme",
        "neighbours",
        "surface",
    }
    assert {"cls", "mean", "lesa", "cross"} < set(registry.kinds("label_attention"))
    part = registry.part("sampler", "balanced")
    assert (part.spec, part.slot, part.kind) == (BalancedSampler, "sampler", "balanced")


def test_building_hands_on_the_spec_and_the_context():
    vectoriser = registry.build(TfidfFeatures(ngrams=2))
    assert vectoriser.ngram_range == (1, 2)
    sampler = registry.build(
        BalancedSampler(), lengths=[1] * 4, targets=[0, 0, 1, 1], size=2, seed=0
    )
    assert len(sampler) == 2


def test_an_unknown_kind_or_slot_names_the_nearest():
    with pytest.raises(RecipeError, match=r'no part "balancd" for the slot "sampler".*"balanced"'):
        registry.part("sampler", "balancd")
    with pytest.raises(RecipeError, match="allowed: nothing"):
        registry.part("sampeler", "balanced")


def test_another_package_adds_a_part(entry):
    entry(focal="FOCAL")
    assert "focal" in registry.kinds("loss")
    recipe = Recipe.load("bert").override({"loss.kind": "focal", "loss.gamma": 3.0})
    assert Recipe.loads(recipe.to_toml()) == recipe
    assert registry.build(recipe["loss"], labels=None, counts=None) == (3.0, ["counts", "labels"])
    with pytest.raises(RecipeError, match=r'"loss\.gama".*Did you mean "gamma"'):
        recipe.override({"loss.gama": 1})


def test_an_entry_point_must_be_a_part_of_its_own(entry):
    entry(broken="NO_PART")
    with pytest.raises(RecipeError, match=r"entry point broken .*not an attending\.registry\.Part"):
        registry.parts()
    entry(mine="TAKEN")
    with pytest.raises(RecipeError, match=r'entry point mine .*"loss\.cross-entropy" is taken'):
        registry.parts()


def test_recipes_and_registry_need_no_torch():
    code = (
        "import sys\n"
        "from attending.recipe import Recipe\n"
        "Recipe.load('lesa-bert').override({'encoder.layers': 2})\n"
        "print('torch' in sys.modules, 'transformers' in sys.modules, 'sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 3
