"""``attending export``: a folder that every verb takes as it takes a model."""

import json

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

LOOSE = [x for name in ("score", "changed", "macro-f1", "rarest-recall", "evidence")
         for x in ("--tolerance", f"{name}=1")]  # fmt: skip


@pytest.mark.slow
def test_an_exported_folder_is_used_as_a_model_is(run, neural, files, tmp_path):
    rows = files / "messages.csv"
    done = run("export", neural, "--int8", "--rows", rows, "--out", "exported", *LOOSE)
    assert done.code == 0, done.err
    assert "layers in int8" in done.out and "decisions" in done.out and "macro-F1" in done.out
    assert "on 12 rows (rows of messages.csv held out of training)" in done.out
    report = json.loads((tmp_path / "exported" / "parity.json").read_text())
    assert report["rows"] == report["labelled"] == 12
    assert report["int8_layers"] and report["evidence"] is not None

    done = run("predict", "exported", files / "new.csv", "--out", "p.jsonl", "--evidence")
    assert done.code == 0, done.err
    lines = [json.loads(x) for x in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(lines) == 6 and all(x["status"] == "ok" and x["labels"] for x in lines)
    assert any(x["evidence"] for x in lines)

    done = run("evaluate", "exported", rows)
    assert done.code == 0, done.err
    assert "12 documents that were held out" in done.err

    done = run("explain", "exported", rows, "--out", "w.html", "--png", "w.png", "--limit", "4")
    assert done.code == 0, done.err
    assert (tmp_path / "w.png").stat().st_size > 1000

    done = run("export", "exported", "--rows", rows, "--out", "again")
    assert done.code == 2 and "is exported already" in done.error
    done = run("export", neural, "--rows", rows, "--out", "exported")
    assert done.code == 2 and "--force" in done.error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tolerance", "changed"), "--tolerance can't be read"),
        (("--tolerance", "f1=0.1"), 'no tolerance "f1"'),
        (("--tolerance", "score=3"), "0 to 1"),
        (("--rows", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_a_wrong_option_is_one_line_and_costs_no_time(words, said, run, neural, tmp_path):
    done = run("export", neural, "--out", "exported", *words)
    assert done.code == 2 and said in done.error
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_network_needs_no_export(run, linear, files):
    done = run("export", linear, "--rows", files / "messages.csv", "--out", "exported")
    assert done.code == 2
    assert 'a "tfidf-logistic" model has no network to export' in done.error


def test_the_sample_is_told_and_bounded(files, tmp_path):
    from attending.cli.columns import Columns
    from attending.cli.console import Screen
    from attending.cli.export import _sample

    corpus, said = _sample(Screen(False), str(files / "messages.csv"), Columns(), None, 10)
    assert len(corpus) == 10 and said == "10 of 48 rows of messages.csv, drawn at random"
    again, _ = _sample(Screen(False), str(files / "messages.csv"), Columns(), None, 10)
    assert corpus.rows == again.rows
    corpus, said = _sample(Screen(False), None, Columns(), None, 5000)
    assert len(corpus) == 1756 and said == "rows of the bundled corpus"
