"""``explain``: the page, the pictures and the measures."""

import json
from importlib import import_module

import pytest

PNG = b"\x89PNG\r\n"


@pytest.fixture(params=["linear", "neural"])
def model(request):
    return request.getfixturevalue(request.param)


def test_the_page_and_the_pictures(run, neural, files, tmp_path):
    done = run("explain", neural, files / "messages.csv", "--out", "w.html", "--png", "w.png",
               "--tsne", "map.png", "--limit", "5")  # fmt: skip
    assert done.code == 0
    assert "5 of 48 rows; --limit 0 takes all" in done.out
    assert "handle them as patient data" in done.err
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    assert page.count("<article") == 5 or page.count('class="message') >= 5
    for name in ("w.png", "map.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)


def test_chosen_rows(run, linear, files, messages, tmp_path):
    ids = f"{messages[7].id}, {messages[3].id}"
    done = run("explain", linear, files / "messages.csv", "--out", "w.html", "--ids", ids, "--json")
    assert done.json["shown"] == 2
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    assert page.index(messages[7].id) < page.index(messages[3].id)


def test_the_picture_is_of_the_chosen_rows(run, linear, files, messages, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "attending.explain.pictures.attention_png", lambda rows, *_, **__: drawn.append(rows)
    )
    words = ["explain", linear, files / "messages.csv", "--png", "w.png", "--out"]
    assert run(*words, "a.html", "--ids", f"{messages[7].id},{messages[3].id}").code == 0
    assert run(*words, "b.html").code == 0
    assert [row.id for row in drawn[0]] == [messages[7].id, messages[3].id]
    assert len(drawn[1]) > 2  # one a label


def test_documents_without_labels(run, linear, files, tmp_path):
    done = run("explain", linear, files / "new.csv", "--out", "w.html", "--png", "w.png")
    assert done.code == 0
    assert (tmp_path / "w.png").read_bytes().startswith(PNG)


def test_rows_that_can_not_be_read_are_on_the_page(run, model, tmp_path):
    rows = ["id,text", "a,chest pain since noon", "b,too,many", "c,  "]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n")
    done = run("explain", model, "in.csv", "--out", "w.html")
    assert done.code == 0
    assert "in.csv line 3" in done.err
    assert "3 cells, expected 2" in (tmp_path / "w.html").read_text(encoding="utf-8")


def test_faithfulness_and_plausibility(run, linear, tmp_path):
    assert run("data", "portal", "--out", "p.csv").code == 0
    words = ["explain", linear, "p.csv", "--out", "w.html", "--limit", "40", "--faithfulness"]
    done = run(*words, "--json")
    assert done.code == 0
    assert done.json["faithfulness"]["documents"] > 20
    assert done.json["plausibility"]["documents"] > 5
    assert "comprehensiveness" in done.json["faithfulness"]
    done = run(*words, "--force")
    for part in ("comprehensiveness", "sufficiency", "random words", "agreement with people"):
        assert part in done.out


def test_a_model_that_reads_no_words(run, files):
    train = ["train", files / "messages.csv", "--recipe", "frequency", "--out", "m"]
    assert run(*train).code == 0
    done = run("explain", "m", files / "new.csv", "--out", "w.html")
    assert done.code == 2
    assert "reads no words" in done.error


def test_a_wrong_method_lists_all(run, neural, files):
    done = run("explain", neural, files / "new.csv", "--out", "w.html", "--method", "magic")
    assert "attention" in done.error


def test_several_labels(run, tmp_path, monkeypatch):
    rows = [("chest pain", ["a"]), ("refill please", ["b"]), ("chest pain refill", ["a", "b"])] * 8
    lines = [
        json.dumps({"id": f"r{i}", "text": f"{text} {i}", "labels": ids})
        for i, (text, ids) in enumerate(rows)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = ["train", "in.jsonl", "--recipe", "tfidf-logistic", "--no-check", "--out", "m"]
    assert run(*train).code == 0
    done = run("explain", "m", "in.jsonl", "--out", "w.html", "--png", "w.png", "--labels", "known")
    assert done.code == 0
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    assert "known labels were found" in page and 'type="radio"' in page
    assert (tmp_path / "w.png").read_bytes().startswith(PNG)
    monkeypatch.setattr(import_module("attending.cli.explain"), "_MOST_LABELS", 1)
    done = run("explain", "m", "in.jsonl", "--out", "v.html", "--labels", "all")
    assert done.code == 2 and "all of 2 labels" in done.error and "--labels predicted" in done.error


def test_nothing_is_written_over_what_is_read(run, linear, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\na,chest pain since noon\n")
    before = (tmp_path / "in.csv").read_bytes()
    for words in (
        ("explain", linear, "in.csv", "--out", "in.csv", "--force"),
        ("explain", linear, "in.csv", "--out", "o.html", "--png", "./o.html", "--force"),
        ("predict", linear, "in.csv", "--out", "./in.csv", "--force"),
    ):
        done = run(*words)
        assert done.code == 2 and ("this is what is read" in done.error or "one file" in done.error)
    assert (tmp_path / "in.csv").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]
