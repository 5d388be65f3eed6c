"""The one training path: groups, rates, bad steps, the best checkpoint, early stopping."""

import json
from itertools import count
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attending.errors import TrainingError
from attending.models.neural import Network
from attending.parts.losses import CrossEntropyLoss
from attending.specs import Training
from attending.training import run as run_module
from attending.training.trainer import CHECKPOINTS, MOST_SKIPPED, NeuralTrainer, parameter_groups


@pytest.fixture
def network(tiny_recipe, urgency):
    return Network(tiny_recipe("lesa-bert"), urgency)


def names_of(network, parameters):
    known = {id(p): name for name, p in network.named_parameters()}
    return {known[id(p)] for p in parameters}


# Parameter groups and rates.


def test_no_decay_for_biases_norms_and_embeddings(network):
    groups = parameter_groups(network, Training(weight_decay=0.05))
    assert {g["weight_decay"]: g["lr"] for g in groups} == {0.05: 3e-5, 0.0: 3e-5}
    decayed, plain = (
        set().union(*(names_of(network, g["params"]) for g in groups if g["weight_decay"] == d))
        for d in (0.05, 0.0)
    )
    assert decayed == {
        name
        for name, p in network.named_parameters()
        if p.ndim == 2 and "embeddings" not in name and "label_states" not in name
    }
    assert decayed | plain == {name for name, _ in network.named_parameters()}
    assert not decayed & plain
    assert "label_states.vectors" in plain
    assert "encoder.model.embeddings.word_embeddings.weight" in plain
    assert "encoder.model.embeddings.position_embeddings.weight" in plain
    assert "encoder.model.encoder.layer.0.attention.output.LayerNorm.weight" in plain


def test_the_head_may_have_a_rate_of_its_own(network):
    groups = parameter_groups(network, Training(learning_rate=1e-5, head_learning_rate=1e-3))
    by_rate = {
        rate: set().union(*(names_of(network, g["params"]) for g in groups if g["lr"] == rate))
        for rate in (1e-5, 1e-3)
    }
    assert all(name.startswith(("encoder.", "label_states.")) for name in by_rate[1e-5])
    assert all(name.startswith("head.") for name in by_rate[1e-3])
    assert {"head.out.weight", "head.dense.bias"} <= by_rate[1e-3]


def test_label_vectors_train_at_the_encoder_s_rate_unless_told_otherwise(network):
    def rate(spec):
        (group,) = (
            g
            for g in parameter_groups(network, spec)
            if "label_states.vectors" in names_of(network, g["params"])
        )
        return group["lr"]

    assert rate(Training(learning_rate=1e-5, head_learning_rate=1e-3)) == 1e-5
    assert rate(Training(learning_rate=1e-5, label_learning_rate=1e-2)) == 1e-2


def test_used_rows_of_the_word_table_get_no_decay(network):
    network.encoder.train_only(torch.tensor([1, 2, 3]))
    groups = parameter_groups(network, Training())
    (group,) = (
        g
        for g in groups
        if "encoder.model.embeddings.word_embeddings.weight" in names_of(network, g["params"])
    )
    assert group["weight_decay"] == 0.0


def test_frozen_parameters_are_in_no_group(network):
    network.encoder.word_embeddings.requires_grad_(False)
    groups = parameter_groups(network, Training())
    names = set().union(*(names_of(network, g["params"]) for g in groups))
    assert "encoder.model.embeddings.word_embeddings.weight" not in names


@pytest.fixture
def rates(monkeypatch):
    """The learning rates of every step, by group."""
    seen = []
    step = NeuralTrainer.training_step

    def watch(self, *args):
        seen.append(tuple(sorted({g["lr"] for g in self.optimizer.param_groups})))
        return step(self, *args)

    monkeypatch.setattr(NeuralTrainer, "training_step", watch)
    return seen


def test_the_rate_rises_and_falls_in_a_straight_line(train, rates):
    train(training__warmup=0.3, training__learning_rate=1e-3, training__head_learning_rate=1e-2)
    encoder, head = (list(column) for column in zip(*rates[1:], strict=True))
    assert rates[0] == (0.0,)
    peak = [1 / 3, 2 / 3, 1, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7]
    assert encoder == pytest.approx([1e-3 * x for x in peak])
    assert head == pytest.approx([1e-2 * x for x in peak])


