"""``train``, ``evaluate``, ``predict`` and ``explain`` with taggers and annotated spans."""

import json
from pathlib import Path

import pytest

from attending.data.spans.formats import load_spans, write_spans

LABEL_VERBS = {
    "export": lambda model: ["export", model, "--out", "x"],
    "decide": lambda model: ["decide", model, "notes.jsonl"],
    "distil": lambda model: ["distil", model, "notes.jsonl", "--out", "x"],
    "score": lambda model: ["score", "notes.jsonl", "--model", model, "--out", "x"],
}


def refused(done, *parts):
    assert done.code == 2
    assert done.out == ""
    for part in parts:
        assert part in done.error


def test_training_tells_what_it_learned_from(run, corpora):
    pytest.importorskip("pycrfsuite")
    train = ["train", corpora / "notes", "--recipe", "features-ner", "--out", "m"]
    done = run(*train, "--holdout", "0.3")
    assert done.code == 0
    assert "7 of 10 documents to train on" in done.err
    assert "Drug: " in done.err and "Finding: " in done.err
    assert "fever" not in done.out + done.err
    evaluate, predict = [x.strip() for x in done.out.splitlines() if x.startswith("  attending")]
    assert evaluate.startswith(f"attending evaluate m {corpora / 'notes'}")
    assert "3 documents held out" in evaluate
    assert predict == "attending predict m new-notes --out found --format brat"
    refused(run(*train), "--force")
    assert run(*train, "--force").code == 0


@pytest.mark.parametrize("name", ["notes", "notes.conll", "notes.jsonl"])
def test_every_format_trains_the_same(run, corpora, name):
    pytest.importorskip("pycrfsuite")
    done = run("train", corpora / name, "--recipe", "features-ner", "--dev", corpora / "notes",
               "--out", "m", "--json", "--no-check")  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["labels"] == ["Drug", "Finding"]
    (model,) = done.json["models"]
    assert model["facts"]["label_counts"] == {"Drug": 5, "Finding": 9}
    assert set(model["development"]) == {"micro_f1", "macro_f1", "log_loss"}


def test_seeds_and_labels(run, corpora, tiny_encoder, tmp_path):
    (tmp_path / "types.toml").write_text(
        '[[label]]\nid = "Finding"\ndescription = "What a person has."\n'
    )
    train = ["train", corpora / "notes", "--recipe", "lame-ner", "--encoder", tiny_encoder,
             "--labels", "types.toml", "--set", "training.epochs=1", "--set", "windows.overlap=16",
             "--set", "training.precision=float32", "--out", "m"]  # fmt: skip
    refused(run(*train), 'type "Drug"', "1 type", "--unknown-labels skip")
    train += ["--unknown-labels", "skip", "--seeds", "2"]
    done = run(*train)
    assert done.code == 0, done.err
    assert "5 spans of types that are not among the labels left out" in done.err
    assert "seed 0" in done.out and "micro-F1" in done.out
    again = run(*train)
    assert again.code == 0
    assert "seed-0 is trained already" in again.err
    done = run("evaluate", "m", corpora / "notes", "--unknown-labels", "skip", "--json")
    assert done.code == 0
    assert set(done.json["models"]) == {"seed-0", "seed-1"}
    assert "strict_micro_f1" in done.json["spread"]


def test_evaluation_uses_what_was_held_out(run, corpora, tagger, tmp_path):
    done = run("evaluate", tagger, corpora / "notes", "--out", "report")
    assert done.code == 0
    assert "on the 3 documents that were held out" in done.err
    assert "Strict micro-F1" in done.out
    assert sorted(p.name for p in (tmp_path / "report").iterdir()) == [
        "metrics.json", "report.html", "summary.md"]  # fmt: skip
    report = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert "lisinopril" not in report + done.out + done.err
    refused(run("evaluate", tagger, corpora / "notes", "--out", "report"), "--force")
    done = run("evaluate", tagger, corpora / "notes", "--out", "report", "--spans-page", "--force",
               "--all-rows", "--offsets", "code-points", "--json")  # fmt: skip
    assert done.code == 0
    assert done.json["documents"]["labelled"] == 10
    assert "trained on" in done.json["caution"]
    assert "lisinopril" in (tmp_path / "report" / "spans.html").read_text("utf-8")
    assert run("evaluate", tagger, corpora / "notes.conll", "--out", "other").code == 0


