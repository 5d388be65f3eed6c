"""Pictures of a study: the same documents for every system, drawn once."""

import pytest

from attending.study import drawings
from attending.study.drawings import draw_study
from attending.study.run import run_study


def test_every_system_that_can_shows_its_words_and_its_map(home, tiny_system):
    systems = [{"name": "frequency"}, {"name": "tfidf-logistic"}, tiny_system("lesa-bert")]
    made = home(pictures=["words", "map"], reference="lesa-bert", systems=systems)
    run_study(made)
    told: list[str] = []
    drawn = draw_study(made, told.append)
    assert told == ["lesa-bert", "frequency", "tfidf-logistic"]
    folder = made.path / "drawings" / "mail"
    assert [path.relative_to(folder).as_posix() for path in drawn] == [
        "lesa-bert-words.png", "lesa-bert-map.png", "tfidf-logistic-words.png",
    ]  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    assert {c.seed for c in made.study.cells() if made.cell(c).model.is_dir()} == {0}


def test_all_systems_show_the_documents_of_the_first_one(home, monkeypatch):
    systems = [{"name": "tfidf-svm"}, {"name": "tfidf-logistic"}]
    made = home(pictures=["words"], systems=systems)
    run_study(made)
    seen: list[list[str]] = []
    drawn = drawings.draw_words
    monkeypatch.setattr(
        drawings,
        "draw_words",
        lambda path, shown, *rest, **more: (
            seen.append([row.id for row in shown.rows]),
            drawn(path, shown, *rest, **more),
        ),
    )
    draw_study(made)
    assert len(seen) == 2 and seen[0] == seen[1] and len(seen[0]) > 1


def test_pictures_are_drawn_once_and_anew_for_other_models(home):
    made = home(pictures=["words"])
    run_study(made)
    assert draw_study(made)
    assert draw_study(made, pytest.fail) == []
    (made.path / "drawings" / "mail" / "made.json").write_text("[]")
    assert draw_study(made)


def test_without_the_wish_nothing_is_drawn_and_no_model_kept(home):
    made = home()
    run_study(made)
    assert draw_study(made, pytest.fail) == []
    assert not (made.path / "drawings").exists()
    assert not any(made.cell(c).model.is_dir() for c in made.study.cells())


def test_an_unknown_picture_is_told(study_file):
    from attending.errors import StudyError
    from attending.study.plan import load_study

    with pytest.raises(StudyError) as caught:
        load_study(study_file(pictures=["words", "cloud"]))
    assert "pictures" in str(caught.value) and "cloud" in str(caught.value)
