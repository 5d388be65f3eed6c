"""``train``: what it tells, what it writes, and that the same command gives the same model."""

import json
import shutil

import pytest

from attending.models.store import load_model


def train(run, files, *words, out="m"):
    return run("train", files / "messages.csv", "--labels", files / "labels.toml", "--recipe",
               "tfidf-logistic", "--out", out, *words)  # fmt: skip


def test_what_is_told(run, files, tmp_path):
    done = train(run, files)
    assert done.code == 0
    assert 'text "text", label "label", id "id", group "writer"' in done.err
    assert "non-urgent: 20, medium: 20, urgent: 8" in done.err
    assert "tfidf-logistic: Logistic regression" in done.err
    assert "macro-F1" in done.out
    assert "a little too good" in done.out
    assert "attending evaluate m test.csv" in done.out
    model = load_model(tmp_path / "m")
    assert model.labels.ids == ("non-urgent", "medium", "urgent")
    assert model.labels["urgent"].keywords


def test_for_machines(run, files):
    done = train(run, files, "--json", "--holdout", "0.25")
    body = done.json
    assert body["held_out"] == 12
    assert body["labels"] == ["non-urgent", "medium", "urgent"]
    (model,) = body["models"]
    assert set(model["development"]) == {"macro_f1", "accuracy", "log_loss"}
    assert model["facts"]["training_rows"] + model["facts"]["development_rows"] == 36


def test_without_a_label_file_the_labels_are_those_found_sorted(run, files, tmp_path):
    done = run("train", files / "messages.csv", "--recipe", "frequency", "--out", "m")
    assert done.code == 0
    assert load_model(tmp_path / "m").labels.ids == ("medium", "non-urgent", "urgent")


def test_the_bundled_corpus_brings_its_labels(run, tmp_path):
    done = run("train", "portal", "--recipe", "frequency", "--out", "m", "--no-check")
    assert done.code == 0
    assert load_model(tmp_path / "m").labels.ordered


def test_which_encoder_is_used_and_which_was_named(run, files, tiny_encoder, neural):
    words = ["--set", "training.epochs=0.2", "--set", "training.precision=float32"]
    done = run("train", files / "messages.csv", "--encoder", tiny_encoder, "--out", "m", *words)
    assert done.code == 0
    assert f"{tiny_encoder} (the recipe names dmis-lab/biobert-v1.1" in done.err
    assert "training.epochs=0.2" in done.err
    assert "up to 62 tokens" in done.err
    assert 'label "medium": no known keyword' in done.err


def test_rows_of_warnings(run, tmp_path, files):
    lines = (files / "messages.csv").read_text().splitlines()
    twice = [*lines, lines[1].replace("p0", "q0", 1), "odd,row"]
    (tmp_path / "odd.csv").write_text("\n".join(twice) + "\n")
    done = run("train", "odd.csv", "--recipe", "frequency", "--out", "m")
    assert done.code == 0
    assert "[duplicates]" in done.err
    assert "odd.csv line 51: 2 cells, expected 4" in done.err
    assert "the lines are shown by: attending check odd.csv" in done.err
    done = run("train", "odd.csv", "--recipe", "frequency", "--out", "m2", "--no-check")
    assert "[duplicates]" not in done.err


def test_a_development_file(run, files, tmp_path):
    lines = (files / "messages.csv").read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(lines[:37]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join([lines[0], *lines[37:]]) + "\n")
    words = ["--recipe", "tfidf-logistic", "--labels", files / "labels.toml"]
    done = run("train", "a.csv", "--dev", "b.csv", *words, "--out", "m")
    assert done.code == 0
    assert load_model(tmp_path / "m").facts["training_rows"] == 36
    assert "on 12 rows that also set the calibration" in done.out
    done = run("evaluate", "m", "b.csv")
    assert "these rows chose the checkpoint" in done.err


def test_a_development_file_that_leaks(run, files, tmp_path):
    shutil.copy(files / "messages.csv", tmp_path / "again.csv")
    done = run("train", files / "messages.csv", "--dev", "again.csv", "--recipe", "frequency",
               "--out", "m")  # fmt: skip
    assert done.code == 2
    assert "[leak-text]" in done.error


def test_force_replaces_a_model(run, files, tmp_path):
    assert train(run, files).code == 0
    before = (tmp_path / "m" / "attending.json").read_text()
    assert train(run, files, "--seed", "1").code == 2
    assert (tmp_path / "m" / "attending.json").read_text() == before
    assert train(run, files, "--seed", "1", "--force").code == 0
    assert load_model(tmp_path / "m").facts["seed"] == 1


@pytest.mark.slow
def test_the_label_list_does_not_depend_on_hash_seeds(process, case, tmp_path):
    folder, lists, answers = case("D05"), [], []
    expected = json.loads((folder / "expected.json").read_text())["values"]
    shutil.copy(folder / "test.csv", tmp_path / "other name.csv")
    one_row = (folder / "test.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join([one_row[0], one_row[-1]]) + "\n")
    for seed in ("1", "2"):
        done = process(
            "train", folder / "train.csv", "--recipe", "tfidf-logistic", "--out", f"m{seed}",
            "--set", "features.min_documents=1", PYTHONHASHSEED=seed,
        )  # fmt: skip
        assert done.code == 0, done.err
        lists.append(list(load_model(tmp_path / f"m{seed}").labels.ids))
        out = process("predict", f"m{seed}", "other name.csv", "--out", "-", PYTHONHASHSEED=seed)
        answers.append(out.out)
    assert lists == [expected["label_list"]] * 2
    assert answers[0] == answers[1]
    last = process("predict", "m1", "one.csv", "--out", "-").out
    assert json.loads(last)["labels"] == json.loads(answers[0].splitlines()[-1])["labels"]


@pytest.mark.parametrize("recipe", ["frequency", "tfidf-svm"])
def test_the_same_command_gives_the_same_weights(run, files, tmp_path, recipe):
    for out in ("a", "b"):
        words = ["train", files / "messages.csv", "--recipe", recipe, "--out", out]
        assert run(*words).code == 0
    one, other = ((tmp_path / o / "model.safetensors").read_bytes() for o in ("a", "b"))
    assert one == other


def test_what_to_type_next(run, files):
    file = files / "messages.csv"
    names = ["--text", "text", "--group", "writer"]
    words = ["train", file, "--recipe", "frequency", "--no-check", *names]
    done = run(*words, "--out", "a", "--holdout", "0.25", "--where", "writer=w1")
    next_one = (
        f"  attending evaluate a {file} --text text --group writer --where writer=w1  # on the 3"
    )
    assert next_one in done.out
    assert run(*next_one.partition("#")[0].split()[1:]).code == 0
    done = run(*words, "--out", "b", "--where", "writer=w1")
    assert "  attending evaluate b test.csv --text text --group writer\n" in done.out
    assert "--out predictions.jsonl --text text --evidence\n" in done.out
