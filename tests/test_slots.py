import pytest

from attending.errors import RecipeError
from attending.recipe import Recipe

TAGS = """
name = "mine"
[encoder]
kind = "pretrained"
[head]
kind = "token-linear"
[loss]
kind = "token-cross-entropy"
[decoder]
kind = "viterbi"
[training]
kind = "trainer"
"""


def test_a_recipe_that_tags_fills_its_own_slots():
    recipe = Recipe.loads(TAGS)
    assert (recipe.task, recipe.family) == ("spans", "neural")
    assert recipe["scheme"].kind == "flat" and recipe["windows"].kind == "tokens"
    assert recipe.get("neighbours") is None
    assert recipe.for_task("spans") is recipe


def test_labels_of_documents_need_no_scheme():
    assert "scheme" not in Recipe.load("bert").slots


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("token-linear", "linear"), '"head" linear is for documents but "decoder" viterbi is for'),
        (("token-cross-entropy", "cross-entropy"), "cross-entropy is for single-label but"),
        (('"viterbi"', '"argmax"'), '"label_attention" is missing'),
        (('"viterbi"', '"threshold"'), '"head" token-linear is for spans but "decoder" threshold'),
        (("[training]", '[label_attention]\nkind = "cls"\n[training]'), "does not belong in a"),
        (("token-linear", "token-label"), '"label_states" is missing'),
        (('"mine"', '"mine"\n[multi.loss]\nkind = "bce"'), "the recipe tags spans"),
    ],
)
def test_what_does_not_fit_is_said(change, said):
    with pytest.raises(RecipeError) as error:
        Recipe.loads(TAGS.replace(*change, 1))
    assert said in str(error.value)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_no_recipe_does_both(task):
    with pytest.raises(RecipeError, match="tags spans, it gives documents no labels"):
        Recipe.loads(TAGS).for_task(task)
    with pytest.raises(RecipeError, match="gives documents labels, it tags no spans"):
        Recipe.load("bert").for_task("spans")


def test_features_and_estimators_are_of_one_task():
    recipe = Recipe.load("features-ner")
    with pytest.raises(RecipeError, match='"features" tfidf is for documents'):
        recipe.override({"features.kind": "tfidf"})
    with pytest.raises(RecipeError, match='"features" word-window is for spans'):
        Recipe.load("tfidf-logistic").override({"features.kind": "word-window"})


def test_an_option_of_any_recipe():
    for name in ("atl-ner", "crf-ner", "features-ner", "lame-ner"):
        recipe = Recipe.load(name).override({"neighbours.kind": "logits"})
        assert recipe["neighbours"].k == 17
