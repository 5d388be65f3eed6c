"""``study``: what is told, what is written, and what a run ends with."""

import pytest

from attending.errors import TrainingError

STUDY = """
name = "trial"
seeds = [0, 1]
rounds = 200
reference = "frequency"
[[corpus]]
file = "messages.csv"
labels = "labels.toml"
[corpus.split]
test = 0.25
[[system]]
name = "frequency"
[[system]]
name = "tfidf-logistic"
[[claim]]
says = "tfidf-logistic > frequency on accuracy"
"""


@pytest.fixture
def study(run, files, tmp_path):
    """Return a function that runs a study on messages.csv."""
    (tmp_path / "study.toml").write_text(STUDY)

    def go(*words, root=files, out="out"):
        return run("study", "study.toml", "--out", out, "--data-root", root, *words)

    return go


def test_what_is_told_and_written(study, tmp_path):
    done = study()
    assert done.code == 0, done.err
    assert "[1/4] messages, frequency, seed 0" in done.err and "2 cells left" in done.err
    assert "Macro-F1" in done.out and "accuracy" in done.out.lower()
    assert "tfidf-logistic > frequency on accuracy" in done.out
    for name in ("table.md", "table.csv", "report.html", "results.json"):
        assert (tmp_path / "out" / name).stat().st_size > 100
    again = study()
    assert again.code == 0 and "4 of them made already" in again.err
    assert "[1/4]" not in again.err


def test_for_machines(study):
    body = study("--json").json
    assert body["study"] == "trial" and len(body["blocks"]) == 1


def test_the_price(study, tmp_path):
    done = study("--dry-run")
    assert done.code == 0 and "4 cells to make, about 0 minutes" in done.out
    assert "a fit on 36 rows" in done.out and not (tmp_path / "out").exists()
    assert study("--dry-run", "--json").json["minutes"] >= 0
    assert study("--dry-run", "--force").code == 2


def test_tables_only(study, tmp_path):
    done = study("--tables-only")
    assert done.code == 0 and "Unfinished: 4 cells not made yet" in done.out
    assert not list((tmp_path / "out").glob("cells/*/*/*/*/cell.json"))


def test_forcing_tables_alone_would_lose_the_cells(study, tmp_path):
    assert study().code == 0
    cells = sorted((tmp_path / "out").glob("cells/*/*/*/*/cell.json"))
    refused = study("--tables-only", "--force")
    assert refused.code == 2 and "tables are always written anew" in refused.error
    assert sorted((tmp_path / "out").glob("cells/*/*/*/*/cell.json")) == cells and len(cells) == 4


def test_faults_are_listed_line_by_line(study, tmp_path):
    text = STUDY.replace('name = "frequency"', 'name = "frequenzy"')
    (tmp_path / "study.toml").write_text(text + "[published]\nsource = 3\n")
    done = study()
    assert (
        done.code == 2 and done.error == "study.toml: 4 faults, listed above. Nothing was trained."
    )
    assert '  1. "published.source" must be' in done.err
    assert 'no recipe "frequenzy"' in done.err and not (tmp_path / "out").exists()


def test_one_fault_is_one_line(study, run):
    done = run("study", "study.toml", "--out", "out")
    assert 'there is no file "messages.csv"' in done.error and "--data-root" in done.error


def test_failed_cells_end_with_a_code(study, monkeypatch, tmp_path):
    from attending.study import train as trains

    real = trains.fit

    def fail(recipe, *words, **more):
        if recipe.name == "frequency":
            raise TrainingError("no row has a label")
        return real(recipe, *words, **more)

    monkeypatch.setattr(trains, "fit", fail)
    done = study()
    assert done.code == 1 and "2 cells failed" in done.err
    assert "failed: no row has a label." in done.err
    assert "no row has a label" in (tmp_path / "out" / "report.html").read_text()
    monkeypatch.setattr(trains, "fit", real)
    assert study().code == 0


def test_stopping_says_how_to_go_on(study, monkeypatch):
    from attending.study import run as runs

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "make_cell", stop)
    done = study()
    assert done.code == 130 and "Run the same command again to go on from there" in done.err


def test_another_folder_is_left_alone(study, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep me")
    assert "something else than a study" in study("--force", out="full").error
    assert (tmp_path / "full" / "letter.txt").read_text() == "keep me"
