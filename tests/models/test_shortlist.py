"""Two stages: words pick the labels of a document, the network scores those."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from attending.errors import ModelError, RecipeError, TrainingError
from attending.export.graph import write_graph
from attending.models.network import NOT_LISTED
from attending.models.store import load_model, save_model
from attending.parts.lexical_mixture import matches_of
from attending.parts.shortlist import TABLE, Shortlist
from attending.recipe import Recipe, shipped
from attending.records import Document, Label, LabelSet
from attending.specs import WordShortlist
from attending.training.fit import fit

LABELS = LabelSet(
    (
        Label("pain", "", "chest pain or headache"),
        Label("breath", "", "shortness of breath"),
        Label("refill", "", "please refill the tablet"),
        Label("rash", "", "itching skin", synonyms=("swollen throat",)),
    ),
    name="finding",
)
TEXTS = (
    ("chest pain and shortness of breath", ("pain", "breath")),
    ("severe headache and chest pain", ("pain",)),
    ("shortness of breath after a walk", ("breath",)),
    ("please refill metformin tablet", ("refill",)),
    ("feeling well, thank you", ()),
    ("please refill the tablet, i have chest pain. " * 12, ("refill", "pain")),
    ("thank the nurse for the visit", ()),
    ("breath is short and please refill the tablet", ("breath", "refill")),
)
ROWS = tuple(Document(f"d{i}", text, ids) for i, (text, ids) in enumerate(TEXTS))


def label_wise(name):
    recipe = Recipe.load(name)
    per_label = ("linear", "token-linear", "token-label")
    return recipe.family == "neural" and recipe.task != "spans" and (
        recipe["head"].kind not in per_label and recipe.get("lexical") is None
    )  # fmt: skip


LABEL_WISE = tuple(name for name in shipped() if label_wise(name))


@pytest.fixture(scope="module")
def fitted(tiny_recipe):
    """Return a function that fits a tiny recipe of any number of labels, and keeps it."""
    made = {}

    def make(name):
        if name not in made:
            recipe = tiny_recipe(name).for_task("multi")
            recipe = recipe.override({"training.epochs": 1, "windows.max_tokens": 48})
            made[name] = fit(recipe, ROWS, LABELS, development=ROWS[:2]).model
        return made[name]

    return make


def listed(model, spec):
    """Return the model with a first stage."""
    first = Shortlist.fit(spec, ROWS, LABELS)
    more = {"words": model.words, "index": model.index, "shortlist": first}
    return type(model)(model.recipe, LABELS, model.network, model.decision, model.facts, **more)


def logits(model, rows=ROWS):
    return np.stack([s.logits for s in model.scores(rows)])


def test_the_sweep_sees_every_recipe_that_attends_label_by_label():
    assert {"lame", "laat", "joint-laat", "caml", "plm-icd", "plant", "lsan"} < set(LABEL_WISE)
    assert len(LABEL_WISE) >= 12


@pytest.mark.parametrize("name", LABEL_WISE)
def test_listed_labels_score_as_ever_and_all_others_below_them(name, fitted):
    model = fitted(name)
    two = listed(model, WordShortlist(size=2, common=1))
    picked = two.shortlist.pick(ROWS)
    found, whole = logits(two), logits(model)
    for row, which in enumerate(picked):
        assert np.allclose(found[row, which], whole[row, which], atol=1e-4)
        others = np.setdiff1d(np.arange(4), which)
        assert (found[row, others] < min(found[row, which].min(), NOT_LISTED)).all()


def test_beside_words_the_network_has_no_say_on_labels_that_are_not_listed(fitted):
    model = fitted("lame-evidence")
    two = listed(model, WordShortlist(size=2, common=1))
    found, whole = logits(two), logits(model)
    matches = matches_of(model.words.scores(ROWS), range(len(ROWS)))
    with torch.no_grad():
        words = model.network.lexical(torch.zeros(len(ROWS), 4), matches).numpy()
    differ = 0
    for row, which in enumerate(two.shortlist.pick(ROWS)):
        others = np.setdiff1d(np.arange(4), which)
        assert np.allclose(found[row, which], whole[row, which], atol=1e-4)
        assert np.allclose(found[row, others], words[row, others], atol=1e-4)
        differ += not np.allclose(whole[row, others], words[row, others], atol=1e-3)
    assert differ  # the network does have a say where it looks


def test_notes_say_who_scores_what_is_not_listed(tiny_recipe):
    few = {"shortlist__kind": "words", "shortlist__size": 2, "training__epochs": 1}
    notes = fit(tiny_recipe("lame-evidence", **few), ROWS[:6], LABELS, development=ROWS[6:]).notes
    assert any("words alone score the others" in note for note in notes)


def test_a_list_of_all_labels_changes_nothing(fitted):
    model = fitted("lame")
    assert np.allclose(logits(listed(model, WordShortlist(size=9))), logits(model), atol=1e-5)
    model = fitted("lame-evidence")
    assert np.allclose(logits(listed(model, WordShortlist(size=9))), logits(model), atol=1e-5)


def test_batch_mates_move_no_score(fitted):
    two = listed(fitted("laat"), WordShortlist(size=2, common=0))
    alone = np.concatenate([logits(two, [row]) for row in ROWS])
    assert np.allclose(alone, logits(two), atol=1e-4)


def test_words_of_texts_and_of_labels_pick():
    spec = WordShortlist(size=1, common=0)
    first = Shortlist.fit(spec, ROWS, LABELS)
    told = [("a", "headache"), ("b", "out of breath"), ("c", "metformin"), ("d", "swollen throat")]
    picked = first.pick([Document(i, text) for i, text in told])
    assert [LABELS.ids[i] for i in picked[:, 0]] == ["pain", "breath", "refill", "rash"]
    # Without the labels' own texts nothing is known of one that no row has.
    blind = Shortlist.fit(changed(spec, prior=0.0), ROWS, LABELS)
    assert LABELS.ids[blind.pick([Document("d", "swollen throat")])[0, 0]] != "rash"


def changed(spec, **changes):
    return spec.model_copy(update=changes)


def test_the_most_frequent_labels_are_on_every_list():
    first = Shortlist.fit(WordShortlist(size=6, common=3), ROWS, LABELS)
    picked = first.pick([Document("x", "nothing that is known"), Document("y", "swollen throat")])
    assert all({0, 1, 2} <= set(row) for row in picked.tolist())
    # A label that no row has is not frequent, however many may be common.
    every = Shortlist.fit(WordShortlist(size=8, common=4), ROWS, LABELS)
    assert every.common.tolist() == [0, 1, 2]


def test_frequent_labels_are_never_the_whole_list():
    """A list of them alone would be the same for every document, whatever it says."""
    labels = LabelSet.from_ids([f"l{i}" for i in range(40)])
    rows = [Document(str(i), f"word{i} again", (f"l{i}",)) for i in range(40)]
    for size in (4, 10):
        first = Shortlist.fit(WordShortlist(size=size), rows, labels)
        picked = first.pick(rows)
        assert all(i in row for i, row in enumerate(picked.tolist()))
        assert len(first.common) == size // 2


def test_only_a_label_s_best_words_are_kept():
    first = Shortlist.fit(WordShortlist(words=2), ROWS, LABELS)
    sizes = np.diff(first.table.tocsc().indptr)
    assert sizes.max() == 2
    lengths = np.sqrt(np.asarray(first.table.multiply(first.table).sum(axis=0)).ravel())
    assert np.allclose(lengths, 1, atol=1e-6)


def test_trained_saved_and_loaded_it_is_the_same(tiny_recipe, tmp_path):
    recipe = tiny_recipe("lame", shortlist__kind="words", shortlist__size=2, shortlist__common=1)
    fitted = fit(recipe, ROWS[:6], LABELS, development=ROWS[6:])
    model = fitted.model
    # "breath" of the last row is on its list, "refill" of the same row may not be.
    kept, count = model.facts["shortlist"]
    assert (kept, count) == model.shortlist.kept(ROWS[6:], LABELS) and count == 2
    assert any(f"the shortlists hold {kept} of 2 labels" in note for note in fitted.notes)
    assert model.shortlist is not None and model.shortlist.spec.size == 2
    # Training rows alone: a word that only a development row has is not known.
    assert "nurse" not in model.shortlist.vectoriser.vocabulary_
    loaded = load_model(save_model(model, tmp_path / "model"))
    assert np.array_equal(logits(loaded), logits(model))
    assert loaded.predict(ROWS) == model.predict(ROWS)
    assert loaded.predict([Document("blank", " ")])[0].status == "empty_text"
    assert loaded.token_scores(ROWS[:1])[0].scores  # evidence is there for any label


def test_a_damaged_list_is_refused_in_one_line(tiny_recipe, tmp_path):
    recipe = tiny_recipe("lame", shortlist__kind="words", training__epochs=1)
    folder = save_model(fit(recipe, ROWS, LABELS, development=()).model, tmp_path / "model")
    table = folder / "shortlist" / TABLE
    arrays = load_file(table)
    save_file(arrays | {"shape": arrays["shape"] + 1}, table)
    with pytest.raises(ModelError, match=r"the shortlist doesn't fit|the model folder is damaged"):
        load_model(folder)
    table.unlink()
    with pytest.raises(ModelError, match="the model folder is damaged"):
        load_model(folder)


@pytest.mark.parametrize("name", ["lesa-bert", "bert"])
def test_what_cannot_have_one_says_so(name, tiny_recipe):
    recipe = tiny_recipe(name, shortlist__kind="words")
    rows = ROWS if recipe.task == "multi" else [replace(r, labels=r.labels[:1]) for r in ROWS[:4]]
    with pytest.raises(RecipeError, match="a shortlist is for labels that attend each for itself"):
        fit(recipe, rows, LABELS, development=())


def test_texts_without_a_word_cannot_make_one():
    rows = [Document("a", "!", ("pain",)), Document("b", "?", ("rash",))]
    with pytest.raises(TrainingError, match="the shortlist can't be fitted"):
        Shortlist.fit(WordShortlist(prior=0.0), rows, LABELS)


def test_it_is_no_graph(fitted, tmp_path):
    pytest.importorskip("onnxscript")
    with pytest.raises(ModelError, match="scores the labels of a shortlist"):
        write_graph(listed(fitted("lame"), WordShortlist()), tmp_path / "graph")
