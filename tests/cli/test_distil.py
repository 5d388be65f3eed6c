"""``distil``: what it tells, what it writes, and that nothing held out is learned from."""

import json
import shutil

import pytest

from attending.models.store import load_model

QUICK = ("--layers", "1", "--set", "training.epochs=1")


@pytest.fixture
def distil(run, files, tiny_encoder):
    """A function that distils a model on messages.csv to a folder "s"."""

    def start(*teachers, words=QUICK, out="s"):
        encoder = () if "--start" in words else ("--encoder", tiny_encoder)
        return run("distil", *teachers, files / "messages.csv", "--out", out, *encoder, *words)

    return start


def test_what_is_told_and_written(distil, run, neural, files, tmp_path):
    done = distil(neural)
    assert done.code == 0, done.err
    assert "teacher      lesa-bert, 2 layers" in done.err
    assert "its probabilities at temperature 1" in done.err
    assert "distil-lesa-bert: the first 1 layers" in done.err
    assert "held out     12 documents" in done.err
    assert "% of the teacher's" in done.out and "macro-F1" in done.out
    assert "attending evaluate s" in done.out and "on the 12 documents held out" in done.out
    model = load_model(tmp_path / "s")
    assert model.network.encoder.layers == 1
    assert model.labels == load_model(neural).labels
    held = [json.loads((f / "data.json").read_text())["holdout"] for f in (tmp_path / "s", neural)]
    assert held[0] == held[1]
    assert "- Student of: lesa-bert on" in (tmp_path / "s" / "README.md").read_text()
    assert (
        run("evaluate", "s", files / "messages.csv", "--json").json["documents"]["labelled"] == 12
    )


def test_for_machines(distil, neural):
    body = distil(neural, words=(*QUICK, "--json")).json
    (model,) = body["models"]
    assert body["held_out"] == 12
    assert model["facts"]["layers"] == 1
    assert model["facts"]["teachers"][0]["layers"] == 2


def test_options_are_settings_of_the_recipe(distil, neural, tmp_path):
    words = (*QUICK, "--temperature", "2", "--hard-share", "0.25", "--start", "teacher",
             "--set", "distillation.loss=kl", "--seed", "3")  # fmt: skip
    done = distil(neural, words=words)
    assert done.code == 0, done.err
    spec = load_model(tmp_path / "s").recipe["distillation"]
    assert (spec.temperature, spec.hard_share, spec.start, spec.loss) == (2, 0.25, "teacher", "kl")
    assert "at temperature 2 and, for a share of 0.25, labels" in done.err


def test_a_named_recipe_and_a_linear_teacher(distil, linear, tmp_path):
    words = ("--recipe", "distil-bert-6", *QUICK)
    done = distil(linear, words=words)
    assert done.code == 0, done.err
    model = load_model(tmp_path / "s")
    assert model.recipe.name == "distil-bert-6"
    assert "parameters" in done.out and "of the teacher's" not in done.out
    done = distil(linear, out="t")
    assert done.code == 2
    assert "no layers that a student could take" in done.error and "--recipe" in done.error


def test_several_teachers_and_texts_without_labels(distil, neural, copied, files, tmp_path):
    (tmp_path / "more.csv").write_text("id,text\na,new rash since monday\nb,please call me\n")
    several = tmp_path / "seeds"
    for seed in (0, 1):
        shutil.copytree(neural, several / f"seed-{seed}")
    words = (*QUICK, "--transfer", "more.csv", "--transfer", files / "messages.csv")
    done = distil(several, neural, words=words)
    assert done.code == 0, done.err
    assert "3 models as one: lesa-bert, lesa-bert, lesa-bert" in done.err
    assert "note: 12 transfer rows with a text that is held out: left out" in done.err
    assert load_model(tmp_path / "s").facts["transfer_rows"] == 2
    assert len(load_model(tmp_path / "s").facts["teachers"]) == 3


def test_teachers_that_held_out_different_rows(distil, run, neural, files):
    words = ["train", files / "messages.csv", "--labels", files / "labels.toml", "--recipe",
             "tfidf-logistic"]  # fmt: skip
    assert run(*words, "--holdout", "0.25", "--split-seed", "7", "--out", "other").code == 0
    done = distil(neural, "other")
    assert done.code == 2
    assert "held out different rows" in done.error and "--split-seed" in done.error
    assert run(*words, "--out", "all").code == 0
    assert "held out different rows" in distil(neural, "all").error


def test_a_file_that_is_read_in_another_way_than_for_the_teacher(distil, neural):
    done = distil(neural, words=(*QUICK, "--where", "writer=w1"))
    assert done.code == 2
    assert "read in another way" in done.error and "same columns and conditions" in done.error


def test_bad_input(distil, run, neural, files):
    done = run("distil", neural, "--out", "s")
    assert done.code == 2 and "a teacher and a file of rows are needed" in done.error
    done = run("distil", files, files / "messages.csv", "--out", "s")
    assert done.code == 2 and "is no model folder" in done.error
    done = run("distil", neural, files / "messages.csv", "--out", "s", "--start", "pretrained")
    assert done.code == 2 and "--encoder, or pass --start teacher" in done.error
    done = distil(neural, words=("--layers", "9"))
    assert done.code == 2 and "more than the encoder has" in done.error
    done = distil(neural, words=(*QUICK, "--hard-share", "2"))
    assert done.code == 2 and "distillation.hard_share" in done.error
    done = run("train", files / "messages.csv", "--recipe", "distil-bert-6", "--out", "s")
    assert done.code == 2 and "attending distil MODEL FILE --recipe distil-bert-6" in done.error


def test_nothing_is_overwritten_without_force(distil, neural):
    assert distil(neural).code == 0
    done = distil(neural)
    assert done.code == 2 and "--force" in done.error
    assert distil(neural, words=(*QUICK, "--force")).code == 0