def test_found_spans_come_back_with_true_offsets(run, corpora, tagger, tmp_path):
    done = run("predict", tagger, corpora / "notes", "--out", "found", "--format", "brat", "--json")
    assert done.code == 0
    assert done.json["status"] == {"ok": 10}
    assert done.json["spans"] == sum(done.json["types"].values()) > 0
    found, gold = load_spans(tmp_path / "found"), load_spans(corpora / "notes")
    assert [d.text for d in found] == [d.text for d in gold]
    assert sum(len(d.spans) for d in found) == done.json["spans"]
    assert "annotation.conf" in {p.name for p in (tmp_path / "found").iterdir()}

    done = run("predict", tagger, corpora / "texts", "--out", "found2", "--span-scores")
    assert done.code == 0
    text = (corpora / "texts" / "a.txt").read_bytes()
    assert (tmp_path / "found2" / "a.txt").read_bytes() == text
    assert "AnnotatorNotes" in (tmp_path / "found2" / "a.ann").read_text()
    assert run("predict", tagger, corpora / "texts" / "a.txt", "--out", "one.jsonl").code == 0


def test_rows_of_a_table_keep_their_places(run, corpora, tagger, tmp_path):
    done = run("predict", tagger, corpora / "new.jsonl", "--out", "p.jsonl")
    assert done.code == 0
    assert "4: 3 answered, 1 without text (line 4)" in done.out
    assert "never found" in done.out or "Drug" in done.out
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [r["id"] for r in rows] == ["d0", "d1", "d2", "blank"]
    assert rows[3]["status"] == "empty_text" and rows[3]["spans"] == []
    assert all("score" in span for row in rows for span in row["spans"])
    done = run("predict", tagger, "-", "--out", "-", stdin=(corpora / "new.jsonl").read_text())
    assert done.code == 0
    assert [json.loads(line) for line in done.out.splitlines()] == rows


@pytest.mark.parametrize("form", ["conll", "doccano", "label-studio"])
def test_other_forms(run, corpora, tagger, tmp_path, form):
    done = run("predict", tagger, corpora / "notes.conll", "--out", "found.x", "--format", form)
    assert done.code == 0, done.err
    assert (tmp_path / "found.x").stat().st_size > 100
    if form == "conll":
        done = run("predict", tagger, corpora / "notes", "--out", "b.conll", "--scheme", "bioes")
        assert done.code == 0
        assert "\tS-" in (tmp_path / "b.conll").read_text()


def test_the_page_of_spans(run, corpora, tagger, tmp_path):
    done = run("explain", tagger, corpora / "notes", "--out", "w.html", "--ids", "d2,d4")
    assert done.code == 0
    assert "2 of 10" in done.out and "beside annotated ones" in done.out
    page = (tmp_path / "w.html").read_text("utf-8")
    assert "lisinopril" in page and "swollen" not in page
    done = run("explain", tagger, corpora / "new.jsonl", "--out", "v.html", "--json")
    assert done.code == 0 and done.json["annotated"] is False
    done = run("explain", tagger, corpora / "notes", "--out", "u.html", "--faithfulness")
    refused(done, "--faithfulness", "tags spans")


@pytest.mark.parametrize("name", ["notes", "notes.conll", "notes.jsonl"])
def test_labels_can_t_be_learned_from_spans(run, corpora, linear, name):
    for words in (["train", corpora / name, "--recipe", "tfidf-svm", "--out", "m"],
                  ["evaluate", linear, corpora / name]):  # fmt: skip
        refused(run(*words), name, "annotated spans", "gives documents labels", "btl-ner")
    assert not Path("m").exists()


