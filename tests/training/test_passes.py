"""How long a training lasts where rows are few."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.errors import TrainingInterrupted
from attending.specs import Training
from attending.training.passes import Passes, passes


def test_epochs_rule_where_they_make_steps_enough():
    assert passes(Training(epochs=3, min_steps=30), 10) == Passes(3, None)
    assert passes(Training(epochs=3), 1) == Passes(3, None)


def test_few_rows_are_passed_over_more_often_in_as_many_parts():
    found = passes(Training(epochs=3, min_steps=32), 5)
    assert found.every == 11, "three parts of 11 steps make 33"
    assert math.ceil(5 * found.epochs) == 33


@given(
    st.floats(0.1, 30), st.integers(1, 500), st.integers(1, 60), st.integers(1, 4)
)  # fmt: skip
def test_the_steps_are_reached_and_no_part_is_left_over(epochs, least, batches, accumulate):
    spec = Training(epochs=epochs, min_steps=least, accumulate=accumulate)
    found, per_epoch = passes(spec, batches), math.ceil(batches / accumulate)
    steps = math.ceil(per_epoch * found.epochs)
    assert steps >= least
    if found.every is not None:
        assert steps == found.every * math.ceil(epochs)
        assert steps < least + math.ceil(epochs)


def events(folder):
    return [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]


def test_a_training_takes_at_least_so_many_steps(train, tmp_path):
    """Five steps an epoch, one epoch: twelve steps are asked for, scored once at their end."""
    train(training__epochs=1, training__min_steps=12, run=tmp_path)
    found = events(tmp_path)
    assert [e["step"] for e in found if e["kind"] == "epoch"] == [12]
    assert max(e["step"] for e in found) == 12


def test_a_longer_training_goes_on_where_it_was_stopped(train, same, tmp_path):
    import signal

    def stop(event):
        if event.kind == "step" and event.step == 9:
            signal.raise_signal(signal.SIGINT)

    longer = {"training__epochs": 2, "training__min_steps": 13}
    whole = train(**longer)
    with pytest.raises(TrainingInterrupted, match="step 9 of 14"):
        train(**longer, run=tmp_path, listener=stop)
    resumed = train(**longer, run=tmp_path)
    assert same(resumed, whole)
    assert [e["step"] for e in events(tmp_path) if e["kind"] == "epoch"] == [7, 14]
