"""``predict``: one answer a row, in order, whatever the row is."""

import csv
import gzip
import json

import pytest


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(params=["linear", "neural"])
def model(request):
    return request.getfixturevalue(request.param)


def test_rows_that_can_not_be_read_keep_their_place(run, model, case, tmp_path):
    batch = json.loads((case("D18") / "batch.json").read_text())
    texts = batch["texts"] if isinstance(batch, dict) else batch
    expected = json.loads((case("D18") / "expected.json").read_text())["values"]
    rows = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("predict", model, "in.jsonl", "--out", "p.jsonl")
    assert done.code == 0
    answers = lines(tmp_path / "p.jsonl")
    assert [a["id"] for a in answers] == [str(i) for i in range(expected["n_results"])]
    by_status = {"empty_text": [], "failed": [], "ok": []}
    for i, answer in enumerate(answers):
        by_status[answer["status"]].append(i)
        assert bool(answer["labels"]) == bool(answer["scores"]) == (answer["status"] == "ok")
    assert by_status["empty_text"] == expected["empty_indices"]
    assert by_status["failed"] == expected["invalid_indices"]
    assert by_status["ok"] == expected["normal_indices"]
    assert "5: 1 answered, 3 without text (lines 1, 2, 3), 1 failed (line 4)" in done.out
    assert "4 rows: for a person to read" in done.out
    (tmp_path / "alone.jsonl").write_text(json.dumps(rows[expected["normal_indices"][0]]) + "\n")
    assert run("predict", model, "alone.jsonl", "--out", "a.jsonl").code == 0
    alone = lines(tmp_path / "a.jsonl")[0]["scores"]
    together = answers[expected["normal_indices"][0]]["scores"]
    assert alone == pytest.approx(together, abs=1e-6)


def test_broken_lines_of_a_file(run, model, tmp_path):
    rows = ["id,text", "a,chest pain", "b,too,many", '"c","open', "d,a refill"]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n")
    done = run("predict", model, "in.csv", "--out", "p.jsonl")
    assert done.code == 0
    answers = lines(tmp_path / "p.jsonl")
    assert [a["status"] for a in answers] == ["ok", "failed", "failed", "ok"]
    assert answers[1]["reason"] == "3 cells, expected 2"
    assert "in.csv line 3: 3 cells, expected 2" in done.err


def test_labels_in_the_file_do_not_matter(run, linear, files, tmp_path):
    rows = list(csv.reader((files / "messages.csv").read_text().splitlines()))
    with (tmp_path / "two.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0], "category"])
        writer.writerows([*row, "x"] for row in rows[1:])
    assert run("predict", linear, "two.csv", "--out", "p.jsonl").code == 0
    assert run("predict", linear, files / "messages.csv", "--out", "q.jsonl").code == 0
    assert lines(tmp_path / "p.jsonl") == lines(tmp_path / "q.jsonl")


def test_from_standard_input_to_standard_output(run, linear, files, tmp_path):
    assert run("data", "convert", files / "new.csv", "new.jsonl").code == 0
    assert run("predict", linear, "new.jsonl", "--out", "p.jsonl").code == 0
    done = run("predict", linear, "-", "--out", "-", stdin=(tmp_path / "new.jsonl").read_bytes())
    assert done.code == 0
    assert [json.loads(line) for line in done.out.splitlines()] == lines(tmp_path / "p.jsonl")
    assert "6: 6 answered" in done.err


@pytest.mark.slow
def test_standard_input_is_named_in_errors(process, linear):
    done = process("predict", linear, "-", "--out", "-", stdin=b"")
    assert done.code == 2
    assert "stdin: the file is empty" in done.error
    done = process("predict", linear, "-", "--out", "-", stdin=b'{"text": "\xff"}\n')
    assert "stdin line 1" in done.error


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.txt"])
def test_as_csv(run, linear, files, tmp_path, name):
    words = ["--format", "csv"] if name == "p.txt" else []
    done = run("predict", linear, files / "new.csv", "--out", name, *words)
    assert done.code == 0
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        scores = {x: float(row[f"score:{x}"]) for x in ("non-urgent", "medium", "urgent")}
        assert sum(scores.values()) == pytest.approx(1)
        assert row["label"] == max(scores, key=scores.get)


def test_evidence_is_in_the_text(run, model, files, tmp_path):
    done = run("predict", model, files / "messages.csv", "--out", "p.jsonl", "--evidence")
    assert done.code == 0
    texts = [row[1] for row in csv.reader((files / "messages.csv").open(newline=""))][1:]
    found = 0
    for text, answer in zip(texts, lines(tmp_path / "p.jsonl"), strict=True):
        for span in answer["evidence"]:
            found += 1
            assert span["label"] in (*answer["labels"], None)
            surface = text[span["start"] : span["end"]]
            assert surface
            assert surface == surface.strip()
    assert found >= 24


def test_counts_for_machines(run, linear, files, tmp_path):
    done = run("predict", linear, files / "new.csv", "--out", "p.jsonl", "--json")
    assert done.json["rows"] == 6
    assert done.json["status"] == {"ok": 6}
    assert sum(done.json["labels"].values()) == 6
    assert list(done.json["labels"]) == ["non-urgent", "medium", "urgent"]


def test_doubtful_answers_are_counted(run, files, tmp_path):
    words = ["train", files / "messages.csv", "--recipe", "frequency", "--out", "m"]
    assert run(*words, "--set", "decoder.abstain_below=0.99").code == 0
    done = run("predict", "m", files / "new.csv", "--out", "p.jsonl")
    assert "6 rows, 6 of them for doubt: for a person to read" in done.out


def test_texts_that_are_cut_are_counted(run, files, tiny_encoder, tmp_path, neural, copied):
    model = copied(neural)
    recipe = (model / "recipe.toml").read_text()
    (model / "recipe.toml").write_text(recipe.replace('"window"', '"truncate"'))
    (tmp_path / "long.jsonl").write_text(json.dumps({"text": "chest pain " * 60}) + "\n")
    done = run("predict", model, "long.jsonl", "--out", "p.jsonl")
    assert done.code == 0
    assert "1: too long to be read to the end" in done.out
    read = lines(tmp_path / "p.jsonl")[0]["read"]
    assert 0 < read["tokens"] < read["of"]
