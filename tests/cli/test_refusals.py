"""Bad input gets one clear line on stderr, exit code 2, and nothing on disk."""

import json

import pytest

from attending.cli.app import app

LABELS = ("admin", "routine", "urgent")
MARKER = "ZXQ-MARKER-7731"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f'"{MARKER} chest pain number {i}",urgent\n"form number {i} please",admin\n'
        f'"mild headache number {i}",routine\n'
        for i in range(12)
    ]
    (tmp_path / "messages.csv").write_text("text,label\n" + "".join(rows), "utf-8")


@pytest.fixture
def attending(capfd):
    """Run the command line; return its exit code and what it wrote."""

    def run(*words):
        code = app(args=[str(w) for w in words], standalone_mode=False)
        out, err = capfd.readouterr()
        return code, out, err

    return run


@pytest.fixture
def refused(attending):
    """Run a command that must be refused; return its last line."""

    def run(*words):
        code, out, err = attending(*words)
        line = err.strip().splitlines()[-1]
        assert code == 2, (out, err)
        assert line.startswith("error: ") and "Traceback" not in err
        assert MARKER not in out + err
        return line

    return run


@pytest.fixture
def model(attending):
    code, *_ = attending("train", "messages.csv", "--recipe", "tfidf-logistic", "--out", "model")
    assert code == 0
    return "model"


def test_a_missing_file(refused):
    assert "none.csv" in refused("train", "none.csv", "--out", "m")


def test_a_wrong_column_is_met_with_the_columns_found(refused):
    line = refused("check", "messages.csv", "--text", "txt")
    assert '"txt"' in line and '"text"' in line and '"label"' in line


def test_bad_bytes_are_placed(refused, tmp_path):
    (tmp_path / "w.csv").write_bytes(b"text,label\ncaf\xe9,admin\n")
    line = refused("check", "w.csv")
    assert "byte 14" in line and "line 2" in line and "--encoding" in line


def test_a_label_that_is_not_in_the_set(refused, tmp_path):
    body = "".join(f'[[label]]\nid = "{i}"\n' for i in ("admin", "routine", "urgnt"))
    (tmp_path / "labels.toml").write_text(f'name = "x"\n{body}', "utf-8")
    line = refused("train", "messages.csv", "--labels", "labels.toml", "--out", "m")
    assert '"urgent"' in line and "urgnt" in line and "messages.csv" in line


def test_one_label_only(refused, tmp_path):
    (tmp_path / "one.csv").write_text("text,label\na b,x\nc d,x\n", "utf-8")
    refused("train", "one.csv", "--recipe", "tfidf-svm", "--out", "m")
    line = refused("train", "one.csv", "--recipe", "tfidf-svm", "--out", "m", "--no-check")
    assert "label" in line


def test_two_rows(refused, tmp_path):
    (tmp_path / "two.csv").write_text("text,label\na b,x\nc d,y\n", "utf-8")
    assert "fitted" in refused("train", "two.csv", "--recipe", "tfidf-svm", "--out", "m")


def test_an_encoder_that_is_not_there(refused):
    line = refused("train", "messages.csv", "--recipe", "bert", "--encoder", "./none", "--out", "m")
    assert "./none" in line


def test_a_misspelt_setting_gets_the_nearest(refused):
    line = refused(
        "train", "messages.csv", "--recipe", "bert", "--set", "encoder.layer=3", "--out", "m"
    )
    assert "layers" in line


def test_a_model_folder_with_a_changed_label_file(refused, model, tmp_path):
    path = tmp_path / model / "labels.toml"
    path.write_text(path.read_text("utf-8").replace("urgent", "Urgent"), "utf-8")
    assert "labels.toml" in refused("predict", model, "messages.csv", "--out", "p.jsonl")
    assert not (tmp_path / "p.jsonl").exists()


def test_no_model_folder(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "attending.json" in refused("evaluate", "empty", "messages.csv")


def test_an_output_folder_that_exists_is_kept(refused, model, tmp_path):
    before = (tmp_path / model / "attending.json").read_bytes()
    line = refused("train", "messages.csv", "--recipe", "frequency", "--out", model)
    assert "--force" in line
    assert (tmp_path / model / "attending.json").read_bytes() == before


def test_an_output_file_that_exists_is_kept(refused, model, tmp_path):
    (tmp_path / "p.jsonl").write_text("mine", "utf-8")
    assert "--force" in refused("predict", model, "messages.csv", "--out", "p.jsonl")
    assert (tmp_path / "p.jsonl").read_text("utf-8") == "mine"


def test_an_unknown_recipe_and_an_unknown_verb(attending, refused):
    assert "lesa-bert" in refused("train", "messages.csv", "--recipe", "lesa-brt", "--out", "m")
    assert attending("trian")[0] == 2


def test_every_row_is_answered_in_order(attending, model, tmp_path):
    rows = ['{"id": "a", "text": "chest pain"}', '{"id": "b", "text": " "}', "{broken",
            '{"id": "d", "text": null}', '{"id": "e", "text": "form please"}']  # fmt: skip
    (tmp_path / "new.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    code, _, _ = attending("predict", model, "new.jsonl", "--out", "p.jsonl", "--evidence")
    assert code == 0
    found = [json.loads(x) for x in (tmp_path / "p.jsonl").read_text("utf-8").splitlines()]
    assert [p["status"] for p in found] == ["ok", "empty_text", "failed", "failed", "ok"]
    assert [p["labels"] for p in found] == [["urgent"], [], [], [], ["admin"]]
    for p in found:
        assert all(0 <= e["start"] < e["end"] for e in p["evidence"])


def test_one_file_is_enough_for_an_honest_figure(attending, tmp_path):
    words = ("messages.csv", "--recipe", "tfidf-logistic", "--holdout", "0.25", "--out", "held")
    assert attending("train", *words)[0] == 0
    code, out, err = attending("evaluate", "held", "messages.csv", "--out", "report")
    assert code == 0 and "held out" in out + err
    assert (tmp_path / "report" / "report.html").is_file()
    written = (tmp_path / "report" / "metrics.json").read_text("utf-8")
    assert MARKER not in written + (tmp_path / "report" / "report.html").read_text("utf-8")


def test_evaluate_explain_and_show(attending, model, tmp_path):
    code, out, _ = attending("evaluate", model, "messages.csv", "--json", "--out", "report")
    assert code == 0 and json.loads(out)["metrics"]["accuracy"] > 0.9
    assert attending("explain", model, "messages.csv", "--out", "page.html")[0] == 0
    assert "chest" in (tmp_path / "page.html").read_text("utf-8")
    code, out, _ = attending("recipes", "show", "lesa-bert")
    assert code == 0 and "dmis-lab/biobert-v1.1" in out and "minilm" in out
    assert attending("labels", "show", "portal")[0] == 0
    assert attending("doctor", "--json")[0] == 0


def test_a_demo_never_replaces_a_folder_that_is_not_one(refused, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", "utf-8")
    refused("demo", "--out", "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text("utf-8") == "years of work"
