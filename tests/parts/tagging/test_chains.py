from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.parts.tagging.chains import Chain, best_tags, marginals, runs_of
from attending.tags import TagSet

FLAT = TagSet(("x", "y"))  # O B-x I-x B-y I-y


def spans(tags, lengths, known=FLAT):
    runs = runs_of(np.array(tags, dtype=np.int64).reshape(-1, known.shape[0]), lengths, known)
    columns = (runs.text, runs.first, runs.last, runs.label)
    return list(zip(*(c.tolist() for c in columns), strict=True))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], []),
        ([0, 0], []),
        ([1, 2, 0], [(0, 0, 1, 0)]),
        ([1, 1], [(0, 0, 0, 0), (0, 1, 1, 0)]),
        ([2, 2, 0], [(0, 0, 1, 0)]),  # a span without its first tag
        ([0, 4], [(0, 1, 1, 1)]),
        ([1, 4, 4], [(0, 0, 0, 0), (0, 1, 2, 1)]),  # another type goes on
        ([3, 4, 3], [(0, 0, 1, 1), (0, 2, 2, 1)]),
    ],
)
def test_tags_become_spans(tags, expected):
    assert spans(tags, [len(tags)]) == expected


def test_a_span_ends_with_its_text():
    assert spans([1, 2, 2, 2], [2, 2]) == [(0, 0, 1, 0), (1, 2, 3, 0)]
    assert spans([1, 2], [0, 1, 0, 1]) == [(1, 0, 0, 0), (3, 1, 1, 0)]


def test_layers_may_overlap():
    known = TagSet(("x", "y"), layered=True)
    tags = [[1, 0], [2, 1], [0, 2]]
    assert spans(tags, [3], known) == [(0, 0, 1, 0), (0, 1, 2, 1)]


def test_io_joins_neighbours():
    assert spans([1, 1, 0, 2], [4], TagSet(("x", "y"), begins=False)) == [
        (0, 0, 1, 0), (0, 3, 3, 1),
    ]  # fmt: skip


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 12))
def test_spans_equal_those_of_going_word_by_word(tags, cut):
    lengths = [min(cut, len(tags)), len(tags) - min(cut, len(tags))]
    expected = []
    for text, start in enumerate((0, lengths[0])):
        here = None
        for i in range(start, start + lengths[text]):
            label = (tags[i] - 1) // 2 if tags[i] else None
            if here and label == here[3] and tags[i] % 2 == 0:
                here[2] = i
                continue
            here = None if label is None else [text, i, i, label]
            if here:
                expected.append(here)
    assert spans(tags, lengths) == [tuple(x) for x in expected]


def test_the_best_sequence_obeys_the_tags():
    random = np.random.default_rng(1)
    scores = random.normal(size=(5, 1, 5))
    chain = Chain.of_tags(FLAT)
    found = best_tags(scores, [5], chain).ravel()
    allowed = [
        t for t in product(range(5), repeat=5)
        if FLAT.can_start[0, t[0]]
        and all(FLAT.can_follow[0, a, b] for a, b in pairwise(t))
    ]  # fmt: skip
    best = max(allowed, key=lambda t: sum(scores[i, 0, x] for i, x in enumerate(t)))
    assert found.tolist() == list(best)


@pytest.mark.parametrize("cells", [1, 6, 1000])
def test_texts_don_t_know_each_other(cells, monkeypatch):
    monkeypatch.setattr("attending.parts.tagging.chains._CELLS", cells)
    random = np.random.default_rng(2)
    scores = random.normal(size=(9, 1, 5))
    chain = Chain.of_tags(FLAT)
    lengths = [2, 0, 6, 1]
    together = best_tags(scores, lengths, chain), marginals(scores, lengths, chain)
    start = 0
    for length in lengths:
        part = scores[start : start + length]
        assert np.array_equal(best_tags(part, [length], chain), together[0][start : start + length])
        own = marginals(part, [length], chain)
        assert np.exp(own) == pytest.approx(np.exp(together[1][start : start + length]))
        start += length


def test_nothing_to_decode():
    nothing = np.zeros((0, 1, 5))
    chain = Chain.of_tags(FLAT)
    assert best_tags(nothing, [0, 0], chain).shape == (0, 1)
    assert marginals(nothing, [], chain).shape == (0, 1, 5)
