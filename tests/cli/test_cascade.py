"""``attending cascade``: from two folders to one that is used as any model's."""

import json
from pathlib import Path

import pytest

from attending.cli.also import MoreRows
from attending.cli.origin import Holdout, Origin, of_both

from .conftest import write_csv

HEAD = ("id", "text", "label")


@pytest.fixture(scope="module")
def portal(tmp_path_factory, portal_rows):
    """Files of the bundled corpus: to train on, others with labels and without."""
    folder = tmp_path_factory.mktemp("portal")
    rows = [(r["id"], r["text"], r["label"]) for r in portal_rows]
    write_csv(folder / "train.csv", HEAD, rows[::2])
    write_csv(folder / "other.csv", HEAD, rows[1:600:2])
    write_csv(folder / "bare.csv", HEAD[:2], [row[:2] for row in rows[1:600:2]])
    write_csv(folder / "new.csv", HEAD, rows[601::2])
    return folder


@pytest.fixture(scope="module")
def models(portal, tmp_path_factory):
    """Two models of the same rows, and one of them that keeps a recall."""
    from .conftest import run_here

    folder = tmp_path_factory.mktemp("models")
    for name, recipe, *more in (
        ("quick", "tfidf-svm"),
        ("thorough", "tfidf-logistic"),
        ("careful", "tfidf-logistic", "--recall-floor", "urgent=0.8", "--abstain", "share=0.1"),
        ("half", "tfidf-svm", "--holdout", "0.5"),
    ):
        done = run_here("train", portal / "train.csv", "--labels", "portal", "--recipe", recipe,
                        "--out", folder / name, *more)  # fmt: skip
        assert done.code == 0, done.err
    return folder


def text(path):
    return Path(path).read_text(encoding="utf-8")


def read(path):
    return json.loads(text(path))