def test_spans_can_t_be_learned_from_labels(run, files, corpora):
    train = ["train", "--recipe", "features-ner", "--out", "m"]
    done = run(*train, files / "messages.csv")
    refused(done, "messages.csv", "holds no annotated spans", "--from", "--spans")
    refused(run(*train, files), "--from")
    refused(run(*train, corpora / "nots"), 'Did you mean "notes"?')
    refused(run(*train, corpora / "notes", "--task", "multi"), "tags spans")
    refused(run(*train, corpora / "notes", "--recall-floor", "a=0.9"), "--recall-floor")
    refused(run(*train, corpora / "notes", "--where", "a=b"), "--where")
    refused(run(*train, corpora / "notes", "--dev", corpora / "texts"), "no annotated spans")
    assert not Path("m").exists()


def test_broken_spans_stop_a_training_unless_lenient(run, corpora, tmp_path):
    pytest.importorskip("pycrfsuite")
    write_spans(load_spans(corpora / "notes").documents, tmp_path / "bad", "brat")
    with (tmp_path / "bad" / "d1.ann").open("a") as file:
        file.write("T9\tFinding 2 900\tsecretword\n")
    train = ["train", "bad", "--recipe", "features-ner", "--out", "m"]
    done = run(*train)
    refused(done, "d1.ann line 2: T9 lies outside the text", "--lenient")
    assert "secretword" not in done.err
    done = run(*train, "--lenient", "--no-check")
    assert done.code == 0, done.err
    assert "1 place in all left out" in done.err


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--out", "x.csv"], ["x.csv", "can't be told", "--format"]),
        (["--out", "x", "--format", "csv"], ["csv", "brat, conll, jsonl"]),
        (["--out", "x.jsonl", "--evidence"], ["--evidence", "tags spans"]),
        (["--out", "x.json", "--fhir", "R4"], ["FHIR", "tags spans"]),
        (["--out", "x.jsonl", "--scheme", "iob2"], ["--scheme is for CoNLL"]),
        (["--out", "x.conll", "--span-scores"], ["--span-scores is for BRAT"]),
        (["--out", "-", "--format", "brat"], ["a file only"]),
        (["--out", "-", "--json"], ["standard output"]),
        (["--out", "no/x.jsonl"], ["no"]),
    ],
)
def test_what_a_tagger_does_not_write(run, corpora, tagger, words, parts, tmp_path):
    refused(run("predict", tagger, corpora / "notes", *words), *parts)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(run, corpora, tagger, tmp_path):
    predict = ["predict", tagger, corpora / "notes"]
    assert run(*predict, "--out", "found").code == 0
    refused(run(*predict, "--out", "found"), "holds files already", "--force")
    assert run(*predict, "--out", "found", "--force").code == 0
    refused(run(*predict, "--out", "found", "--format", "jsonl"), "folder")
    (tmp_path / "file").write_text("x")
    refused(run(*predict, "--out", "file", "--format", "brat"), "not a folder")


def test_options_of_the_other_kind(run, corpora, tagger, linear, files):
    new = files / "new.csv"
    refused(run("predict", linear, new, "--out", "x.jsonl", "--span-scores"), "for taggers")
    refused(run("predict", linear, new, "--out", "x", "--format", "brat"), "brat")
    refused(run("predict", linear, corpora / "notes", "--out", "x.jsonl"), "annotated spans")
    refused(run("explain", linear, corpora / "notes", "--out", "x.html"), "annotated spans")
    refused(run("evaluate", linear, files / "messages.csv", "--spans-page"), "for taggers")
    refused(run("evaluate", tagger, files / "messages.csv"), "holds no annotated spans")


@pytest.mark.parametrize("verb", LABEL_VERBS)
def test_other_verbs_say_that_it_tags(run, corpora, tagger, verb):
    words = [corpora / w if w == "notes.jsonl" else w for w in LABEL_VERBS[verb](tagger)]
    refused(run(*words), "tags spans", "attending.Tagger.load")


def test_types_that_the_tagger_does_not_know(run, corpora, tagger, tmp_path):
    text = (corpora / "notes.conll").read_text().replace("-Drug", "-Remedy")
    (tmp_path / "t.conll").write_text(text)
    refused(run("evaluate", tagger, "t.conll"), 'type "Remedy"', "count such spans as missed")
    done = run("evaluate", tagger, "t.conll", "--unknown-labels", "skip", "--out", "r", "--json")
    assert done.code == 0
    assert done.json["per_type"]["Remedy"]["recall"] == 0
