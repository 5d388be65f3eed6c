"""``attending decide``, and recall floors of ``attending train``."""

import json

import pytest

from .conftest import write_csv


@pytest.fixture(scope="module")
def portal(tmp_path_factory, portal_rows):
    """Two files of the bundled corpus: to train on, and others."""
    folder = tmp_path_factory.mktemp("portal")
    rows = [(r["id"], r["text"], r["label"]) for r in portal_rows]
    write_csv(folder / "train.csv", ("id", "text", "label"), rows[::2])
    write_csv(folder / "other.csv", ("id", "text", "label"), rows[1::2])
    return folder


@pytest.fixture(scope="module")
def urgent(portal, tmp_path_factory):
    from .conftest import run_here

    folder = tmp_path_factory.mktemp("models") / "urgent"
    done = run_here(
        "train", portal / "train.csv", "--labels", "portal", "--recipe", "tfidf-logistic",
        "--out", folder, "--recall-floor", "urgent=0.9", "--abstain", "share=0.1",
    )  # fmt: skip
    assert done.code == 0, done.err
    return folder, done


def decision_of(folder):
    return json.loads((folder / "decision.json").read_text())


def test_train_says_what_a_recall_costs_and_writes_it(urgent):
    folder, done = urgent
    assert "recall floor" in done.out and "alerts" in done.out and "missed" in done.out
    decision = decision_of(folder)
    assert decision["recall_floors"]["urgent"]["floor"] == 0.9
    assert decision["abstention"]["wanted"] == 0.1
    assert "urgent=0.9" in (folder / "recipe.toml").read_text()
    assert "urgent goes to what reaches" in (folder / "README.md").read_text()
    body = json.loads((folder / "development.json").read_text())
    assert len(body["probabilities"]) == len(body["truth"]) > 50


def test_other_rows_settle_a_model_anew(run, urgent, copied, portal):
    folder = copied(urgent[0])
    before = decision_of(folder)
    done = run("decide", folder, portal / "other.csv", "--recall-floor", "urgent=0.8")
    assert done.code == 0, done.err
    assert "Alerts, false ones and missed rows are per 1,000" in done.out
    after = decision_of(folder)
    assert after["recall_floors"]["urgent"]["floor"] == 0.8
    assert after["abstention"]["what"] == "share"  # kept, on the new rows
    assert after["recall_floors"]["urgent"]["rows"] == 878 != before["abstention"]["all_rows"]
    assert f"{after['thresholds']['urgent']:.4g}" in (folder / "README.md").read_text()
    body = json.loads((folder / "development.json").read_text())
    assert len(body["truth"]) == 878
    predicted = run("predict", folder, portal / "other.csv", "--out", "p.jsonl", "--json")
    assert predicted.json["labels"]["urgent"] == after["recall_floors"]["urgent"]["alerts"]


def test_the_rows_that_chose_are_found_in_the_file_trained_on(run, urgent, copied, portal):
    folder = copied(urgent[0])
    done = run("decide", folder, portal / "train.csv")
    assert done.code == 0, done.err
    assert "on the 88 development rows of the file" in done.err
    # The same rows and the same wishes give the same decision.
    assert decision_of(folder) == decision_of(urgent[0])


def test_rows_that_trained_are_refused(run, urgent, copied, portal):
    folder = copied(urgent[0])
    facts = json.loads((folder / "attending.json").read_text())
    facts["development_fingerprint"] = "0" * 64
    (folder / "attending.json").write_text(json.dumps(facts))
    before = (folder / "decision.json").read_bytes()
    done = run("decide", folder, portal / "train.csv", "--recall-floor", "urgent=0.9")
    assert done.code == 2 and "these rows trained the model" in done.error
    assert (folder / "decision.json").read_bytes() == before


def test_rows_that_were_trained_on_beside_the_file_are_refused(run, portal, tmp_path):
    done = run(
        "train", portal / "train.csv", "--labels", "portal", "--recipe", "tfidf-logistic",
        "--also", portal / "other.csv", "--out", "both",
    )  # fmt: skip
    assert done.code == 0, done.err
    done = run("decide", "both", portal / "other.csv", "--recall-floor", "urgent=0.9")
    assert done.code == 2 and "these rows trained the model" in done.error


def test_none_removes_and_a_dry_run_writes_nothing(run, urgent, copied, portal):
    folder = copied(urgent[0])
    before = (folder / "decision.json").read_bytes()
    words = ("decide", folder, portal / "other.csv", "--recall-floor", "none", "--abstain", "none")
    done = run(*words, "--dry-run", "--json")
    assert done.code == 0 and not {"thresholds", "abstention"} & set(done.json["decision"])
    assert (folder / "decision.json").read_bytes() == before
    assert run(*words).code == 0
    assert set(decision_of(folder)) == {"kind", "temperature", "abstain_below", "note"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--recall-floor", "urgent"), "is no recall floor"),
        (("--recall-floor", "urgent=1.5"), "is no recall floor"),
        (("--recall-floor", "urgnt=0.9"), 'Did you mean "urgent"'),
        (("--recall-floor", "non-urgent=0.9"), "every row is at least"),
        (("--recall-floor", "urgent=0.99", "--surely"), "rows with the label are needed"),
        (("--abstain", "0.3"), "--abstain can't be read"),
        (("--abstain", "share=1.2"), "--abstain can't be read"),
        (("--abstain", "below=0.5", "--abstain-by", "margin"), "says it itself"),
    ],
)
def test_what_can_not_be_had_changes_nothing(run, urgent, copied, portal, words, why):
    folder = copied(urgent[0])
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    done = run("decide", folder, portal / "other.csv", *words)
    assert done.code == 2 and why in done.error
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_another_measure_needs_a_band(run, urgent, copied, portal):
    folder = copied(urgent[0])
    done = run("decide", folder, portal / "other.csv", "--abstain-by", "margin")
    assert done.code == 0 and decision_of(folder)["abstain_margin"] > 0  # of the band it had
    assert run("decide", folder, portal / "other.csv", "--abstain", "none").code == 0
    done = run("decide", folder, portal / "other.csv", "--abstain-by", "margin")
    assert done.code == 2 and "Add --abstain" in done.error


def test_a_floor_that_can_not_be_had_stops_before_training(run, portal):
    words = ("train", portal / "train.csv", "--labels", "portal", "--recipe", "tfidf-logistic",
             "--out", "m")  # fmt: skip
    assert "every row is at least" in run(*words, "--recall-floor", "non-urgent=0.9").error
    assert 'mean "urgent"' in run(*words, "--recall-floor", "urgnt=0.9").error
    multi = run(*words, "--task", "multi", "--abstain", "share=0.1")
    assert multi.code == 2 and "so it has no band" in multi.error


def test_labels_beside_each_other_keep_recalls_of_their_own(run, portal):
    words = ("train", portal / "train.csv", "--labels", "portal", "--recipe", "tfidf-logistic",
             "--out", "m", "--task", "multi")  # fmt: skip
    done = run(*words, "--recall-floor", "urgent=0.9", "--json")
    assert done.code == 0, done.err
    from pathlib import Path

    decision = decision_of(Path("m"))
    assert decision["kind"] == "threshold"
    price = decision["recall_floors"]["urgent"]
    assert price["caught"] >= 0.9 * price["positives"] and "urgent" in decision["thresholds"]
