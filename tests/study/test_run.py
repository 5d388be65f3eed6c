"""Running a study: what a cell leaves behind, stopping, going on, sharing, failing."""

import json
import subprocess
import sys

import pytest

from attending.errors import OutputError, StudyError, TrainingError, TrainingInterrupted
from attending.evaluation.task import evaluate_task
from attending.models.store import load_model
from attending.recipe import Recipe
from attending.study import run as runs
from attending.study import train as trains
from attending.study.folders import RUN, StudyFolder
from attending.study.plan import Cell, load_study
from attending.study.run import run_study
from attending.study.train import is_made
from attending.training.run import last_checkpoint

LINEAR = Cell("mail", "tfidf-logistic", 0)


def test_what_a_cell_leaves_behind(home):
    made = home()
    events = []
    finished = run_study(made, events.append)
    assert len(finished.made) == 4 and not finished.failed and not finished.elsewhere
    folder = made.cell(LINEAR)
    assert {f.name for f in folder.path.iterdir()} >= {
        "cell.json", "metrics.json", "predictions.jsonl", "recipe.toml",
    }  # fmt: skip
    assert not (folder.path / RUN).exists() and not folder.model.exists()
    facts = folder.facts
    assert facts["rows"] == {"train": 32, "development": 4, "test": 12}
    assert facts["environment"]["versions"]["attending"]
    assert facts["seconds"]["training"] >= 0 and facts["parameters"] > 100
    assert set(facts["fingerprints"]) == {"train", "development", "test"}
    assert Recipe.load(folder.path / "recipe.toml").name == "tfidf-logistic"
    kinds = [(e.kind, e.number, e.left) for e in events if e.kind in ("start", "done")]
    assert kinds[:2] == [("start", 1, 4), ("done", 1, 3)] and kinds[-1] == ("done", 4, 0)
    assert events[-1].seconds_left is None and events[-3].unknown == 0


def test_answers_come_back_without_a_text(home, messages):
    made = home()
    run_study(made)
    folder = made.cell(LINEAR)
    documents, predictions = folder.answers()
    corpus = made.study.corpora["mail"]
    found = evaluate_task("single", documents, predictions, corpus.labels, resamples=0)
    written = json.loads((folder.path / "metrics.json").read_text())
    assert found.metrics["macro_f1"] == written["metrics"]["macro_f1"]
    assert found.metrics["log_loss"] == pytest.approx(written["metrics"]["log_loss"], abs=1e-5)
    texts = [f.read_text() for f in folder.path.rglob("*.json*")]
    words = max((d.text for d in messages), key=len)[:30]
    assert texts and not any(words in text for text in texts)


def test_a_finished_study_trains_nothing(home, monkeypatch):
    made = home()
    run_study(made)
    monkeypatch.setattr(runs, "make_cell", lambda *_: pytest.fail("trained again"))
    assert run_study(made).made == ()


def test_a_changed_setting_makes_a_new_cell_and_leaves_the_others(home, study_file, tmp_path):
    run_study(home())
    systems = [{"name": "frequency"}, {"name": "tfidf-logistic", "settings": {"features": {
        "max_features": 50}}}]  # fmt: skip
    changed = StudyFolder(load_study(study_file(systems=systems)), tmp_path / "out")
    changed.claim(force=False)
    assert changed.left_over() == 2
    assert [c.system for c in run_study(changed).made] == ["tfidf-logistic"] * 2


def test_a_new_claim_or_metric_keeps_all_cells(home, study_file, tmp_path):
    run_study(home())
    claims = [{"says": "tfidf-logistic > frequency on macro_f1"}]
    path = study_file(claims=claims, metrics=["accuracy", "ece"], reference="frequency")
    assert run_study(StudyFolder(load_study(path), tmp_path / "out")).made == ()


def test_force_makes_every_cell_anew(home):
    made = home()
    run_study(made)
    made.claim(force=True)
    assert len(run_study(made).made) == 4


