"""A training is tried and timed before it begins, and is the same training afterwards."""

import pytest
import torch

from attending.cli.progress import estimate_lines
from attending.errors import TrainingError
from attending.machine import machine_bytes
from attending.training import run as runs
from attending.training.fit import fit
from attending.training.trainer import NeuralTrainer


def train(recipe, rows, listened=None, **more):
    listener = None if listened is None else listened.append
    return fit(recipe, rows, development=rows[:8], seed=3, listener=listener, **more)


def test_longer_trainings_say_first_what_they_will_take(tiny_recipe, messages):
    listened = []
    train(tiny_recipe("lesa-bert", training__epochs=9), messages, listened)
    kinds = [event.kind for event in listened]
    assert kinds[:2] == ["estimate", "start"] and kinds.count("estimate") == 1
    facts = listened[0].facts
    assert listened[0].total == 54 and facts["documents"] == 8
    lengths = sorted(len(d.text.split()) for d in messages)[-8:]
    assert facts["tokens"] >= 8 * max(lengths) and facts["tokens"] % 64 == 0
    assert 0 < facts["seconds"] < 120
    assert 2**26 < facts["memory"] < machine_bytes() == facts["machine"]


@pytest.mark.parametrize(("frozen", "seconds"), [(False, 54), (True, 54 + 4 * 6)])
def test_the_first_epoch_of_a_frozen_encoder_takes_longer(
    frozen, seconds, tiny_recipe, messages, monkeypatch
):
    timed = iter([1.0, 5.0])
    monkeypatch.setattr("attending.training.rehearsal._seconds", lambda *_: next(timed))
    listened = []
    train(tiny_recipe("bert", training__epochs=9, encoder__frozen=frozen), messages, listened)
    assert listened[0].total == 54 and listened[0].facts["seconds"] == seconds


def test_short_trainings_just_begin(tiny_recipe, messages):
    listened = []
    train(tiny_recipe("lesa-bert", training__epochs=8), messages, listened)
    assert listened[0].kind == "start" and listened[0].total == 48


@pytest.mark.parametrize("name", ["lesa-bert", "lame", "plant"])
def test_the_training_is_the_same_after_it(name, tiny_recipe, messages, monkeypatch):
    settings = {"training__epochs": 9, "encoder__dropout": 0.1}
    if name == "lame":  # labels' encodings that are kept for some steps
        settings |= {"label_states__refresh": 4, "label_states__sampled": 1}
    recipe = tiny_recipe(name, **settings).for_task("single")
    tried = train(recipe, messages).model.network.state_dict()
    monkeypatch.setattr(runs, "rehearse", lambda trainer: None)
    plain = train(recipe, messages).model.network.state_dict()
    assert tried.keys() == plain.keys()
    assert all(torch.equal(tried[key], plain[key]) for key in tried)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't allocate memory: 9 bytes")])
def test_too_little_memory_is_told_before_anything_is_trained(
    error, tiny_recipe, messages, monkeypatch
):
    def attempt(self, examples):
        raise error

    monkeypatch.setattr(NeuralTrainer, "attempt", attempt)
    with pytest.raises(TrainingError, match="the longest batch, 8 documents, needs more memory"):
        train(tiny_recipe("bert", training__epochs=9), messages)


def test_other_faults_are_not_taken_for_it(tiny_recipe, messages, monkeypatch):
    def attempt(self, examples):
        raise RuntimeError("shapes don't fit")

    monkeypatch.setattr(NeuralTrainer, "attempt", attempt)
    with pytest.raises(RuntimeError, match="shapes"):
        train(tiny_recipe("bert", training__epochs=9), messages)


def test_a_run_that_goes_on_is_not_tried_again(tiny_recipe, messages, tmp_path):
    import signal

    from attending.errors import TrainingInterrupted

    def stop(event):
        if event.kind == "step" and event.step == 7:
            signal.raise_signal(signal.SIGINT)

    recipe, rows = tiny_recipe("bert", training__epochs=9), messages
    with pytest.raises(TrainingInterrupted):
        fit(recipe, rows, development=rows[:8], seed=3, run=tmp_path, listener=stop)
    listened = []
    train(recipe, rows, listened, run=tmp_path)
    assert "estimate" not in [event.kind for event in listened]


def test_it_is_told_in_words_with_advice_where_it_may_not_fit():
    facts = {"seconds": 372.0, "memory": 3 * 2**30, "machine": 24 * 2**30, "documents": 16,
             "tokens": 4096}  # fmt: skip
    assert estimate_lines(facts) == [
        "it will take about 6 min 12 s and 3.0 of 24.0 GiB of memory (longest batch: 16 documents, "
        "4,096 tokens)"
    ]
    lines = estimate_lines(facts | {"memory": 23 * 2**30})
    assert lines[1].startswith("warning: that is nearly all memory. Lower training.batch_size")
    assert "3.0 GiB" in estimate_lines(facts | {"machine": None})[0]
