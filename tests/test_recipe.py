"""Recipes: read, changed, written; every fault of a file at once."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.errors import RecipeError
from attending.recipe import Recipe, parse_setting, shipped

SMALL = """\
# A story.
# In two lines.
name = "mine"
summary = "Something small"

[estimator]
kind = "frequency"

[decoder]
kind = "argmax"
"""


def faults(text):
    with pytest.raises(RecipeError) as caught:
        Recipe.loads(text, where="mine.toml")
    line = str(caught.value)
    assert line.startswith("mine.toml: ") and "\n" not in line
    return line


def refused(name, **settings):
    with pytest.raises(RecipeError) as caught:
        Recipe.load(name).override({k.replace("__", "."): v for k, v in settings.items()})
    line = str(caught.value)
    assert "\n" not in line
    return line


# Loading.


def test_a_recipe_by_name_by_path_or_as_it_is(tmp_path):
    recipe = Recipe.load("lesa-bert")
    path = tmp_path / "copy.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8")
    assert Recipe.load(path) == Recipe.load(str(path)) == Recipe.load(recipe) == recipe
    assert recipe.family == "neural" and Recipe.load("frequency").family == "linear"
    other = tmp_path / "no-suffix"
    other.write_text(SMALL, encoding="utf-8")
    assert Recipe.load(other).name == "mine"


def test_the_header_is_kept():
    recipe = Recipe.loads(SMALL)
    assert recipe.header == "# A story.\n# In two lines."
    assert recipe.to_toml().startswith("# A story.\n# In two lines.\nname = ")
    assert Recipe.loads(recipe.to_toml()) == recipe
    assert hash(Recipe.loads(recipe.to_toml())) == hash(recipe)


def test_a_wrong_name_gets_the_nearest():
    with pytest.raises(RecipeError, match=r'no recipe "lesa-bret".*Did you mean "lesa-bert"'):
        Recipe.load("lesa-bret")
    with pytest.raises(RecipeError, match=r"allowed: atl-ner, bert, .*path of a \.toml file"):
        Recipe.load("qqqqqq")


def test_a_missing_or_unreadable_file(tmp_path):
    with pytest.raises(RecipeError, match="no such recipe file"):
        Recipe.load(tmp_path / "nowhere.toml")
    path = tmp_path / "bad.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(RecipeError, match=r"can't be read \(UnicodeDecodeError\)"):
        Recipe.load(path)
    path.write_text("name = ", encoding="utf-8")
    with pytest.raises(RecipeError, match="is not valid TOML"):
        Recipe.load(path)


def test_the_shipped_names_are_sorted_and_their_own():
    assert list(shipped()) == sorted(shipped())
    assert [Recipe.load(name).name for name in shipped()] == list(shipped())


def test_slots_left_out_get_defaults_or_are_asked_for():
    recipe = Recipe.load("bert")
    assert recipe["sampler"].kind == "bucketed" and recipe["windows"].max_tokens == 256
    assert recipe.get("label_states") is None
    with pytest.raises(RecipeError, match='"bert" has no "label_states"'):
        recipe["label_states"]


def test_a_recipe_is_read_only_and_crosses_process_borders():
    recipe = Recipe.load("lesa-bert")
    for again in (pickle.loads(pickle.dumps(recipe)), copy.deepcopy(recipe)):
        assert again == recipe and again.to_toml() == recipe.to_toml()
        with pytest.raises(TypeError):
            again.slots["encoder"] = None
        with pytest.raises(AttributeError):
            again.name = "other"


# Faults.


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[estimator]", "[estimater]"), 'unknown slot "estimater". Did you mean "estimator"?'),
        (('"frequency"', '"frequenzy"'), '"estimator.kind": no "frequenzy" (allowed: '),
        (('kind = "argmax"', ""), '"decoder.kind" is missing (allowed: argmax'),
        (('"argmax"', '"argmax"\nabstain = 1'), '"decoder.abstain": unknown setting of decoder'),
        (('"argmax"', '"argmax"\nabstain_below = 7'), '"decoder.abstain_below": Input should be'),
        (('[decoder]\nkind = "argmax"', ""), '"decoder" is missing'),
        (('[estimator]\nkind = "frequency"', "estimator = 3"), '"estimator" must be a table'),
        (('name = "mine"', ""), '"name" is missing'),
        (('name = "mine"', "name = 3"), '"name" must be text, found 3'),
        (('name = "mine"', 'name = "x"\nbundled = 3'), '"bundled" must be a table'),
        (
            ("[decoder]", '[loss]\nkind = "bce"\n[decoder]'),
            '"loss" does not belong in a linear recipe',
        ),
        (("[decoder]", '[features]\nkind = "tfidf"\n[decoder]'), '"features" is of no use'),
        (('"frequency"', '"sgd-svm"'), '"features" is missing: "estimator" sgd-svm needs it'),
    ],
)
def test_one_fault(change, said):
    assert change[0] in SMALL
    text = SMALL.replace(*change)
    if said is None:
        assert Recipe.loads(text)["decoder"].kind == "argmax"
    else:
        assert said in faults(text)


def test_all_faults_of_a_file_at_once():
    text = Recipe.load("lesa-bert").to_toml()
    for old, new in (
        ("overlap = 32", "overlap = -1"),
        ('kind = "cross-entropy"', 'kind = "cross-entrpy"'),
        ("warmup = ", "warmpu = "),
        ("[head]", "[haed]"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    line = faults(text)
    assert line.startswith("mine.toml: 4 faults: (1) ")
    for said in (
        '"windows.overlap"',
        'no "cross-entrpy"',
        '"training.warmpu"',
        'Did you mean "warmup"',
        'unknown slot "haed". Did you mean "head"',
    ):
        assert said in line


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("epochz = 6", '"bundled.training.epochz": unknown setting. Did you mean "epochs"?'),
        ('epochs = "six"', '"bundled.training.epochs": Input should be a valid number'),
        ("epochs = -1", '"bundled.training.epochs": Input should be greater than 0'),
        ("epochs = nan", '"bundled.training.epochs"'),
    ],
)
def test_settings_for_the_bundled_encoder_are_checked_too(setting, said):
    recipe = Recipe.load("bert")
    text = recipe.to_toml().partition("[bundled")[0] + f"[bundled.training]\n{setting}\n"
    assert said in faults(text)


# Changing.


def test_overrides_change_one_setting_and_nothing_else():
    recipe = Recipe.load("lesa-bert")
    changed = recipe.override({"encoder.layers": 6, "training.epochs": 2})
    assert changed["encoder"].layers == 6 and changed["training"].epochs == 2
    for slot in recipe.slots:
        if slot not in ("encoder", "training"):
            assert changed[slot] == recipe[slot]
    assert changed.header == recipe.header
    assert recipe["encoder"].layers is None
    assert recipe.override({}) is recipe
    again = changed.override({"encoder.layers": None, "training.epochs": 4})
    assert again.slots == recipe.slots


def test_what_a_person_sets_the_bundled_encoder_s_settings_leave_alone():
    recipe = Recipe.load("lesa-bert")
    assert "training.epochs" in recipe.bundled and "training.learning_rate" in recipe.bundled
    changed = recipe.override({"training.epochs": 3})
    assert changed.bundled == {k: v for k, v in recipe.bundled.items() if k != "training.epochs"}
    settled = changed.with_encoder(None)["training"]
    assert settled.epochs == 3 and settled.learning_rate == recipe.bundled["training.learning_rate"]
    assert Recipe.loads(changed.to_toml()).with_encoder(None)["training"].epochs == 3


def test_a_new_kind_starts_its_slot_anew():
    recipe = Recipe.load("lesa-bert").override({"sampler.pool": 3})
    for order in (("sampler.pool", "sampler.kind"), ("sampler.kind", "sampler.pool")):
        values = {"sampler.kind": "bucketed", "sampler.pool": 5}
        assert recipe.override({k: values[k] for k in order})["sampler"].pool == 5
    assert recipe.override({"sampler.kind": "bucketed"})["sampler"].pool == 16
    assert recipe.override({"sampler.kind": "balanced"})["sampler"].kind == "balanced"


def test_a_slot_that_nothing_needs_any_more_is_dropped():
    plain = Recipe.load("lesa-bert").override({"label_attention.kind": "cls"})
    assert "label_states" not in plain.slots
    assert plain.slots == Recipe.load("bert").slots
    coded = Recipe.load("lesa-bert-as-coded").override({"label_attention.kind": "cls"})
    assert "label_states" in coded.slots, "its loss still needs them"
    constant = Recipe.load("tfidf-svm").override({"estimator.kind": "frequency"})
    assert "features" not in constant.slots


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("bert", {"encodr__layers": 6}, 'no slot "encodr". Did you mean "encoder"?'),
        ("bert", {"encoder": 6}, '"encoder" is a slot, name a setting of it, such as encoder.kind'),
        ("bert", {"encoder__layer": 6}, 'unknown setting of encoder "pretrained".'),
        ("bert", {"encoder__qqq": 6}, '"pretrained". Allowed: '),
        ("bert", {"encoder__layers": 0}, '"encoder.layers": Input should be greater than'),
        ("bert", {"sampler__kind": "balance"}, 'no "balance" (allowed: shuffled, bucketed'),
        ("bert", {"label_states__kind": "learned"}, '"label_states" is of no use'),
        ("bert", {"loss__label_loss": 5}, '"label_states" is missing: "loss" cross-entropy'),
        ("bert", {"features__kind": "tfidf"}, '"features" does not belong in a neural recipe'),
        ("tfidf-svm", {"encoder__layers": 2}, "is missing"),
        ("frequency", {"estimator__kind": "logistic"}, '"features" is missing'),
        ("lesa-bert", {"label_attention__layers": []}, '"label_attention.layers'),
        ("bert", {"training__learning_rate": float("inf")}, '"training.learning_rate"'),
        ("bert", {"training__learning_rate": float("nan")}, '"training.learning_rate"'),
    ],
)
def test_overrides_that_make_no_sense(name, settings, said):
    assert said in refused(name, **settings)


def test_all_faults_of_overrides_at_once():
    line = refused("bert", encoder__layers="six", training__epochs=-1)
    assert "2 faults" in line and '"encoder.layers"' in line and '"training.epochs"' in line


def test_the_encoder_is_settled():
    recipe = Recipe.load("lesa-bert")
    assert recipe["encoder"].name == "dmis-lab/biobert-v1.1"
    for name in (None, "minilm"):
        bundled = recipe.with_encoder(name)
        assert bundled["encoder"].name == "minilm"
        for key, value in recipe.bundled.items():
            slot, _, setting = key.partition(".")
            assert getattr(bundled[slot], setting) == value
    assert recipe.with_encoder("recipe") is recipe
    other = recipe.with_encoder("some/encoder")
    assert other["encoder"].name == "some/encoder" and other["training"] == recipe["training"]
    linear = Recipe.load("tfidf-svm")
    for name in (None, "minilm", "recipe", "some/encoder"):
        assert linear.with_encoder(name) is linear


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("encoder.layers=6", ("encoder.layers", 6)),
        ("training.epochs = 2.5", ("training.epochs", 2.5)),
        ("a.b=true", ("a.b", True)),
        ('a.b="6"', ("a.b", "6")),
        ("a.b=balanced", ("a.b", "balanced")),
        ("a.b=[-1, 2]", ("a.b", [-1, 2])),
        ("a.b=/some/folder", ("a.b", "/some/folder")),
        ("a.b=x=y", ("a.b", "x=y")),
        ("a.b=", ("a.b", "")),
        ("a.b=3e-5", ("a.b", 3e-5)),
    ],
)
def test_settings_of_the_command_line(text, expected):
    assert parse_setting(text) == expected


def test_a_setting_without_a_value():
    with pytest.raises(RecipeError, match=r'"encoder.layers" is not a setting .*slot\.key=value'):
        parse_setting("encoder.layers")


@given(
    layers=st.none() | st.integers(1, 24),
    rate=st.floats(1e-7, 1),
    seen=st.just("all") | st.lists(st.integers(-12, 11), min_size=1, max_size=4),
    name=st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=20),
)
def test_any_setting_survives_toml(layers, rate, seen, name):
    changed = Recipe.load("lesa-bert").override(
        {
            "encoder.layers": layers,
            "encoder.name": name,
            "training.learning_rate": rate,
            "label_attention.layers": seen,
        }
    )
    assert Recipe.loads(changed.to_toml()) == changed


def test_settings_for_the_bundled_encoder_go_with_the_part_that_they_are_of():
    light = Recipe.load("bert").override({"encoder.kind": "cnn", "label_attention.kind": "max"})
    assert "encoder.name" not in light.bundled and light.bundled["training.epochs"] == 8
    assert Recipe.loads(light.to_toml()) == light
    assert "encoder.name" in Recipe.load("bert").override({"training.epochs": 1}).bundled
