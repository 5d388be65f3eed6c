"""FHIR on the command line: told by its content, counted, never quoted."""

import json

import pytest

MARKER = "ZXQ-MARKER-7731"


@pytest.fixture
def inbox(case, tmp_path):
    path = tmp_path / "inbox.json"
    path.write_bytes((case("D27") / "bundle.json").read_bytes())
    return path


def test_check_reads_a_bundle(run, inbox):
    done = run("check", "inbox.json", "--json")
    assert done.code == 0
    text = json.dumps(done.json)
    assert "1 other resource left out (Patient: 1)" in text
    assert "attachment_skipped:application/pdf" in text


def test_predict_answers_every_message_in_order(run, linear, inbox, tmp_path):
    done = run("predict", linear, "inbox.json", "--out", "p.jsonl")
    assert done.code == 0
    answers = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [a["id"] for a in answers] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert [a["status"] for a in answers] == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert answers[3]["reason"].startswith("no_payload")
    assert not answers[3]["labels"]


def test_a_split_of_fhir_is_written_as_json_lines(run, inbox, tmp_path):
    for more in ([], ["--input-format", "fhir"]):
        done = run(
            "data", "split", "inbox.json", "--by", "random", "--out", "parts", "--force", *more
        )
        assert done.code == 0, done.err
        assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == [
            "test.jsonl",
            "train.jsonl",
        ]


@pytest.mark.parametrize(
    "content",
    [
        '{"resourceType": "Bundle", "entry": [' + MARKER,
        '{"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "' + MARKER + '"}}]}',
        '{"resourceType": "Patient", "name": "' + MARKER + '"}',
        '{"resourceType": "Communication", "payload": ' + "[" * 5000,
    ],
)
def test_a_broken_file_is_one_line_without_its_text(run, linear, tmp_path, content):
    (tmp_path / "bad.json").write_text(content)
    for words in (["check", "bad.json"], ["predict", linear, "bad.json", "--out", "p.jsonl"]):
        done = run(*words)
        assert done.code in (0, 1, 2)
        assert MARKER not in done.out + done.err
        if done.code == 2:
            assert done.error


def test_predictions_go_out_as_fhir(run, linear, inbox, tmp_path):
    pytest.importorskip("fhir.resources")
    predict = ["predict", linear, "inbox.json", "--zone", "Europe/Berlin"]
    done = run(*predict, "--fhir", "R5", "--out", "tasks.json", "--evidence", "--json")
    assert done.code == 0, done.err
    assert done.json["resources"] == {"Device": 1, "Task": 6, "Provenance": 6}
    assert sum(done.json["priorities"].values()) == 6
    bundle = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    kinds = [e["resource"]["resourceType"] for e in bundle["entry"]]
    assert kinds.count("Task") == 6
    done = run(*predict, "--format", "fhir", "--out", "tasks.ndjson")
    assert done.code == 0
    assert "Task: 6" in done.out and "priorities" in done.out
    assert len((tmp_path / "tasks.ndjson").read_text("utf-8").splitlines()) == 13


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--out", "t.csv", "--fhir", "R4"], "FHIR is not written under this name"),
        (["--out", "-", "--fhir", "R4"], "a file only"),
        (["--out", "t.json", "--fhir", "R4", "--format", "jsonl"], "exclude each other"),
        (["--out", "t.json", "--fhir", "R6"], "R4"),
        (["--out", "t.json", "--fhir", "R4", "--codes", "icd99"], "no such code system"),
        (["--out", "t.json", "--fhir", "R4", "--codes", "icd9", "--priorities", "x.toml"],
         "exclude each other"),
        (["--out", "t.json", "--fhir", "R4", "--priorities", "x.toml"], "x.toml"),
        (["--out", "p.jsonl", "--priorities", "x.toml"], "--fhir R4"),
        (["--out", "p.jsonl", "--codes", "icd9"], "--fhir R4"),
        (["--out", "p.jsonl", "--zone", "Mars/Olympus"], "Mars/Olympus"),
    ],
)  # fmt: skip
def test_fhir_that_can_t_be_written(run, linear, inbox, tmp_path, words, part):
    pytest.importorskip("fhir.resources")
    done = run("predict", linear, "inbox.json", *words)
    assert done.code == 2
    assert part in done.error
    assert [p.name for p in tmp_path.iterdir()] == ["inbox.json"]


def test_fhir_of_other_labels_needs_a_map(run, files, tmp_path):
    pytest.importorskip("fhir.resources")
    text = (files / "messages.csv").read_text().replace(",urgent,", ",now,")
    (tmp_path / "m.csv").write_text(text)
    assert run("train", "m.csv", "--recipe", "frequency", "--out", "m").code == 0
    predict = ["predict", "m", "m.csv", "--out", "t.json", "--fhir", "R4"]
    done = run(*predict)
    assert done.code == 2
    assert "--priorities FILE" in done.error
    (tmp_path / "map.toml").write_text(
        'unread = "asap"\n[priority]\n"non-urgent" = "routine"\nmedium = "urgent"\nnow = "stat"\n'
    )
    assert run(*predict, "--priorities", "map.toml").code == 0


def test_a_zone_is_for_fhir(run, linear, files):
    done = run("predict", linear, files / "new.csv", "--out", "p.jsonl", "--zone", "Europe/Berlin")
    assert done.code == 2
    assert "--zone is for messages in FHIR" in done.error
