"""Networks that listen to words: off is bit for bit without, and each ingredient has its switch."""

import numpy as np
import pytest
import torch

from attending.data.batches import collate
from attending.errors import ModelError, RecipeError
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.models.store import load_model, save_model
from attending.parts.lexical import LexicalScorer
from attending.parts.lexical_mixture import matches_of
from attending.records import Document, Label, LabelSet, Span, Unreadable
from attending.training.fit import fit

LABELS = LabelSet(
    (
        Label("pain", "", "ache of the chest"),
        Label("breath", "", "shortness of breath"),
        Label("rash", "", "rash and swollen throat"),
    ),
    name="finding",
)


def document(i):
    label, word = (("pain", "chest pain"), ("breath", "dyspnoea"))[i % 2]
    text = f"{['today', 'yesterday', 'week'][i % 3]} {word} after a walk, visit {i}"
    start = text.index(word)
    return Document(f"d{i}", text, (label,), (Span(start, start + len(word), label),))


ROWS = tuple(document(i) for i in range(24))
OFF = {"lexical.weight": 0, "lexical.synonyms": 0, "label_states.synonyms": 0}
TEXTS = (
    Document("x", "a rash and chest pain"),
    Document("y", "nothing new"),
    Document("z", ""),
    Unreadable("u", "no text"),
    Document("w", "dyspnoea"),
)


@pytest.fixture(scope="module")
def model(tiny_recipe):
    recipe = tiny_recipe("lame-evidence").override({"windows.max_tokens": 24})
    return fit(recipe, ROWS, LABELS, development=(), seed=1).model


def logits(model):
    return [s.logits for s in model.scores(TEXTS)]


def test_all_off_is_lame_bit_for_bit(tiny_recipe):
    off = tiny_recipe("lame-evidence").override({**OFF, "training.evidence_loss": 0})
    mine = fit(off, ROWS, LABELS, development=(), seed=1).model
    lame = fit(tiny_recipe("lame"), ROWS, LABELS, development=(), seed=1).model
    assert mine.words is None and "matches" not in mine.methods
    state, other = mine.network.state_dict(), lame.network.state_dict()
    assert list(state) == list(other)
    assert all(torch.equal(state[key], other[key]) for key in state)
    for a, b in zip(logits(mine), logits(lame), strict=True):
        assert (a is None) == (b is None) and (a is None or np.array_equal(a, b))


def test_the_slot_can_be_added_to_any_network(tiny_recipe):
    recipe = tiny_recipe("bert").for_task("multi").override({"lexical.kind": "surfaces"})
    made = fit(recipe, ROWS, LABELS, development=(), seed=1).model
    assert made.methods[0] == "matches" and made.network.lexical is not None
    assert recipe.override({"lexical.weight": 0})["lexical"].weight == 0


@pytest.mark.parametrize("off", ["annotated", "overlap", "label_text", "mined"])
def test_each_source_of_words_can_be_left_out(off, tiny_recipe):
    value = {"label_text": (), "mined": 0}.get(off, False)
    recipe = tiny_recipe("lame-evidence", training__epochs=1).override({f"lexical.{off}": value})
    made = fit(recipe, ROWS, LABELS, development=(), seed=1).model
    assert not any(name.startswith(off) for name in made.words.view.names)
    assert all(x is None or np.isfinite(x).all() for x in logits(made))


def test_labels_may_be_described_by_words_that_the_network_does_not_listen_to(
    tiny_recipe, tmp_path
):
    deaf = tiny_recipe("lame-evidence").override({"lexical.weight": 0})
    made = fit(deaf, ROWS, LABELS, development=(), seed=1).model
    plain = fit(deaf.override(OFF), ROWS, LABELS, development=(), seed=1).model
    assert "matches" not in made.methods and made.network.lexical is None
    assert not np.array_equal(logits(made)[0], logits(plain)[0])
    loaded = load_model(save_model(made, tmp_path / "model"))
    assert np.array_equal(logits(made)[0], logits(loaded)[0])


def test_synonyms_that_nothing_reads_are_refused(tiny_recipe):
    recipe = tiny_recipe("lame-evidence").override({"label_states.synonyms": 0})
    with pytest.raises(RecipeError, match="are read by nothing"):
        Network(recipe, LABELS)


