"""Size and time of systems: measured once, in turns, from text to label."""

import json

import pytest

from attending.study import timing
from attending.study.report import write_results
from attending.study.results import collect
from attending.study.run import run_study
from attending.study.timing import read_timing, time_study


def test_systems_take_turns_and_are_measured_once(home, monkeypatch):
    made = home(timing=True, timing_documents=6, reference="frequency")
    run_study(made)
    told = []
    time_study(made, told.append)
    assert told[:3] == [
        "frequency, round 1 of 3", "tfidf-logistic, round 1 of 3", "frequency, round 2 of 3",
    ]  # fmt: skip
    found = read_timing(made, "mail")
    assert (found.documents, found.measured) == (12, 6)
    linear = found.systems["tfidf-logistic"]
    assert linear.milliseconds > 0 and linear.cpu_seconds > 0 and linear.megabytes > 0
    assert linear.parameters > 100
    monkeypatch.setattr(timing, "one_by_one", lambda *_: pytest.fail("measured again"))
    time_study(made)
    paths = write_results(made.path, collect(made))
    assert "size and time" in paths["page"].read_text()
    assert "CPU time, frequency = 1" in paths["markdown"].read_text()
    body = json.loads(paths["json"].read_text())
    assert body["timing"]["mail"]["systems"]["frequency"]["milliseconds"] > 0


def test_only_the_models_that_are_measured_are_kept(home):
    made = home(timing=True)
    run_study(made)
    kept = {c.seed for c in made.study.cells() if made.cell(c).model.is_dir()}
    assert kept == {0}


def test_without_all_rows_the_models_of_the_most_are_measured(home):
    made = home(timing=True, sizes=[20, 12], seeds=[0])
    run_study(made)
    kept = {c.size for c in made.study.cells() if made.cell(c).model.is_dir()}
    assert kept == {20}
    time_study(made)
    assert set(read_timing(made, "mail").systems) == {"frequency", "tfidf-logistic"}


def test_without_the_wish_nothing_is_measured(home):
    made = home()
    run_study(made)
    time_study(made, pytest.fail)
    assert read_timing(made, "mail") is None and not (made.path / "timing").exists()


def test_what_was_measured_of_other_models_is_not_shown(home, study_file, tmp_path):
    from attending.study.folders import StudyFolder
    from attending.study.plan import load_study

    made = home(timing=True, timing_documents=3)
    run_study(made)
    time_study(made)
    systems = [{"name": "frequency"}, {"name": "tfidf-logistic", "settings": {"features": {
        "max_features": 9}}}]  # fmt: skip
    path = study_file(timing=True, timing_documents=3, systems=systems)
    changed = StudyFolder(load_study(path), tmp_path / "out")
    run_study(changed)
    assert set(read_timing(changed, "mail").systems) == {"frequency"}
    time_study(changed)
    assert set(read_timing(changed, "mail").systems) == {"frequency", "tfidf-logistic"}
