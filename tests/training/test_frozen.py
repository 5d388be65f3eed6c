"""What is frozen stays as it was, and what training leaves behind is as a loaded model has it."""

import numpy as np
import pytest
import torch

from attending.models.network import Network
from attending.models.store import load_model, save_model
from attending.parts.described import DescribedLabels


def encoder_of(network):
    return {k: v for k, v in network.state_dict().items() if k.startswith("encoder.")}


@pytest.mark.parametrize("recipe", ["lame-frozen", "bert"])
def test_a_frozen_encoder_is_the_same_after_training(recipe, train, tiny_recipe, urgency):
    settings = {"encoder__frozen": True, "training__epochs": 2, "training__learning_rate": 0.1}
    before = encoder_of(Network(tiny_recipe(recipe).for_task("single"), urgency))
    fitted = train(recipe, **settings)
    after = encoder_of(fitted.model.network)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_words_of_label_texts_are_trained_as_those_of_rows_are(train, urgency):
    """A word that only a description has takes part in every step, so it must not stand still."""
    network = train("lame", training__epochs=2, training__learning_rate=0.01).model.network
    used = set(network.label_states.ids[network.label_states.mask].tolist())
    fresh = Network(train("lame", training__epochs=1).model.recipe, urgency)
    table, old = (n.encoder.word_embeddings.weight for n in (network, fresh))
    moved = {i for i in used if not torch.equal(table[i], old[i])}
    assert len(moved) >= len(used) - 2, "all but padding and the like"


def test_labels_of_a_fitted_model_are_encoded_in_float32(train, tmp_path, messages):
    fitted = train("lame", training__epochs=2, training__precision="bfloat16")
    states = fitted.model.network.label_states
    assert isinstance(states, DescribedLabels) and states.kept.dtype == torch.float32
    given = [s.logits for s in fitted.model.scores(messages[:4])]
    kept = states.kept.clone()
    states.ready.fill_(False)
    again = [s.logits for s in fitted.model.scores(messages[:4])]
    assert torch.equal(kept, states.kept) and np.array_equal(given, again)
    save_model(fitted.model, tmp_path / "model", metrics=fitted.metrics)
    loaded = [s.logits for s in load_model(tmp_path / "model").scores(messages[:4])]
    assert np.allclose(loaded, given, atol=1e-6)


def test_a_loaded_model_with_a_frozen_encoder_shows_its_evidence(train, tmp_path, messages):
    fitted = train("bert", training__epochs=1, encoder__frozen=True)
    save_model(fitted.model, tmp_path / "model", metrics=fitted.metrics)
    model = load_model(tmp_path / "model")
    assert "attention-gradient" in model.methods
    for method in model.methods:
        mine, yours = (m.token_scores(messages[:2], method=method) for m in (fitted.model, model))
        for one, other in zip(mine, yours, strict=True):
            for label, values in one.scores.items():
                assert np.allclose(values, other.scores[label], atol=1e-6)
                assert any(values)


def test_margins_with_weights_that_come_late_train_from_the_first_step(train):
    """Sixty steps: long enough for the longest batch to be tried before the first one."""
    listened = []
    fitted = train(
        "bert",
        loss__kind="ldam",
        loss__class_weights="inverse",
        loss__deferred=0.8,
        training__epochs=12,
        listener=listened.append,
    )
    assert listened[0].kind == "estimate" and fitted.model.facts["skipped_steps"] == 0