def test_one_label_a_document(tiny_recipe):
    recipe = tiny_recipe("lame-evidence").for_task("single")
    made = fit(recipe, ROWS, LABELS, development=(), seed=1).model
    assert made.decision.kind == "argmax" and made.network.lexical is not None
    assert [p.labels for p in made.predict(ROWS)] == [d.labels for d in ROWS]


def test_it_starts_as_the_words_alone(tiny_recipe):
    recipe = tiny_recipe("lame-evidence")
    words, _ = LexicalScorer.fit(recipe["lexical"], ROWS, LABELS)
    network = Network(recipe, words.with_synonyms(LABELS, recipe["lexical"].synonyms))
    made = NeuralModel(recipe, LABELS, network, words=words)
    readable = [d for d in TEXTS if isinstance(d, Document) and d.text]
    found = [x for x in logits(made) if x is not None]
    assert np.stack(found) == pytest.approx(words.scores(readable).dense(), abs=1e-5)


def test_training_rows_are_scored_by_views_that_had_not_seen_them(tiny_recipe, monkeypatch):
    """Whatever reaches the mixture in training is the held-out score of that very document."""
    recipe = tiny_recipe("lame-evidence", training__epochs=1)
    _, held = LexicalScorer.fit(recipe["lexical"], ROWS, LABELS)
    seen = []
    forward = Network.forward

    def watch(self, batch, *rest, **more):
        seen.append(batch)
        return forward(self, batch, *rest, **more)

    monkeypatch.setattr(Network, "forward", watch)
    fit(recipe, ROWS, LABELS, development=(), seed=1)
    dense = held.dense()
    trained = [b for b in seen if b.targets is not None]
    assert sum(b.size for b in trained) == len(ROWS)
    for batch in trained:
        mine = batch.lexical.silent[batch.lexical.view].clone()
        mine[batch.lexical.document, batch.lexical.label] = batch.lexical.score
        for row in range(batch.size):
            assert any(np.array_equal(mine[row].numpy(), other) for other in dense)


def test_matches_are_evidence(model):
    assert model.methods[0] == "matches" and "label-weights" in model.methods
    (found,) = model.token_scores(TEXTS[:1], method="matches", labels=("pain", "rash"))
    text = TEXTS[0].text
    marked = {
        label: [text[a:b] for (a, b), s in zip(found.offsets, row, strict=True) if s > 0]
        for label, row in found.scores.items()
    }
    assert marked["pain"] == ["chest", "pain"] and "rash" in marked["rash"]
    (blank,) = model.token_scores([TEXTS[2]], method="matches", labels=("pain",))
    assert blank.offsets == ()


def test_annotated_surfaces_are_read_after_the_description(tiny_recipe, model):
    recipe = model.recipe
    plain = Network(recipe, LABELS).label_states
    known = Network(recipe, model.words.with_synonyms(LABELS, 3)).label_states
    assert known.mask.sum() > plain.mask.sum()
    assert model.network.label_states.ids.shape == known.ids.shape
    assert model.labels == LABELS


def test_saved_equals_loaded_and_a_lost_view_is_named(model, tmp_path):
    folder = save_model(model, tmp_path / "model")
    loaded = load_model(folder)
    for a, b in zip(logits(model), logits(loaded), strict=True):
        assert (a is None) == (b is None) and (a is None or np.array_equal(a, b))
    assert loaded.token_scores(TEXTS[:1], method="matches") == model.token_scores(
        TEXTS[:1], method="matches"
    )
    (folder / "lexical.json").unlink()
    with pytest.raises(ModelError, match="lexical view"):
        load_model(folder)


def test_a_batch_says_what_words_say(model):
    windowed = model.windower([d.text for d in ROWS[:3]])
    words = matches_of(model.words.scores(ROWS[:3]), range(3))
    batch = collate(windowed, model.pad, join=True, lexical=words)
    assert batch.lexical is words
    moved = batch.to(torch.device("meta"))
    assert moved.lexical.score.device.type == moved.ids.device.type == "meta"
    with torch.no_grad():
        alone = model.network(collate(windowed, model.pad, join=True)).logits
        both = model.network(batch).logits
    assert (alone - both).abs().max() > 0.1


def test_the_words_say_what_the_dictionary_says(tiny_recipe, model):
    dictionary = fit(tiny_recipe("dictionary"), ROWS, LABELS, development=(), seed=1).model
    readable = [d for d in TEXTS if isinstance(d, Document) and d.text]
    said = np.stack([s.logits for s in dictionary.scores(readable)])
    assert model.words.scores(readable).dense() == pytest.approx(said, abs=1e-5)
