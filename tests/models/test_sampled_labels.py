"""Training that scores some labels a step: what is scored, read and refused, and that it learns."""

import numpy as np
import pytest
import torch

from attending.data.batches import collate
from attending.errors import RecipeError
from attending.models.network import Network
from attending.parts.label_sample import label_sample
from attending.recipe import Recipe, shipped
from attending.records import Document, Label, LabelSet, Span
from attending.training.fit import fit

FOUND = ("pain", "breath", "refill", "fever", "cough", "rash", "nausea", "cramp", "burn", "itch")
LABELS = LabelSet(tuple(Label(i, "", f"{i} reported") for i in FOUND), name="finding")


def document(i):
    """Return a row with two of the first four findings, named in its text and marked."""
    own = FOUND[i % 4], FOUND[(i + 1 + i // 4 % 2) % 4]
    text = f"today {own[0]} and {own[1]} after a walk, visit {i}"
    spans = tuple(Span(text.index(x), text.index(x) + len(x), x) for x in own)
    return Document(f"d{i}", text, own, spans)


ROWS = tuple(document(i) for i in range(24))


def label_wise(name):
    recipe = Recipe.load(name)
    per_label = ("linear", "token-linear", "token-label")
    return recipe.family == "neural" and recipe.task != "spans" and (
        recipe["head"].kind not in per_label
    )  # fmt: skip


LABEL_WISE = tuple(name for name in shipped() if label_wise(name))


def few(tiny_recipe, name, **settings):
    recipe = tiny_recipe(name).for_task("multi")
    given = {"training.epochs": 1, "windows.max_tokens": 48, "training.sampled_labels": 2}
    return recipe.override({**given, **settings})


def test_the_sweep_sees_every_recipe_that_attends_label_by_label():
    assert {"lame", "lame-evidence", "laat", "joint-laat", "caml", "plant"} < set(LABEL_WISE)
    assert len(LABEL_WISE) >= 13


@pytest.mark.parametrize("name", LABEL_WISE)
def test_every_such_recipe_trains_on_some_and_answers_for_all(tiny_recipe, name, monkeypatch):
    seen = []
    score = Network._score

    def counted(self, prepared, labels, which, words):
        logits = score(self, prepared, labels, which, words)
        if self.training:
            seen.append(logits.shape[1])
        return logits

    monkeypatch.setattr(Network, "_score", counted)
    model = fit(few(tiny_recipe, name), ROWS, LABELS, development=ROWS[:2], seed=1).model
    assert seen and max(seen) <= 4 + 2 < len(LABELS)
    found = model.scores(ROWS[:3])
    assert all(s.status == "ok" and s.logits.shape == (len(LABELS),) for s in found)


@pytest.mark.parametrize("name", ["lame", "lame-evidence", "laat"])
def test_where_no_label_is_left_out_it_is_training_on_all_bit_for_bit(tiny_recipe, name):
    some = few(tiny_recipe, name, **{"training.sampled_labels": len(LABELS)})
    every = few(tiny_recipe, name, **{"training.sampled_labels": None})
    a, b = (fit(r, ROWS, LABELS, development=ROWS[:2], seed=1).model for r in (some, every))
    for x, y in zip(a.network.state_dict().values(), b.network.state_dict().values(), strict=True):
        assert torch.equal(x, y)


def test_it_learns_what_is_there_to_learn(tiny_recipe):
    fast = {"training.epochs": 60, "training.batch_size": 4, "training.learning_rate": 5e-3}
    recipe = few(tiny_recipe, "lame", **fast)
    model = fit(recipe, ROWS, LABELS, development=(), seed=1).model
    found = model.predict(ROWS)
    right = np.mean([set(p.labels) == set(d.labels) for p, d in zip(found, ROWS, strict=True)])
    assert right >= 0.9


def states_of(tiny_recipe, **settings):
    changes = {"encoder.dropout": 0.0, "label_states.sampled": 2, **settings}
    torch.manual_seed(0)
    return Network(few(tiny_recipe, "lame", **changes), LABELS).label_states


def test_labels_that_a_step_does_not_score_are_not_read(tiny_recipe):
    states = states_of(tiny_recipe, **{"label_states.refresh": 1})
    targets = torch.zeros(1, len(LABELS))
    targets[0, 3] = 1
    whole = states(targets).states.detach()
    sample = label_sample(targets, len(LABELS), 3)
    found = states(targets, sample).states.detach()
    assert torch.allclose(found[sample.which], whole[sample.which], atol=1e-6)
    others = [i for i in range(len(LABELS)) if i not in sample.which.tolist()]
    assert not found[others].any() and whole[others].any(dim=1).all()


def test_labels_that_are_encoded_anew_are_of_the_step(tiny_recipe, monkeypatch):
    states = states_of(tiny_recipe, **{"label_states.refresh": 50})
    targets = torch.zeros(1, len(LABELS))
    targets[0, 3] = 1
    states(targets)
    for _ in range(5):
        sample = label_sample(targets, len(LABELS), 4)
        chosen = states._chosen(targets, sample)[0].tolist()
        assert len(chosen) == 3 and 3 in chosen
        assert set(chosen) <= set(sample.which.tolist())


def test_answers_are_the_same_whatever_was_sampled(tiny_recipe):
    torch.manual_seed(0)
    network = Network(few(tiny_recipe, "laat"), LABELS, texts=[d.text for d in ROWS]).eval()
    model = fit(few(tiny_recipe, "laat"), ROWS, LABELS, development=ROWS[:2], seed=1).model
    batch = collate(model.windower(["a cough"]), 0, [[4]], labels=len(LABELS), join=True)
    assert network._sample(batch) is None
    network.train()
    assert len(network._sample(batch).which) == 3


def test_it_is_refused_where_it_would_have_no_effect(tiny_recipe):
    for name in ("bert", "textcnn"):
        with pytest.raises(RecipeError, match=r"training\.sampled_labels is for labels that"):
            fit(few(tiny_recipe, name), ROWS, LABELS, development=ROWS[:2])
