"""A fit whose outcome is a model folder."""

import json
import signal

import pytest

from attending.errors import LabelError, OutputError, TrainingInterrupted
from attending.models.store import load_model
from attending.records import Document
from attending.training.job import train_into


@pytest.fixture
def job(messages, urgency, tiny_recipe):
    def run(folder, recipe="tfidf-svm", rows=messages[8:], **options):
        return train_into(
            folder, tiny_recipe(recipe), rows, urgency, development=messages[:8], **options
        )

    return run


def interrupt(event):
    if event.kind == "step" and event.step == 3:
        signal.raise_signal(signal.SIGINT)


def test_the_outcome_is_a_model_folder_with_its_log(job, tmp_path, messages):
    out = tmp_path / "deep" / "model"
    fitted = job(out, "bert")
    loaded = load_model(out)
    assert loaded.predict(messages[:3]) == fitted.model.predict(messages[:3])
    assert not (out / "run").exists()
    kinds = [json.loads(line)["kind"] for line in (out / "train.jsonl").read_text().splitlines()]
    assert kinds[0] == "start" and kinds[-1] == "end"
    assert json.loads((out / "metrics.json").read_text()) == dict(fitted.metrics)
    assert [f.name for f in out.parent.iterdir()] == ["model"]


def test_a_linear_model_has_no_log(job, tmp_path):
    job(tmp_path / "model")
    assert not (tmp_path / "model" / "train.jsonl").exists()
    assert not (tmp_path / "model" / "run").exists()


def test_a_finished_model_is_not_replaced_without_force(job, tmp_path):
    job(tmp_path / "model")
    before = (tmp_path / "model" / "attending.json").read_bytes()
    with pytest.raises(OutputError, match=r"exists and is not empty.*--force"):
        job(tmp_path / "model", "frequency")
    assert (tmp_path / "model" / "attending.json").read_bytes() == before
    job(tmp_path / "model", "frequency", force=True)
    assert load_model(tmp_path / "model").recipe.name == "frequency"


def test_a_failed_training_leaves_the_old_model(job, tmp_path):
    job(tmp_path / "model")
    files = {f: f.read_bytes() for f in (tmp_path / "model").rglob("*") if f.is_file()}
    strange = [Document("1", "text", ("no such label",)), Document("2", "text", ("urgent",))]
    with pytest.raises(LabelError):
        job(tmp_path / "model", rows=strange, force=True)
    assert {f: f.read_bytes() for f in (tmp_path / "model").rglob("*") if f.is_file()} == files


@pytest.mark.parametrize("force", [False, True])
def test_not_even_force_wipes_a_folder_that_is_no_model(job, tmp_path, force):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(OutputError):
        job(tmp_path, force=force)
    assert (tmp_path / "thesis.txt").read_text() == "three years of work"


def test_a_file_is_no_folder(job, tmp_path):
    (tmp_path / "model").write_text("")
    for force in (False, True):
        with pytest.raises(OutputError, match="is a file"):
            job(tmp_path / "model", force=force)


def test_an_interrupted_job_goes_on(job, tmp_path):
    out = tmp_path / "model"
    with pytest.raises(TrainingInterrupted, match="Run the same command again to go on"):
        job(out, "bert", listener=interrupt)
    assert [f.name for f in out.iterdir()] == ["run"]
    starts = []
    job(out, "bert", listener=lambda e: starts.append(e.step) if e.kind == "start" else None)
    assert starts == [3]
    assert load_model(out).recipe.name == "bert"


def test_an_interrupted_replacement_keeps_the_old_model_and_goes_on_without_force(job, tmp_path):
    out = tmp_path / "model"
    job(out)
    with pytest.raises(TrainingInterrupted, match="again, without --force, to go on"):
        job(out, "bert", listener=interrupt, force=True)
    assert load_model(out).recipe.name == "tfidf-svm"
    starts = []

    def listen(event):
        if event.kind == "start":
            starts.append(event.step)

    job(out, "bert", listener=listen)
    assert starts == [3]
    assert load_model(out).recipe.name == "bert"
    assert not (out / "run").exists()


def test_force_starts_anew(job, tmp_path):
    out = tmp_path / "model"
    with pytest.raises(TrainingInterrupted):
        job(out, "bert", listener=interrupt)
    starts = []
    listen = lambda e: starts.append(e.step) if e.kind == "start" else None  # noqa: E731
    job(out, "bert", listener=listen, force=True)
    assert starts == [0]