def losses_of(train, **settings):
    heard = []
    train(listener=lambda e: heard.append(e.loss) if e.kind == "step" else None, **settings)
    return heard


def test_the_loss_of_a_step_is_told(train):
    still = {"encoder__dropout": 0.0, "head__dropout": 0.0, "sampler__kind": "shuffled"}
    whole = losses_of(train, **still, training__batch_size=8)
    halves = losses_of(train, **still, training__batch_size=4, training__accumulate=2)
    assert halves == pytest.approx(whole, abs=1e-3)
    assert 0.8 < whole[0] < 1.5, "three labels that nothing is known of cost about log 3 = 1.1"
    assert sum(whole[-3:]) < sum(whole[:3])


def test_gathered_gradients_equal_one_larger_batch(train):
    still = {"encoder__dropout": 0.0, "head__dropout": 0.0, "sampler__kind": "shuffled"}
    whole = train(**still, training__batch_size=8)
    halves = train(**still, training__batch_size=4, training__accumulate=2)
    mine, yours = (f.model.network.state_dict() for f in (whole, halves))
    for name in mine:
        torch.testing.assert_close(mine[name], yours[name], atol=2e-5, rtol=1e-3)


# Steps that are not finite.


@pytest.fixture
def spoil(monkeypatch):
    """Return a function that makes the loss of some steps not finite, in one way or another."""
    plain = CrossEntropyLoss.forward

    def arrange(steps, how="loss"):
        number = count(1)

        def forward(self, logits, targets, label_logits=None):
            loss = plain(self, logits, targets, label_logits)
            if next(number) not in steps:
                return loss
            if how == "loss":
                return loss * float("nan")
            return loss + torch.sqrt(logits.sum() * 0)  # worth 0, with a gradient of infinity

        monkeypatch.setattr(CrossEntropyLoss, "forward", forward)

    return arrange


@pytest.mark.parametrize("how", ["loss", "gradient"])
def test_bad_steps_are_left_out_and_counted(train, spoil, how):
    spoil({2, 5, 6}, how)
    losses = []
    fitted = train(listener=lambda e: losses.append(e.loss) if e.kind == "step" else None)
    assert fitted.model.facts["skipped_steps"] == 3
    assert [i for i, loss in enumerate(losses, 1) if loss is None] == [2, 5, 6]
    for name, tensor in fitted.model.network.state_dict().items():
        assert torch.isfinite(tensor).all(), name


def test_a_bad_step_changes_no_weight(train, spoil, messages):
    """One epoch of which every step is bad leaves the network as it was."""
    spoil(range(1, 6))
    plan = {"training__epochs": 1, "rows": messages[8:], "development": ()}
    ruined = train(**plan)
    assert ruined.model.facts["skipped_steps"] == 5
    idle = train(**plan, training__learning_rate=1e-30, training__weight_decay=0.0)
    mine, yours = (f.model.network.state_dict() for f in (ruined, idle))
    for name in mine:
        torch.testing.assert_close(mine[name], yours[name], atol=1e-20, rtol=0)


def test_too_many_bad_steps_end_the_training(train, spoil):
    spoil(range(4, 100))
    with pytest.raises(TrainingError, match=r"11 steps had a loss or gradient .*learning_rate"):
        train(training__epochs=9)
    assert MOST_SKIPPED == 10


@pytest.fixture
def ruin(monkeypatch):
    """Return a function that makes a weight not a number after some step."""
    step = NeuralTrainer.training_step

    def arrange(at):
        number = count(1)

        def watch(self, model, inputs, *args):
            loss = step(self, model, inputs, *args)
            if next(number) == at:
                with torch.no_grad():
                    model.head.out.weight[0, 0] = float("nan")
            return loss

        monkeypatch.setattr(NeuralTrainer, "training_step", watch)

    return arrange


