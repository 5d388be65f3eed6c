"""Iterative stratification: every label's share in every part."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.splits import folds, split
from attending.data.stratify import deal_by_labels
from attending.errors import DataError
from attending.records import Document


def made(number=400, labels=12, seed=1):
    """Return documents with one to four labels, of falling frequency."""
    chance = random.Random(seed)
    names = [f"c{i:02}" for i in range(labels)]
    weights = [1 / (i + 1) for i in range(labels)]
    return [
        Document(
            str(i), f"text {i}",
            tuple(dict.fromkeys(chance.choices(names, weights, k=chance.randint(1, 4)))),
        )
        for i in range(number)
    ]  # fmt: skip


def counts(documents, positions):
    return Counter(x for i in positions for x in documents[i].labels)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.3])
def test_a_split_keeps_the_share_of_every_label(share):
    documents = made()
    parts = split(documents, test=share)
    assert abs(len(parts.test) / len(documents) - share) < 0.02
    total, held = counts(documents, range(400)), counts(documents, parts.test)
    assert max(abs(held[x] / n - share) for x, n in total.items()) < 0.05
    assert sorted((*parts.train, *parts.test)) == list(range(400))


def test_better_than_by_lot():
    documents = made(labels=40)
    total = counts(documents, range(400))

    def worst(parts):
        held = counts(documents, parts.test)
        return sum(abs(held[x] / n - 0.2) for x, n in total.items())

    assert worst(split(documents)) < worst(split(documents, by="random")) / 2


def test_folds_deal_every_document_once_and_every_label_evenly():
    documents = made()
    dealt = folds(documents, 5)
    assert sorted(i for fold in dealt for i in fold.test) == list(range(400))
    for label, n in counts(documents, range(400)).items():
        held = [counts(documents, fold.test)[label] for fold in dealt]
        assert max(held) - min(held) <= max(3, 0.15 * n), label


def test_a_seed_gives_one_split_and_another_seed_another():
    documents = made()
    assert split(documents, seed=3) == split(documents, seed=3)
    assert split(documents, seed=3) != split(documents, seed=4)


def test_the_order_of_label_names_within_a_document_changes_nothing():
    documents = made()
    turned = [Document(d.id, d.text, tuple(reversed(d.labels))) for d in documents]
    assert split(documents).test == split(turned).test


def test_same_texts_stay_on_one_side():
    documents = made(200)
    doubled = [*documents, *(Document(f"{d.id}b", d.text.upper(), d.labels) for d in documents)]
    parts = split(doubled, keep_together="text")
    assert {i % 200 for i in parts.train}.isdisjoint(i % 200 for i in parts.test)
    assert abs(len(parts.test) / 400 - 0.2) < 0.02
    for fold in folds(doubled, 4, keep_together="text"):
        assert {i % 200 for i in fold.train}.isdisjoint(i % 200 for i in fold.test)


def test_unlabelled_documents_are_in_neither_part_and_empty_ones_are_dealt():
    documents = [*made(50), *(Document(f"n{i}", f"none {i}", ()) for i in range(10)),
                 Document("u", "unlabelled")]  # fmt: skip
    parts = split(documents)
    assert len(parts.train) + len(parts.test) == 60
    assert sum(50 <= i < 60 for i in parts.test) in (1, 2, 3)
    assert "1 unlabelled document: in neither part" in parts.notes


def test_rare_labels_are_named_for_folds():
    documents = [*made(30, 3), Document("r", "rare", ("c00", "zz"))]
    notes = folds(documents, 5)[0].notes
    assert any('"zz" has 1 example' in note for note in notes)
    with pytest.raises(DataError, match='too few examples for 5 folds: "zz" has 1 example'):
        folds(documents, 5, strict=True)


def test_too_few_documents_that_may_be_apart():
    documents = [Document(str(i), "the same", ("a", "b")) for i in range(6)]
    with pytest.raises(DataError, match="3 parts need at least 3 documents that may be apart"):
        folds(documents, 3, keep_together="text")
    with pytest.raises(DataError, match="2 parts need at least 2 documents"):
        split(documents, keep_together="text")


def test_two_documents_are_enough():
    documents = [Document("1", "a", ("x", "y")), Document("2", "b", ("x", "y"))]
    parts = split(documents)
    assert len(parts.train) == len(parts.test) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=4, unique=True), min_size=1, max_size=30),
    st.integers(2, 5),
    st.integers(0, 9),
)
def test_the_rarest_label_is_dealt_evenly(labels, k, seed):
    parts = deal_by_labels(labels, list(range(len(labels))), [1 / k] * k, seed)
    assert all(0 <= part < k for part in parts)
    assert len(parts) == len(labels)
    # The rarest label is dealt first, so nothing has disturbed its shares.
    left = Counter(x for of in labels for x in of)
    if left:
        rarest = min(left, key=lambda x: (left[x], x))
        held = [sum(rarest in of for p, of in zip(parts, labels, strict=True) if p == part)
                for part in range(k)]  # fmt: skip
        assert max(held) - min(held) <= 1


def test_single_labels_are_dealt_by_scikit_learn():
    from sklearn.model_selection import train_test_split

    documents = [Document(str(i), f"t{i}", ("ab"[i % 2],)) for i in range(40)]
    train, test = train_test_split(
        list(range(40)), test_size=0.2, random_state=7, stratify=[d.label for d in documents]
    )
    assert split(documents, seed=7).test == tuple(test)
    assert split(documents, seed=7).train == tuple(train)
