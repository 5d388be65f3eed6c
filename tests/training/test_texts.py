"""Which texts are trained on and which are held out."""

import pytest

from attending.errors import TrainingError
from attending.records import Document
from attending.training import texts
from attending.training.texts import choose_texts


def documents(count, group=None):
    return [
        Document(str(i), f"text number {i}", None, group=None if group is None else group(i))
        for i in range(count)
    ]


def test_a_share_is_held_out_and_no_text_is_on_both_sides():
    rows = documents(100)
    made = choose_texts([*rows, *rows[:40]], 0.1, 0)
    assert (len(made.train), len(made.held_out)) == (90, 10)
    assert {d.text for d in made.train}.isdisjoint(d.text for d in made.held_out)
    assert made.notes == ("40 repeated texts: each text counts once",)
    assert choose_texts(rows, 0.1, 0).held_out == made.held_out
    assert choose_texts(rows, 0.1, 1).held_out != made.held_out


def test_case_and_spacing_make_no_other_text():
    rows = [*documents(20), Document("x", "Text  NUMBER 3", None), Document("y", " ", None)]
    made = choose_texts(rows, 0.1, 0)
    assert len(made.train) + len(made.held_out) == 20
    assert made.notes == (
        "1 document without text: left out",
        "1 repeated text: each text counts once",
    )


def test_small_groups_stay_whole():
    made = choose_texts(documents(120, lambda i: f"patient {i % 60}"), 0.1, 0)
    assert len(made.held_out) == 12
    assert {d.group for d in made.train}.isdisjoint(d.group for d in made.held_out)


def test_large_groups_are_not_looked_at():
    made = choose_texts(documents(120, lambda i: f"clinic {i % 3}"), 0.1, 0)
    assert len(made.held_out) == 12
    assert {d.group for d in made.held_out} <= {d.group for d in made.train}


def test_no_more_are_held_out_than_are_needed(monkeypatch):
    monkeypatch.setattr(texts, "MOST_HELD_OUT", 7)
    assert len(choose_texts(documents(100), 0.5, 0).held_out) == 7


def test_too_few_to_hold_out():
    made = choose_texts(documents(9), 0.1, 0)
    assert (len(made.train), made.held_out) == (9, ())
    assert made.notes == (
        "9 distinct texts are too few to hold any out: the perplexity isn't told",
    )
    assert choose_texts(documents(50), 0.0, 0).notes == ()


def test_no_text():
    with pytest.raises(TrainingError, match=r"no text to learn from \(found 2 documents, 2 of"):
        choose_texts([Document("1", "", None), Document("2", "\n", None)], 0.1, 0)