def test_a_ruined_network_is_never_the_best(train, ruin, tmp_path):
    ruin(7)
    with pytest.raises(TrainingError, match=r"steps had a loss|a weight is not finite"):
        train(training__epochs=9, run=tmp_path)
    saved = list((tmp_path / CHECKPOINTS).glob("checkpoint-*"))
    assert [f.name for f in saved] == ["checkpoint-5"]
    weights = load_file(saved[0] / "model.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_a_ruined_network_is_no_outcome_without_development_rows_either(train, ruin, messages):
    ruin(5)
    with pytest.raises(TrainingError, match="a weight is not finite"):
        train(rows=messages[8:], development=(), training__epochs=1)


# The best checkpoint.


@pytest.fixture
def script(monkeypatch):
    """Return a function that makes the development scores of the epochs up."""

    def arrange(name, values):
        given = iter(values)
        others = {"macro_f1": 0.5, "accuracy": 0.5, "log_loss": 1.0}
        monkeypatch.setattr(
            run_module, "development_score", lambda *_: others | {name: next(given)}
        )

    return arrange


@pytest.mark.parametrize(
    ("select", "values"),
    [
        ("macro_f1", [0.2, 0.9, 0.5]),
        ("accuracy", [0.2, 0.9, 0.9]),
        ("log_loss", [1.0, 0.3, 0.7]),
    ],
)
def test_the_checkpoint_with_the_best_figure_wins(train, script, tmp_path, select, values):
    script(select, values)
    fitted = train(training__epochs=3, training__select=select, run=tmp_path)
    best = load_file(tmp_path / CHECKPOINTS / "checkpoint-10" / "model.safetensors")
    last = load_file(tmp_path / CHECKPOINTS / "checkpoint-15" / "model.safetensors")
    found = fitted.model.network.head.out.weight
    assert torch.equal(found, best["head.out.weight"])
    assert not torch.equal(found, last["head.out.weight"])


@pytest.fixture
def written(monkeypatch):
    """Watch the checkpoints that are written: for each, its files."""
    found = []
    save = NeuralTrainer._save_checkpoint

    def watch(self, *args, **kwargs):
        save(self, *args, **kwargs)
        folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        found.append({f.name for f in folder.iterdir()})

    monkeypatch.setattr(NeuralTrainer, "_save_checkpoint", watch)
    return found


def test_without_a_folder_only_better_weights_are_written(train, script, written, same, tmp_path):
    values = [0.2, 0.9, 0.5]
    script("macro_f1", values)
    alone = train(training__epochs=3, training__select="macro_f1")
    assert len(written) == 2 and not any("optimizer.pt" in files for files in written)
    script("macro_f1", values)
    kept = train(training__epochs=3, training__select="macro_f1", run=tmp_path)
    assert len(written) == 5 and all("optimizer.pt" in files for files in written[2:])
    assert same(alone, kept)


def test_without_folder_and_development_rows_nothing_is_written(train, written, messages):
    train(rows=messages[8:], development=(), training__epochs=2)
    assert written == []


def test_without_development_rows_the_last_weights_stay(train, tmp_path, messages):
    fitted = train(rows=messages[8:], development=(), run=tmp_path)
    last = load_file(tmp_path / CHECKPOINTS / "checkpoint-10" / "model.safetensors")
    assert torch.equal(fitted.model.network.head.out.weight, last["head.out.weight"])
    assert fitted.metrics == {}


@pytest.mark.parametrize(
    ("values", "epochs"),
    [
        ([0.5, 0.6, 0.6, 0.6, 0.9], 4),
        ([0.5, 0.4, 0.6, 0.5, 0.7], 5),
        ([0.9, 0.1, 0.1, 0.1, 0.1], 3),
    ],
)
def test_patience(train, script, tmp_path, values, epochs):
    script("macro_f1", values)
    train(training__epochs=5, training__patience=2, run=tmp_path)
    lines = [json.loads(x) for x in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert sum(line["kind"] == "epoch" for line in lines) == epochs


def test_patience_needs_development_rows(train, messages):
    fitted = train(rows=messages[8:], development=(), training__patience=1)
    assert fitted.model.facts["development_rows"] == 0
