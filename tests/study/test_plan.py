"""What a study file becomes, and that all its faults are told at once."""

from pathlib import Path

import pytest

from attending.errors import StudyError
from attending.study.plan import Cell, load_study


def faults(path: Path, **more):
    with pytest.raises(StudyError) as caught:
        load_study(path, **more)
    return caught.value.faults


def test_cells_seed_by_seed_and_teachers_first(study_file, tiny_system):
    systems = [
        tiny_system("bert", name="student", teacher="lesa-bert"),
        {"name": "frequency", "seeds": [0]},
        tiny_system("lesa-bert"),
    ]
    study = load_study(study_file(systems=systems, sizes=[20, "all"]))
    assert study.cells() == [
        Cell("mail", "frequency", 0), Cell("mail", "lesa-bert", 0), Cell("mail", "student", 0),
        Cell("mail", "lesa-bert", 1), Cell("mail", "student", 1),
        Cell("mail", "frequency", 0, 20), Cell("mail", "lesa-bert", 0, 20),
        Cell("mail", "student", 0, 20), Cell("mail", "lesa-bert", 1, 20),
        Cell("mail", "student", 1, 20),
    ]  # fmt: skip
    assert list(study.systems) == ["student", "frequency", "lesa-bert"]
    assert study.teachers(Cell("mail", "student", 1, 20)) == (Cell("mail", "lesa-bert", 1, 20),)
    assert study.students(Cell("mail", "lesa-bert", 0)) == (Cell("mail", "student", 0),)
    assert study.students(Cell("mail", "frequency", 0)) == ()


def test_teachers_of_all_seeds(study_file, tiny_system):
    student = tiny_system("bert", name="student", teacher="lesa-bert", teacher_seeds="all")
    study = load_study(study_file(systems=[student, tiny_system("lesa-bert")]))
    assert [t.seed for t in study.teachers(Cell("mail", "student", 1))] == [0, 1]
    assert [s.seed for s in study.students(Cell("mail", "lesa-bert", 1))] == [0, 1]


def test_settings_of_corpus_and_system(study_file, tiny_system):
    corpus = {
        "file": "messages.csv", "split": {}, "settings": {"windows": {"max_tokens": 32}},
    }  # fmt: skip
    systems = [tiny_system("bert"), {"name": "frequency"}]
    study = load_study(study_file(corpora=[corpus], systems=systems))
    recipe = study.systems["bert"].recipes["messages"]
    assert recipe["windows"].max_tokens == 32 and recipe["training"].epochs == 1
    assert "windows" not in study.systems["frequency"].recipes["messages"].slots


def test_the_encoder_of_the_command_line_takes_the_place_of_the_studys(study_file, tiny_encoder):
    systems = [{"name": "bert"}, {"name": "frequency"}, {"name": "textcnn-triage"}]
    path = study_file(systems=systems, encoder="nowhere/at-all")
    study = load_study(path, encoder=str(tiny_encoder))
    words = study.systems["textcnn-triage"].recipes["mail"]["encoder"]
    assert words.kind == "multi-cnn", "a network that learns its own words keeps them"
    assert study.systems["bert"].recipes["mail"]["encoder"].name == str(tiny_encoder)


def test_every_fault_at_once(study_file):
    path = study_file(
        systems=[
            {"name": "lesa-brt"},
            {"name": "frequency"},
            {"name": "frequency"},
            {"name": "tfidf-svm", "settings": {"features": {"max_featurs": 3}}},
            {"name": "student", "recipe": "bert", "techer": "frequency"},
        ],
        corpora=[
            {"name": "mail", "file": "messages.csv"},
            {"name": "folds", "file": "messages.csv", "split": {"folds": 60}},
            {"name": "gone", "file": "gone.csv", "split": {}},
        ],
        claims=[
            {"says": "student > frequency on macro_f1"},
            {"says": "frequency > tfidf-smv on macro_f1"},
            {"says": "frequency is best"},
        ],
        metrics=["macro_f1", "macro_f2"],
        reference="tfidf",
        sede=3,
    )
    found = faults(path)
    wanted = [
        'unknown key "sede"',
        'no recipe "lesa-brt"',
        'two systems are called "frequency"',
        'Did you mean "max_features"',
        'unknown key "techer". Did you mean "teacher"',
        'corpus "mail": has no test split',
        "60 folds need at least 60 documents (found 48)",
        'there is no file "gone.csv"',
        'unknown metric "macro_f2"',
        'reference: no system "tfidf"',
        'no system "tfidf-smv". Did you mean "tfidf-svm"',
        'the claim "frequency is best" can\'t be read',
    ]
    assert len(found) == len(wanted), found
    for text in wanted:
        assert sum(text in fault for fault in found) == 1, text


def test_the_error_is_one_line(study_file):
    with pytest.raises(StudyError) as caught:
        load_study(study_file(reference="nobody", systems=[{"name": "nothing"}]))
    line = str(caught.value)
    assert "2 faults: (1) " in line and "(2) " in line and "\n" not in line


