"""A run that was stopped goes on and ends bit for bit as if it hadn't been."""

import json
import shutil
import signal

import pytest

from attending.data.corpora import load_corpus
from attending.errors import TrainingError, TrainingInterrupted
from attending.records import Label, LabelSet
from attending.training.run import last_checkpoint
from attending.training.state import claim
from attending.training.trainer import CHECKPOINTS


class Killed(Exception):
    """Stands for a power cut: nothing gets the chance to tidy up."""


def interrupt_at(*steps):
    """Press Ctrl-C at some steps."""

    def listen(event):
        if event.kind == "step" and event.step in steps:
            signal.raise_signal(signal.SIGINT)

    return listen


def kill_at(step):
    def listen(event):
        if event.kind == "step" and event.step == step:
            raise Killed

    return listen


def log(folder):
    return [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(train):
    """An uninterrupted run: 3 epochs of 5 steps, each with an evaluation."""
    return train(training__epochs=3)


@pytest.mark.parametrize("step", [1, 7, 10])
def test_stopped_by_the_user(step, train, whole, same, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingInterrupted) as caught:
        train(training__epochs=3, run=tmp_path, listener=interrupt_at(step))
    line = str(caught.value)
    assert line.startswith(f"{tmp_path}: stopped on request at step {step} of 15")
    assert "Run the same command again" in line
    assert signal.getsignal(signal.SIGINT) is before
    resumed = train(training__epochs=3, run=tmp_path)
    assert same(resumed, whole)
    assert resumed.metrics == whole.metrics
    assert resumed.model.decision == whole.model.decision


def test_stopped_twice(train, whole, same, tmp_path):
    for step in (3, 12):
        with pytest.raises(TrainingInterrupted, match=f"step {step} of 15"):
            train(training__epochs=3, run=tmp_path, listener=interrupt_at(step))
    assert same(train(training__epochs=3, run=tmp_path), whole)
    steps = [row["step"] for row in log(tmp_path) if row["kind"] == "start"]
    assert steps == [0, 3, 12]


def test_an_epoch_cut_short_is_not_scored(train, tmp_path):
    with pytest.raises(TrainingInterrupted):
        train(training__epochs=3, run=tmp_path, listener=interrupt_at(7))
    assert [row["step"] for row in log(tmp_path) if row["kind"] == "epoch"] == [5]


def test_killed_without_warning(train, whole, same, tmp_path):
    with pytest.raises(Killed):
        train(training__epochs=3, run=tmp_path, listener=kill_at(9))
    assert last_checkpoint(tmp_path / CHECKPOINTS).name == "checkpoint-5"
    assert same(train(training__epochs=3, run=tmp_path), whole)


def test_killed_before_the_first_checkpoint(train, whole, same, tmp_path):
    with pytest.raises(Killed):
        train(training__epochs=3, run=tmp_path, listener=kill_at(2))
    assert last_checkpoint(tmp_path / CHECKPOINTS) is None
    assert same(train(training__epochs=3, run=tmp_path), whole)


def test_killed_while_a_checkpoint_was_written(train, whole, same, tmp_path):
    with pytest.raises(Killed):
        train(training__epochs=3, run=tmp_path, listener=kill_at(8))
    last = last_checkpoint(tmp_path / CHECKPOINTS)
    half = last.with_name("checkpoint-8")
    half.mkdir()
    shutil.copy(last / "model.safetensors", half)
    assert same(train(training__epochs=3, run=tmp_path), whole)


def test_killed_after_the_last_step(train, whole, same, tmp_path):
    first = train(training__epochs=3, run=tmp_path)
    again = train(training__epochs=3, run=tmp_path)
    assert same(first, whole) and same(again, whole)
    assert again.metrics == whole.metrics


def test_without_development_rows_and_with_gathered_gradients(train, same, tmp_path, messages):
    plan = {
        "rows": messages,
        "development": (),
        "training__accumulate": 2,
        "training__epochs": 2.5,
        "sampler__kind": "shuffled",
    }
    whole = train(**plan)
    with pytest.raises(TrainingInterrupted, match="step 4 of 8"):
        train(**plan, run=tmp_path, listener=interrupt_at(4))
    assert same(train(**plan, run=tmp_path), whole)


def test_balanced_batches_and_inserted_labels(train, same, tmp_path):
    plan = {"recipe": "lesa-bert-as-coded", "training__batch_size": 6}
    whole = train(**plan)
    with pytest.raises(TrainingInterrupted):
        train(**plan, run=tmp_path, listener=interrupt_at(5))
    assert same(train(**plan, run=tmp_path), whole)


def test_a_frozen_encoder_that_read_everything_before(train, same, tmp_path):
    """What it made of the windows isn't saved: it is made again, and comes out the same."""
    plan = {"training__epochs": 3, "encoder__frozen": True}
    expected = train(**plan)
    with pytest.raises(TrainingInterrupted):
        train(run=tmp_path, listener=interrupt_at(8), **plan)
    assert same(train(run=tmp_path, **plan), expected)


def test_the_best_checkpoint_of_before_still_counts(train, same, tmp_path):
    """With a rate that ruins the later epochs, the first one must win, resumed or not."""
    plan = {"training__epochs": 3, "training__select": "log_loss", "training__learning_rate": 0.05}
    whole = train(**plan)
    with pytest.raises(TrainingInterrupted):
        train(**plan, run=tmp_path, listener=interrupt_at(13))
    resumed = train(**plan, run=tmp_path)
    assert same(resumed, whole)
    losses = [row["metrics"]["log_loss"] for row in log(tmp_path) if row["kind"] == "epoch"]
    assert len(losses) == 3
    assert losses.index(min(losses)) < 2, "else the last epoch was the best by itself"


def test_patience_is_not_refilled(train, tmp_path):
    """One epoch without gain, a stop, and another one must end it as two in a row would."""
    plan = {
        "training__epochs": 9,
        "training__patience": 2,
        "training__learning_rate": 1e-9,
        "training__select": "accuracy",
    }
    train(**plan, run=tmp_path / "whole")
    with pytest.raises(TrainingInterrupted):
        train(**plan, run=tmp_path / "cut", listener=interrupt_at(12))
    train(**plan, run=tmp_path / "cut")
    ends = [
        [row["step"] for row in log(tmp_path / name) if row["kind"] == "end"][-1]
        for name in ("whole", "cut")
    ]
    assert ends == [15, 15]


def test_a_stop_without_a_folder_says_that_nothing_is_left(train):
    with pytest.raises(TrainingInterrupted, match="Nothing was kept"):
        train(listener=interrupt_at(2))


@pytest.fixture
def listening():
    """Ctrl-C as in a terminal: a shell starts background jobs with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_a_second_ctrl_c_stops_at_once(train, tmp_path):
    def listen(event):
        if event.kind == "step" and event.step == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(run=tmp_path, listener=listen)


# Another run in the same folder.


@pytest.fixture
def unfinished(train, tmp_path):
    with pytest.raises(TrainingInterrupted):
        train(run=tmp_path, listener=interrupt_at(6))
    return tmp_path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "seed"),
        ({"training__epochs": 3}, "recipe"),
        ({"recipe": "bert"}, "recipe"),
        ({"labels": None}, "label_set_hash"),
    ],
)
def test_another_run_is_refused(unfinished, train, change, said):
    with pytest.raises(TrainingError, match=rf"differs in .*{said}.*--force"):
        train(run=unfinished, **change)


def test_other_rows_are_refused(unfinished, train, messages):
    with pytest.raises(TrainingError, match="data_fingerprint"):
        train(rows=messages[9:], development=messages[:8], run=unfinished)
    with pytest.raises(TrainingError, match="differs in development_fingerprint"):
        train(rows=messages[8:], development=messages[7::-1], run=unfinished)


def test_a_damaged_state_is_refused(unfinished, train):
    for content in ("{", "[]", "{}"):
        (unfinished / "run.json").write_text(content)
        with pytest.raises(TrainingError, match=r"can't be read .*--force"):
            train(run=unfinished)


@pytest.fixture
def labelled(case, tmp_path):
    """The label lists of the case: those of a checkpoint, other ones, the same in other order."""
    folder = case("D22")

    def documents(name):
        rows = load_corpus(folder / name).documents
        return rows * 4

    saved = json.loads((folder / "checkpoint_labels.json").read_text())
    values = json.loads((folder / "expected.json").read_text())["values"]
    return LabelSet.from_ids(saved), documents, values


def test_of_many_other_labels_a_few_are_named(tmp_path):
    state = {"labels": [f"c{i:04}" for i in range(2000)]}
    assert claim(tmp_path, state) is False
    with pytest.raises(TrainingError) as caught:
        claim(tmp_path, {"labels": state["labels"][:5]})
    line = str(caught.value)
    assert "added [], removed ['c0005', 'c0006', 'c0007', 'c0008', 'c0009'] and 1,990 more" in line


def test_other_labels_are_refused_by_name(train, labelled, tmp_path):
    saved, documents, values = labelled
    plan = {"run": tmp_path, "development": ()}
    with pytest.raises(TrainingInterrupted):
        train(rows=documents("same_set.csv"), labels=saved, listener=interrupt_at(1), **plan)
    other = LabelSet.from_ids([d.label for d in documents("new_set.csv")[:3]])
    with pytest.raises(TrainingError) as caught:
        train(rows=documents("new_set.csv"), labels=other, **plan)
    line = str(caught.value)
    assert f"added {values['added']}, removed {values['removed']}" in line
    assert "--force to start anew with a new head and optimizer" in line


def test_the_same_labels_keep_the_saved_order(train, same, labelled, tmp_path):
    saved, documents, values = labelled
    rows = documents("same_set.csv")
    in_file_order = LabelSet.from_ids([d.label for d in rows[:3]])
    assert in_file_order.ids != saved.ids
    whole = train(rows=rows, labels=saved, development=())
    with pytest.raises(TrainingInterrupted):
        train(rows=rows, labels=saved, development=(), run=tmp_path, listener=interrupt_at(1))
    resumed = train(rows=rows, labels=in_file_order, development=(), run=tmp_path)
    assert list(resumed.model.labels.ids) == values["order_used_for_same_set"]
    assert any("keep the order of the unfinished run: a, b, c" in note for note in resumed.notes)
    assert same(resumed, whole)


def test_the_same_labels_with_another_meaning_are_refused(train, labelled, tmp_path):
    saved, documents, _ = labelled
    rows = documents("same_set.csv")
    with pytest.raises(TrainingInterrupted):
        train(rows=rows, labels=saved, development=(), run=tmp_path, listener=interrupt_at(1))
    meant = LabelSet(tuple(Label(i, i, keywords=("pain",)) for i in ("c", "a", "b")))
    with pytest.raises(TrainingError, match="differs in label_set_hash"):
        train(rows=rows, labels=meant, development=(), run=tmp_path)
