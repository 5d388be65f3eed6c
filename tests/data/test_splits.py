"""Splits and folds: scikit-learn's where that works, safe where it doesn't."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from attending.data.corpora import load_corpus
from attending.data.folding import fold_text
from attending.data.splits import Split, folds, split
from attending.errors import DataError
from attending.records import Document


def labelled(*labels: str | None) -> list[Document]:
    return [
        Document(str(i), f"text {i}", None if x is None else (x,)) for i, x in enumerate(labels)
    ]


def is_partition(made: Split, size: int) -> bool:
    return sorted((*made.train, *made.test)) == list(range(size))


def test_the_published_split_of_the_bundled_corpus():
    documents = load_corpus("portal").documents
    made = split(documents)
    train, test = train_test_split(
        range(len(documents)), test_size=0.2, stratify=[d.label for d in documents],
        random_state=2020,
    )  # fmt: skip
    assert (list(made.train), list(made.test)) == (train, test)
    assert made.notes == ()
    assert Counter(documents[i].label for i in made.test) == {
        "medium": 191, "non-urgent": 127, "urgent": 34,
    }  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("aaaabbc"), min_size=2, max_size=40),
    st.sampled_from([0.1, 0.2, 0.5]),
    st.integers(0, 5),
)
def test_label_splits_part_the_documents_or_refuse(labels, share, seed):
    documents = labelled(*labels)
    if max(Counter(labels).values()) == 1:
        with pytest.raises(DataError, match="one side of the split is empty"):
            split(documents, test=share, seed=seed)
        return
    made = split(documents, test=share, seed=seed)
    assert is_partition(made, len(documents))
    assert made == split(documents, test=share, seed=seed)
    for label, count in Counter(labels).items():
        if count == 1:
            assert labels.index(label) in made.train
            assert any(f'"{label}"' in note for note in made.notes)


def test_labels_that_are_too_rare_are_named():
    made = split(labelled(*"aaaaaaaaaa", *"bbbbbbbbbb", "rare"))
    assert any('1 label with 1 example can only be in training: "rare"' in n for n in made.notes)
    assert any('no test example of "rare"' in n for n in made.notes)


def test_unlabelled_documents_are_in_neither_part_and_counted():
    made = split(labelled(*"aaaaabbbbb", None, None))
    assert not {10, 11} & {*made.train, *made.test}
    assert any("2 unlabelled documents: in neither part" in note for note in made.notes)


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        (labelled("a"), {}, "at least 2 documents"),
        (labelled("a", "b"), {}, "one side of the split is empty"),
        (labelled(None, None), {}, "no document has a label"),
        (labelled(*"aabb"), {"test": 1.5}, "between 0 and 1"),
        (labelled(*"aabb"), {"by": "group"}, "no document has a group.*--group"),
        (labelled(*"aabb"), {"by": "date"}, "no document has a date.*--date"),
        (labelled(*"aabb"), {"by": "weather"}, "allowed: label, group, date, random"),
        (labelled(*"aabb"), {"groups": ["x"]}, 'named groups need by="group"'),
    ],
)
def test_what_cannot_be_split_is_refused(documents, options, message):
    with pytest.raises(DataError, match=message):
        split(documents, **options)


# Groups.


def grouped(*groups: str | None) -> list[Document]:
    return [Document(str(i), f"text {i}", ("ab"[i % 2],), group=g) for i, g in enumerate(groups)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["p", "q", "r", "s", None]), min_size=4, max_size=30))
def test_no_group_is_on_both_sides(groups):
    documents = grouped(*groups)
    if not any(groups) or (len(set(groups)) == 1 and None not in groups):
        with pytest.raises(DataError):
            split(documents, by="group")
        return
    made = split(documents, by="group", test=0.3)
    assert is_partition(made, len(documents))
    sides = [{documents[i].group for i in side} - {None} for side in (made.train, made.test)]
    assert not sides[0] & sides[1]


def test_named_groups_form_the_test_part():
    documents = load_corpus("portal").documents
    made = split(documents, by="group", groups=["rural-practice", "telehealth"])
    assert is_partition(made, len(documents))
    assert {documents[i].group for i in made.test} == {"rural-practice", "telehealth"}
    assert len(made.test) == 501
    with pytest.raises(DataError, match='Did you mean "rural-practice"'):
        split(documents, by="group", groups=["rural-practise"])


# The same text.


def test_texts_on_both_sides_are_counted_and_can_be_kept_together():
    documents = [
        Document(f"{i}-{j}", f"Same  Text {i}" if j else f"same text {i}\u200b", ("ab"[i % 2],))
        for i in range(30)
        for j in range(2)
    ]
    made = split(documents)
    assert any("have a text that is in training too" in note for note in made.notes)
    together = split(documents, keep_together="text")
    sides = [{fold_text(documents[i].text) for i in s} for s in (together.train, together.test)]
    assert not sides[0] & sides[1]
    assert is_partition(together, len(documents))
    assert "60 documents share their text: kept on one side" in together.notes
    alone = split(documents[::2], keep_together="text")
    assert not any("share their text" in note for note in alone.notes)
    assert not any("in training too" in note for note in together.notes)
    shares = Counter(documents[i].label for i in together.test)
    assert shares == {"a": 6, "b": 6}


def test_a_chain_of_groups_and_texts_stays_together():
    chain = [("x", "g1"), ("y", "g1"), ("y", "g2"), ("z", "g2")]
    others = [(f"t{i}", f"o{i}") for i in range(6)]
    documents = [Document(str(i), t, ("a",), group=g) for i, (t, g) in enumerate(chain + others)]
    for seed in range(5):
        made = split(documents, by="group", keep_together="text", test=0.4, seed=seed)
        assert len({i in made.test for i in range(4)}) == 1


# Dates.


def dated(*whens: datetime | None) -> list[Document]:
    return [Document(str(i), f"text {i}", ("a",), when=w) for i, w in enumerate(whens)]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_a_date_at_the_end_of_the_calendar_is_one_like_others(text):
    odd, new = datetime.fromisoformat(text), datetime(2024, 1, 2)
    made = split(dated(odd, datetime(2024, 1, 1), new), by="date", test=0.3)
    assert made.test == ((0,) if odd.year > 2024 else (2,))


def test_the_newest_are_tested_by_instant_not_by_clock():
    west = timezone(timedelta(hours=-8))
    documents = dated(
        datetime(2024, 3, 10, 23, 30, tzinfo=west),  # 07:30 UTC on the 11th
        datetime(2024, 3, 11, 6, 0, tzinfo=UTC),
        datetime(2024, 3, 11, 7, 0, tzinfo=UTC),
    )
    made = split(documents, by="date", test=0.3)
    assert (made.train, made.test) == ((1, 2), (0,))


def test_one_instant_is_never_on_both_sides():
    day = datetime(2024, 1, 1)
    documents = dated(*[day] * 3, *[day + timedelta(days=1)] * 5, day + timedelta(days=2))
    made = split(documents, by="date", test=0.4)
    assert (made.train, made.test) == ((0, 1, 2), (3, 4, 5, 6, 7, 8))
    assert any("9 dates without a time zone: read as UTC" in note for note in made.notes)
    with pytest.raises(DataError, match="same date"):
        split(dated(day, day), by="date")


def test_undated_documents_are_in_neither_part_and_counted():
    made = split(dated(datetime(2024, 1, 1), None, datetime(2024, 1, 2)), by="date")
    assert (made.train, made.test) == ((0,), (2,))
    assert any("1 document without a date: in neither part" in note for note in made.notes)


def test_random_split():
    documents = labelled(*"ab" * 20)
    made = split(documents, by="random")
    train, test = train_test_split(range(40), test_size=0.2, random_state=2020)
    assert (list(made.train), list(made.test)) == (train, test)


# Folds.


def test_a_class_with_fewer_examples_than_folds(case):
    documents = load_corpus(case("D06") / "rare.csv").documents
    values = json.loads((case("D06") / "expected.json").read_text())["values"]
    made = folds(documents, values["n_folds"])
    assert made == folds(documents, values["n_folds"])
    assert len(made) == values["n_folds"]
    assert sorted(i for fold in made for i in fold.test) == list(range(len(documents)))
    for fold in made:
        assert is_partition(fold, len(documents))
        counts = Counter(documents[i].label for i in fold.test)
        assert {k: counts[k] for k in "AB"} == values["per_fold"]
        assert any(f'"{values["warned_class"]}" has 1 example' in note for note in fold.notes)
    assert sorted(len(fold.test) for fold in made) == values["fold_sizes_sorted"]
    with pytest.raises(DataError, match='"C" has 1 example'):
        folds(documents, 5, strict=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("aaabbcde"), min_size=2, max_size=30), st.integers(2, 6))
def test_every_document_is_tested_once(labels, k):
    documents = labelled(*labels)
    if len(labels) < k:
        with pytest.raises(DataError, match=f"{k} folds need at least {k} documents"):
            folds(documents, k)
        return
    made = folds(documents, k)
    assert sorted(i for fold in made for i in fold.test) == list(range(len(documents)))
    assert all(is_partition(fold, len(documents)) and fold.test for fold in made)


def test_folds_by_group_keep_groups_whole():
    documents = load_corpus("portal").documents
    made = folds(documents, 7, by="group")
    tested = [{documents[i].group for i in fold.test} for fold in made]
    assert sorted(map(len, tested)) == [1] * 7
    with pytest.raises(DataError, match="8 folds need at least 8 groups"):
        folds(documents, 8, by="group")


@pytest.mark.parametrize(
    ("k", "by", "message"), [(1, "label", "at least 2 folds"), (2, "date", 'no folds by "date"')]
)
def test_folds_that_make_no_sense(k, by, message):
    with pytest.raises(DataError, match=message):
        folds(labelled(*"aabb"), k, by=by)