@pytest.mark.parametrize(
    ("corpus", "fault"),
    [
        ({"file": "messages.csv", "train": "messages.csv", "split": {}}, '"file" and "train"'),
        ({"split": {}}, "names no file"),
        ({"train": "messages.csv"}, "has no test split"),
        ({"test": "messages.csv"}, '"train" is missing'),
        (
            {"train": "messages.csv", "test": "messages.csv", "split": {}},
            "files for its parts and a split",
        ),
        ({"file": "messages.csv", "split": {"folds": 3, "by": "date"}}, "cross-validated by date"),
        ({"file": "messages.csv", "split": {"by": "group", "groups": ["w9"]}}, "w9"),
        ({"file": "messages.csv", "split": {"column": "prat"}}, "prat"),
        ({"file": "messages.csv", "split": {"dev": 0.9, "test": 0.9}}, "nothing to train on"),
        ({"file": "messages.csv", "split": {"test": "much"}}, '"split.test" must be'),
        ({"file": "messages.csv", "text": "body", "split": {}}, "body"),
    ],
)
def test_corpora_that_can_not_be_used(study_file, corpus, fault):
    found = faults(study_file(corpora=[corpus]))
    assert any(fault in line for line in found), found


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        ({"sizes": [20, 400]}, "size 400 is more than its 36 training rows"),
        ({"metrics": ["ece"]}, "the first metric is the one that is tested"),
        ({"metrics": []}, "no metrics to show"),
        ({"metrics": ["recall of urgnt"]}, 'Did you mean "urgent"'),
        ({"seeds": [-1]}, "seeds"),
        ({"seeds": [0, "one"]}, "seeds"),
        ({"alpha": 2.0}, "alpha"),
        ({"claims": [{"says": "a > frequency on macro_f1"}]}, 'no system "a"'),
        ({"claims": [{"says": "frequency > frequency on macro_f1"}]}, "with itself"),
        (
            {"claims": [{"says": "frequency > tfidf-logistic on ece"}]},
            "no paired test is known",
        ),
        (
            {"claims": [{"says": "frequency > tfidf-logistic on macro_f1", "rows": 20}]},
            "20 is not among the sizes",
        ),
        (
            {"claims": [{"says": "frequency > tfidf-logistic on macro_f1", "corpus": "post"}]},
            'no corpus "post"',
        ),
        (
            {"published": {"source": "P", "row": [{"name": "x", "figures": {"macro_f9": 0.5}}]}},
            "macro_f9",
        ),
        (
            {"published": {"source": "P", "row": [{"name": "x", "system": "y", "figures": {}}]}},
            'no system "y"',
        ),
        (
            {"published": {"source": "P", "row": [{"name": "x", "figures": {"macro_f1": [1.0]}}]}},
            "must be a number or [number",
        ),
    ],
)
def test_heads_that_can_not_be_used(study_file, head, fault):
    found = faults(study_file(**head))
    assert any(fault in line for line in found), found


def test_students_without_a_fit_teacher(study_file, tiny_system):
    def of(*systems, **more):
        return faults(study_file(systems=list(systems), **more))

    learns = tiny_system("distil-bert-6", settings={"encoder": {"layers": 1}})
    assert any("name one of the systems as teacher" in f for f in of(learns))
    (lost,) = of(tiny_system("bert", teacher="brt"))
    assert "teacher of" in lost
    a = tiny_system("bert", name="a", teacher="b")
    b = tiny_system("bert", name="b", teacher="a")
    assert any("its own teacher" in f for f in of(a, b))
    few = tiny_system("lesa-bert", name="teacher", seeds=[0])
    (missing,) = of(few, tiny_system("bert", teacher="teacher"))
    assert "seeds that its teacher" in missing
    many = tiny_system("bert", name="student", teacher="teacher", teacher_seeds="all")
    apart = [{"file": "messages.csv", "split": {"seed": "per seed"}}]
    (leak,) = of(tiny_system("lesa-bert", name="teacher"), many, corpora=apart)
    assert "trained on test rows" in leak


def test_an_encoder_that_is_nowhere_is_told_once(study_file, tmp_path):
    gone = str(tmp_path / "gone")
    systems = [{"name": "bert", "encoder": gone}, {"name": "lesa-bert", "encoder": gone}]
    (fault,) = faults(study_file(systems=systems))
    assert "no such encoder folder" in fault


def test_files_are_found_under_the_data_root(study_file, data):
    (data / "elsewhere").mkdir()
    (data / "messages.csv").rename(data / "elsewhere" / "messages.csv")
    path = study_file()
    (fault,) = faults(path)
    assert "--data-root" in fault
    assert len(load_study(path, root=data / "elsewhere").corpora["mail"].documents) == 48
    assert any("is no folder" in f for f in faults(path, root=data / "nowhere"))


def test_what_is_no_study_file(tmp_path):
    with pytest.raises(StudyError, match="no such study file"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(StudyError, match="not valid TOML"):
        load_study(tmp_path / "bad.toml")
    (tmp_path / "empty.toml").write_text("corpus = 3\nsystem = [1]\n")
    found = faults(tmp_path / "empty.toml")
    assert any('"name" is missing' in f for f in found)
    assert any("[[corpus]] tables" in f for f in found)
    assert any("[[system]] tables" in f for f in found)


def test_faults_of_the_data_that_would_ruin_every_cell(study_file, data):
    """Found before anything trains, not after each training."""
    missing = {"name": "mail", "file": "messages.csv", "labels": "few.toml",
               "unknown_labels": "miss", "split": {"test": 0.25}}  # fmt: skip
    (data / "few.toml").write_text('[[label]]\nid = "urgent"\n[[label]]\nid = "medium"\n')
    (fault,) = faults(study_file(corpora=[missing]))
    assert '"non-urgent" is not in the label set' in fault
    (data / "bare.csv").write_text("id,text,label\nx,some words,\n")
    empty = {"name": "mail", "train": "messages.csv", "test": "bare.csv"}
    (fault,) = faults(study_file(corpora=[empty]))
    assert fault == 'corpus "mail": no labelled row in the test part'
