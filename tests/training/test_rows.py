"""Which rows train and which choose the checkpoint."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.folding import text_key
from attending.errors import LabelError, TrainingError
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Source
from attending.training.rows import choose_rows, label_counts

LABELS = LabelSet.from_ids(["a", "b", "c"])
BERT = Recipe.load("bert")


def rows_of(labels, texts=None):
    return [
        Document(f"r{i}", texts[i] if texts else f"text {i}", None if x is None else tuple(x))
        for i, x in enumerate(labels)
    ]


@given(
    labels=st.lists(st.sampled_from("abc"), min_size=10, max_size=80).filter(
        lambda x: len(set(x)) > 1
    ),
    texts=st.integers(5, 80),
    seed=st.integers(0, 9),
)
def test_a_development_row_never_trains_and_neither_does_its_text(labels, texts, seed):
    documents = rows_of(labels, [f"Text {i % texts}" for i in range(len(labels))])
    chosen = choose_rows(BERT, documents, LABELS, None, seed)
    ids = [d.id for d in (*chosen.train, *chosen.development)]
    assert sorted(ids) == sorted(d.id for d in documents)
    train, held = ({text_key(d.text) for d in x} for x in (chosen.train, chosen.development))
    assert not train & held
    assert {d.label for d in chosen.train} == set(labels), "a label would be trained on nothing"
    if len({text_key(d.text) for d in documents}) < 10:
        assert not chosen.development and "too few" in chosen.notes[0]
    assert chosen == choose_rows(BERT, documents, LABELS, None, seed)


def test_the_share_is_the_recipe_s_and_labels_keep_theirs():
    documents = rows_of("a" * 120 + "b" * 60 + "c" * 20)
    chosen = choose_rows(BERT, documents, LABELS, None, 1)
    assert Counter(d.label for d in chosen.development) == {"a": 12, "b": 6, "c": 2}
    fifth = BERT.override({"training.development": 0.2})
    assert len(choose_rows(fifth, documents, LABELS, None, 1).development) == 40
    none = BERT.override({"training.development": 0.0})
    assert choose_rows(none, documents, LABELS, None, 1).development == ()
    assert len(choose_rows(Recipe.load("tfidf-svm"), documents, LABELS, None, 1).development) == 20


def test_the_seed_decides():
    documents = rows_of("ab" * 50)
    held = [choose_rows(BERT, documents, LABELS, None, seed).development for seed in (1, 1, 2)]
    assert held[0] == held[1] != held[2]


def test_too_few_rows_to_carve_from():
    chosen = choose_rows(BERT, rows_of("aaabbb"), LABELS, None, 0)
    assert len(chosen.train) == 6 and chosen.development == ()
    assert chosen.notes == ("6 distinct texts are too few to carve a development split from",)
    chosen = choose_rows(BERT, rows_of("ab" * 50, ["same"] * 100), LABELS, None, 0)
    assert chosen.notes == ("1 distinct text is too few to carve a development split from",)


def test_the_only_example_of_a_label_trains():
    documents = rows_of("a" * 15 + "b" * 15 + "c")
    for seed in range(12):
        chosen = choose_rows(BERT, documents, LABELS, None, seed)
        assert "c" in {d.label for d in chosen.train}
        assert chosen.development
        assert chosen.notes == ('no development example of "c"',)  # and no word of a test part


def test_a_share_below_one_text_holds_one_back():
    small = BERT.override({"training.development": 0.01})
    assert len(choose_rows(small, rows_of("ab" * 10), LABELS, None, 0).development) == 1


def test_given_development_rows_are_taken_as_they_are():
    documents = rows_of("ab" * 20)
    for held in ([], rows_of("c"), rows_of("ccc")):
        chosen = choose_rows(BERT, documents, LABELS, held, 0)
        assert chosen.train == tuple(documents)
        assert chosen.development == tuple(held)
        assert chosen.notes == ()


def test_rows_without_a_label_are_left_out_and_counted():
    documents = rows_of(["a", "b", None, "a", None])
    chosen = choose_rows(BERT, documents, LABELS, rows_of(["a", None]), 0)
    assert [d.id for d in chosen.train] == ["r0", "r1", "r3"]
    assert len(chosen.development) == 1
    assert chosen.notes == (
        "2 training rows without a label: left out",
        "1 development row without a label: left out",
    )


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([None, None], r"no row has a label \(found 2 rows\)"),
        ([], "no row has a label"),
        (["a", "a", "a"], 'all 3 rows have the label "a"'),
        (["a"], 'all 1 rows have the label "a"'),
        (["a", "b", "ab"], r'row "r2": 1 training row with no label or several'),
        (["a", "b", ""], r'row "r2": 1 training row with no label or several'),
    ],
)
def test_rows_that_can_train_nothing(labels, said):
    with pytest.raises(TrainingError, match=said):
        choose_rows(BERT, rows_of(labels), LABELS, None, 0)


def test_several_labels_are_reported_with_file_and_line():
    several = Document("x", "text", ("a", "b"), source=Source("rows.csv", 7))
    with pytest.raises(TrainingError, match=r"^rows\.csv line 7: 1 development row with"):
        choose_rows(BERT, rows_of("ab"), LABELS, [several], 0)


def test_an_unknown_label_names_the_nearest():
    labels = LabelSet.from_ids(["urgent", "routine"])
    rows = [Document("1", "x", ("urgent",)), Document("2", "y", ("urgnt",))]
    with pytest.raises(LabelError, match=r'"urgnt".*Did you mean "urgent"'):
        choose_rows(BERT, rows, labels, None, 0)
    with pytest.raises(LabelError, match='"urgnt"'):
        choose_rows(BERT, rows_of("ab"), LABELS, rows[1:], 0)


def test_counts_by_label_in_the_set_s_order():
    assert list(label_counts(rows_of("cac"), LABELS).items()) == [("a", 1), ("b", 0), ("c", 2)]