def test_whose_folder_it_is(home, study_file, tmp_path):
    home()
    other = load_study(study_file(name="another"))
    with pytest.raises(StudyError, match='another study \\(found "trial"\\)'):
        StudyFolder(other, tmp_path / "out").claim(force=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep me")
    with pytest.raises(OutputError, match="something else"):
        StudyFolder(other, tmp_path / "full").claim(force=True)
    with pytest.raises(OutputError, match="is a file"):
        StudyFolder(other, tmp_path / "full" / "letter.txt").claim(force=False)


def test_a_failed_cell_is_written_down_and_the_next_is_made(home, monkeypatch):
    made = home()
    real = trains.fit

    def fail(recipe, *words, **more):
        if recipe.name == "frequency":
            if more["seed"] == 0:
                raise TrainingError("no row has a label")
            raise ValueError("the text of a message")
        return real(recipe, *words, **more)

    monkeypatch.setattr(trains, "fit", fail)
    finished = run_study(made)
    assert [c.system for c in finished.made] == ["tfidf-logistic"] * 2
    reasons = [made.cell(c).failure for c in finished.failed]
    assert reasons[0] == "no row has a label."
    assert reasons[1].startswith("unexpected ValueError in train line")
    assert "message" not in reasons[1]
    monkeypatch.setattr(trains, "fit", real)
    again = run_study(made)
    assert len(again.made) == 2 and made.cell(again.made[0]).failure is None


def test_a_cell_of_another_process_is_left_to_it(home, tmp_path):
    made = home()
    path = made.cell(LINEAR).path
    path.mkdir(parents=True)
    hold = (
        "import sys; from filelock import FileLock; held = FileLock(sys.argv[1]); held.acquire();"
        "print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", hold, str(path / ".lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        finished = run_study(made)
        assert finished.elsewhere == (LINEAR,) and len(finished.made) == 3
        other.kill()
    # A killed process holds nothing.
    assert run_study(made).made == (LINEAR,)


def test_a_stopped_network_goes_on_from_its_checkpoint(home, tiny_system):
    slow = {"training": {"epochs": 3, "batch_size": 8, "precision": "float32"}}
    systems = [tiny_system("bert", settings=slow, seeds=[0])]
    whole, stopped = home("whole", systems=systems), home("stopped", systems=systems)
    cell = Cell("mail", "bert", 0)
    run_study(whole)

    def stop(event):
        if event.event is not None and event.event.kind == "epoch" and event.event.epoch >= 2:
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, TrainingInterrupted)):
        run_study(stopped, stop)
    folder = stopped.cell(cell)
    assert not is_made(stopped, cell)
    assert last_checkpoint(folder.path / RUN / "checkpoints") is not None
    steps = []
    run_study(stopped, lambda e: steps.append(e.event.step) if e.event else None)
    assert min(s for s in steps if s) > 1
    assert folder.facts["resumed"] and not whole.cell(cell).facts["resumed"]
    for name in ("predictions.jsonl", "metrics.json"):
        assert (folder.path / name).read_bytes() == (whole.cell(cell).path / name).read_bytes()


def test_a_student_learns_from_its_teacher_of_the_same_seed(home, tiny_system):
    settings = {"encoder": {"layers": 1}}
    systems = [
        tiny_system("distil-lesa-bert-6", name="student", teacher="lesa-bert", settings=settings),
        tiny_system("lesa-bert"),
    ]
    made = home(systems=systems, seeds=[1])
    finished = run_study(made)
    assert [c.system for c in finished.made] == ["lesa-bert", "student"]
    teacher, student = (made.cell(c) for c in finished.made)
    assert not student.model.exists() and not teacher.model.exists(), "no longer needed"
    assert run_study(made).made == ()
    assert student.facts["teachers"] == [made.digest(finished.made[0])]
    assert student.facts["parameters"] < teacher.facts["parameters"]


def test_a_model_is_kept_until_its_students_are_made(home, tiny_system):
    systems = [
        tiny_system("bert", name="student", teacher="lesa-bert"),
        tiny_system("lesa-bert"),
    ]
    made = home(systems=systems, seeds=[1])

    def stop(event):
        if event.kind == "start" and event.cell.system == "student":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(made, stop)
    teacher = made.cell(Cell("mail", "lesa-bert", 1))
    assert load_model(teacher.model).recipe.name == "lesa-bert"
    assert [c.system for c in run_study(made).made] == ["student"]


@pytest.mark.slow
def test_a_student_of_all_seeds(home, tiny_system):
    systems = [
        tiny_system("bert", name="student", teacher="bert-mean", teacher_seeds="all", seeds=[0]),
        tiny_system("bert-mean"),
    ]
    made = home(systems=systems)
    finished = run_study(made)
    assert [c.system for c in finished.made].count("bert-mean") == 2
    assert len(made.cell(Cell("mail", "student", 0)).facts["teachers"]) == 2


def test_a_student_fails_with_its_teacher(home, tiny_system, monkeypatch):
    systems = [
        tiny_system("bert", name="student", teacher="lesa-bert"),
        tiny_system("lesa-bert"),
    ]
    made = home(systems=systems, seeds=[0])

    def fail(*_, **__):
        raise TrainingError("out of order")

    monkeypatch.setattr(trains, "fit", fail)
    finished = run_study(made)
    assert [c.system for c in finished.failed] == ["lesa-bert", "student"]
    assert "its teacher failed" in made.cell(Cell("mail", "student", 0)).failure


def test_figures_on_training_rows(home):
    made = home(score_train=True, seeds=[0])
    run_study(made)
    facts = made.cell(LINEAR).facts["training"]
    assert facts["metrics"]["accuracy"] > 0.5 and set(facts["per_label"]) == {
        "medium", "non-urgent", "urgent",
    }  # fmt: skip


def test_studies_share_cells(home, study_file, tmp_path):
    made = home()
    run_study(made)
    more = [{"name": "frequency"}, {"name": "tfidf-logistic"}, {"name": "tfidf-svm"}]
    other = StudyFolder(
        load_study(study_file(name="another", systems=more)), tmp_path / "b", made.cells
    )
    other.claim(force=False)
    assert {c.system for c in run_study(other).made} == {"tfidf-svm"}
    assert other.left_over() == 0
    scored = load_study(study_file(name="third", score_train=True, seeds=[0]))
    third = StudyFolder(scored, tmp_path / "c", made.cells)
    assert len(run_study(third).made) == 2 and run_study(made).made == ()


def test_an_encoder_is_known_by_what_its_folder_holds(home, tiny_system, tiny_encoder, tmp_path):
    """Another encoder in a folder of the same name, or a changed one, makes new cells."""
    import shutil

    places = [tmp_path / n / "enc" for n in ("one", "two")]
    for place in places:
        shutil.copytree(tiny_encoder, place)
    cell = Cell("mail", "bert", 0)

    def digest(place):
        systems = [{**tiny_system("bert"), "encoder": str(place)}]
        return home(f"out-{place.parent.name}", systems=systems).digest(cell)

    assert digest(places[0]) == digest(places[1]), "the same content in another place"
    config = places[1] / "config.json"
    before = digest(places[1])
    config.write_text(config.read_text() + "\n")
    assert digest(places[1]) != before == digest(places[0])


def test_ids_may_hold_line_ends_that_only_unicode_has(home, data):
    rows = (data / "messages.csv").read_text(encoding="utf-8").splitlines()
    changed = [rows[0], *(f"x\u2028{row}" for row in rows[1:])]
    (data / "messages.csv").write_text("\n".join(changed), encoding="utf-8")
    made = home(systems=[{"name": "frequency"}], seeds=[0])
    run_study(made)
    documents, predictions = made.cell(Cell("mail", "frequency", 0)).answers()
    assert len(documents) == len(predictions) == 12
    assert all(d.id.startswith("x\u2028") for d in documents)