def answers(run, model, file):
    done = run("predict", model, file, "--out", "p.jsonl", "--force")
    assert done.code == 0, done.err
    with open("p.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["labels"] for line in lines]


def test_answers_stay_those_of_the_second_model(run, models, portal):
    done = run("cascade", models / "quick", models / "thorough", portal / "other.csv",
               "--out", "both", "--json")  # fmt: skip
    assert done.code == 0, done.err
    told = done.json
    assert told["rows"] == 300 and 0 < told["answered_by_first"] <= 300
    alone, both = (
        answers(run, model, portal / "other.csv") for model in (models / "thorough", "both")
    )
    changed = sum(a != b for a, b in zip(alone, both, strict=True))
    assert told["changed"] == changed <= 6
    new = [answers(run, model, portal / "new.csv") for model in (models / "thorough", "both")]
    assert sum(a != b for a, b in zip(*new, strict=True)) <= 0.05 * len(new[0])
    known = read("both/attending.json")
    assert known["family"] == "cascade" and known["cascade"]["changed"] == changed
    assert "tfidf-svm answers where" in text("both/README.md")


def test_the_folder_is_used_as_any_other(run, models, portal):
    done = run("cascade", models / "quick", models / "thorough", portal / "train.csv",
               "--out", "both", "--share", "0.6")  # fmt: skip
    assert done.code == 0, done.err
    assert "development rows of the file" in done.err
    assert "tfidf-svm answers where" in done.out and "macro-F1" in done.out
    for words in (
        ["evaluate", "both", portal / "new.csv"],
        ["explain", "both", portal / "new.csv", "--out", "words.html"],
        [
            "score",
            portal / "new.csv",
            "--model",
            "both",
            "--out",
            "scored",
            "--workers",
            "1",
            "--evidence",
        ],
        ["decide", "both", portal / "train.csv", "--recall-floor", "urgent=0.8"],
    ):
        done = run(*words)
        assert done.code == 0, done.err
    with open("scored/predictions.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert sum(bool(row.get("evidence")) for row in rows) > 0.9 * len(rows)
    assert "urgent goes to what reaches" in text("both/README.md")
    assert "no single network" in run("export", "both", "--out", "x", "--rows", "portal").error


def test_recalls_and_the_band_are_settled_for_both_together(run, models, portal):
    words = ("cascade", models / "quick", models / "careful")
    done = run(*words, portal / "other.csv", "--out", "both")
    assert done.code == 0, done.err
    decision = read("both/decision.json")
    assert decision["recall_floors"]["urgent"]["floor"] == 0.8
    assert decision["recall_floors"]["urgent"]["rows"] == 300
    assert decision["abstention"]["wanted"] == 0.1
    assert len(read("both/development.json")["truth"]) == 300
    done = run(*words, portal / "bare.csv", "--out", "bare")
    assert "takes labels to settle again" in done.error


def test_rows_without_labels_choose_the_margin_too(run, models, portal):
    words = ("cascade", models / "quick", models / "thorough")
    margins = []
    for file, out in (("other.csv", "a"), ("bare.csv", "b")):
        assert run(*words, portal / file, "--out", out).code == 0
        margins.append(read(f"{out}/cascade.json"))
    assert margins[0] == margins[1]


def test_bad_wishes(run, models, portal, tmp_path):
    quick, thorough, other = models / "quick", models / "thorough", portal / "other.csv"

    def error(*words):
        done = run("cascade", *words)
        assert done.code == 2 and not (tmp_path / "both").exists()
        return done.error

    out = ("--out", "both")
    assert "these are one" in error(quick, quick, other, *out)
    assert "both choose" in error(quick, thorough, other, *out, "--share", ".5", "--changed", "0")
    assert "between 0 and 1" in error(quick, thorough, other, *out, "--share", "1")
    both_halves = write_csv(tmp_path / "theirs.csv", HEAD, [("1", "chest pain", "dire")])
    assert "dire" in error(quick, thorough, both_halves, *out)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    assert "not empty" in error(quick, thorough, other, "--out", "taken")


def test_rows_that_trained_one_of_both_choose_nothing(run, models, portal):
    """What both carved off is all that is left of a file that they shared."""
    done = run("cascade", models / "half", models / "thorough", portal / "train.csv",
               "--out", "both", "--json")  # fmt: skip
    assert done.code == 0, done.err
    kept = [read(f"both/{part}/development.json") for part in ("first", "second")]
    assert 0 < done.json["rows"] < min(len(body["truth"]) for body in kept)


def test_only_what_neither_was_trained_on_counts_as_held_out(run, models, portal):
    """The quick model was trained on all rows, the other one on half of them."""
    done = run(
        "cascade", models / "thorough", models / "half", portal / "other.csv", "--out", "all"
    )
    assert done.code == 0, done.err
    done = run("evaluate", models / "half", portal / "train.csv", "--out", "alone")
    assert "held out of training" in done.err
    done = run("evaluate", "all", portal / "train.csv")
    assert "held out of training" not in done.err and "trained" in done.err
    assert run("evaluate", "all", portal / "train.csv", "--only-holdout", "--out", "x").code == 2


def origin(file="a.csv", fingerprint="a", held=None, **more):
    holdout = None if held is None else Holdout("label", 0.5, 1, None, held)
    return Origin(file, fingerprint, 9, {}, holdout=holdout, **more)


def test_what_both_were_trained_on():
    assert of_both(origin(held=(1, 2, 3)), origin(held=(2, 3, 4)), False).holdout.positions == (
        2,
        3,
    )
    for first in (origin(), origin(held=(1,))):
        assert of_both(first, origin(held=(2,)), False).holdout is None
    other = MoreRows("b.csv", "b", 9)
    found = of_both(origin("b.csv", "b"), origin(held=(2,), also=(MoreRows("c", "c", 1),)), False)
    assert found.holdout.positions == (2,) and found.also == (MoreRows("c", "c", 1), other)
    assert of_both(None, origin(held=(2,)), True).holdout.positions == (2,)
    assert of_both(None, origin(held=(2,)), False).holdout is None
    assert of_both(origin(held=(2,)), None, False).holdout is None
    assert of_both(None, None, True) is None
