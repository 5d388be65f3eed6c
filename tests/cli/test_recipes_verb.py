"""``recipes``: the list, every setting with its meaning, and a file that can be trained from."""

import re

import pytest

from attending import registry
from attending.cli.allowed import allowed
from attending.recipe import Recipe, shipped
from attending.specs import ArgmaxDecoder, CrossEntropy, LinearHead, Training


def test_the_list(run):
    done = run("recipes")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == list(shipped())
    assert [row["name"] for row in run("recipes", "--json").json] == list(shipped())


@pytest.mark.parametrize("name", shipped())
def test_what_is_shown_is_the_recipe(run, name):
    done = run("recipes", "show", name)
    assert done.code == 0
    recipe = Recipe.load(name)
    assert Recipe.loads(done.out) == recipe
    for slot, spec in recipe.slots.items():
        body = done.out.partition(f"[{slot}]\n")[2].partition("\n\n")[0]
        for setting in type(spec).model_fields:
            assert re.search(rf"^(# )?{setting} =", body, re.MULTILINE), (slot, setting)


def test_shown_with_overrides_and_an_encoder(run):
    done = run("recipes", "show", "lesa-bert", "--set", "encoder.layers=3", "--encoder", "minilm")
    recipe = Recipe.loads(done.out)
    assert recipe["encoder"].layers == 3
    assert recipe["encoder"].name == "minilm"
    published = Recipe.loads(run("recipes", "show", "lesa-bert").out)
    assert published["encoder"].name == "dmis-lab/biobert-v1.1"
    table = run("recipes", "show", "lesa-bert", "--json").json
    assert table["encoder"]["name"] == "dmis-lab/biobert-v1.1"


def test_what_is_shown_can_be_trained_from(run, files, tmp_path):
    (tmp_path / "mine.toml").write_text(run("recipes", "show", "tfidf-logistic").out)
    words = ["train", files / "messages.csv", "--recipe", "mine.toml", "--out", "m"]
    assert run(*words).code == 0


def test_every_setting_is_listed_with_its_meaning(run):
    rows = run("recipes", "settings", "--json").json
    wanted = {
        (f"{part.slot}.{name}", part.kind)
        for kinds in registry.parts().values()
        for part in kinds.values()
        for name in part.spec.model_fields
        if name != "kind"
    }
    assert {(row["setting"], row["kind"]) for row in rows} == wanted
    bare = [row["setting"] for row in rows if not row["meaning"]]
    assert not bare
    one_slot = run("recipes", "settings", "training").out.splitlines()[1:]
    assert one_slot
    assert all(line.startswith("training.") for line in one_slot)


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        (LinearHead, "dense", "true or false"),
        (LinearHead, "dropout", "at least 0 and below 1"),
        (Training, "batch_size", "at least 1"),
        (Training, "warmup", "0 to 1"),
        (Training, "head_learning_rate", "above 0"),
        (ArgmaxDecoder, "abstain_below", "0 to 1"),
        (ArgmaxDecoder, "calibrate", '"temperature", "vector" or "none"'),
        (CrossEntropy, "class_weights", '"none", "inverse", "sqrt-inverse" or "effective"'),
    ],
)
def test_what_is_allowed(spec, name, expected):
    assert allowed(spec.model_fields[name]) == expected
