"""Rates that rise and fall in stages, and layers that join from the top down."""

import pytest
from pydantic import ValidationError

from attending.models.network import Network
from attending.specs import Training
from attending.training.fit import fit
from attending.training.schedules import Unfreezing, multiplier, stage_at, stages_of


def test_linear_in_one_stage():
    spec = Training(warmup=0.1)
    found = [multiplier(spec, s, 100) for s in (0, 5, 10, 55, 99)]
    assert found == pytest.approx([0, 0.5, 1, 0.5, 1 / 90])


def test_one_cycle_rises_and_falls_along_cosines():
    spec = Training(schedule="one-cycle", warmup=0.25)
    found = [multiplier(spec, s, 100) for s in range(100)]
    assert found[0] == pytest.approx(1 / 25) and found[25] == pytest.approx(1.0)
    assert found[12] == pytest.approx(0.5, abs=0.05) and found[-1] < 0.01
    assert found[:26] == sorted(found[:26]) and found[25:] == sorted(found[25:], reverse=True)


def test_every_stage_is_a_cycle():
    spec = Training(unfreeze=(0.4,), warmup=0.5)
    found = [multiplier(spec, s, 10) for s in range(10)]
    assert found[2] == 1.0 and found[4] == 0.0 and found[7] == 1.0
    assert [stage_at(spec, s, 10) for s in (0, 3, 4, 9)] == [0, 0, 1, 1]


def test_layers_join_from_the_top_down():
    names = ["head.out.weight", "encoder.model.embeddings.word_embeddings.weight"]
    names += [f"encoder.model.encoder.layer.{n}.output.weight" for n in range(4)]
    found = stages_of(names, "encoder", 2)
    assert list(found.values()) == [0, 2, 2, 2, 1, 1]
    assert set(stages_of(names, "encoder", 0).values()) == {0}


@pytest.mark.parametrize("cuts", [(0.5, 0.2), (0.2, 0.2), (0.0,), (1.0,)])
def test_shares_must_rise(cuts):
    with pytest.raises(ValidationError, match="must rise"):
        Training(unfreeze=cuts)


def test_frozen_layers_do_not_move_and_others_do(tiny_recipe, urgency, messages):
    settings = {"training.epochs": 2, "training.batch_size": 4, "training.unfreeze": [0.99]}
    recipe = tiny_recipe("bert").override(settings)
    network = Network(recipe, urgency)
    spec = recipe["training"]
    watcher = Unfreezing(network, spec, "encoder")

    class State:
        global_step, max_steps = 0, 10

    watcher.on_step_begin(None, State, None)
    training = {n for n, p in network.named_parameters() if p.requires_grad}
    assert training and all(n.startswith(("head.", "label_attention.")) for n in training)
    State.global_step = 10
    watcher.on_step_begin(None, State, None)
    assert all(p.requires_grad for p in network.parameters())
    model = fit(recipe, messages, urgency, development=()).model
    assert all(p.requires_grad for p in model.network.parameters())
