import numpy as np
import pytest

from attending.parts.tagging.neighbours import Neighbours
from attending.specs import LogitNeighbours


def made(words=400, layers=1, tags=7, **settings):
    random = np.random.default_rng(11)
    logits = random.normal(size=(words, layers, tags)).astype(np.float32)
    logits *= np.linspace(0.1, 3, tags, dtype=np.float32)
    truth = random.integers(0, tags, (words, layers))
    return Neighbours(LogitNeighbours(**settings), logits, truth), random


@pytest.mark.parametrize("layers", [1, 3])
def test_search_is_exact(layers):
    neighbours, random = made(layers=layers, k=17)
    asked = random.normal(size=(50, layers, 7))
    flat = neighbours.logits.reshape(400, -1).astype(np.float64)
    apart = np.linalg.norm(asked.reshape(50, 1, -1) - flat, axis=2)
    expected = np.sort(apart, axis=1)[:, :17]
    found = neighbours.nearest(asked)
    assert np.take_along_axis(apart, found, axis=1) == pytest.approx(expected)
    assert (np.sort(found, axis=1) == np.sort(np.argsort(apart, axis=1)[:, :17], axis=1)).all()


def test_votes_are_shares_of_tags():
    neighbours, random = made(layers=2, k=5)
    asked = random.normal(size=(9, 2, 7))
    votes = neighbours.votes(asked)
    near = neighbours.nearest(asked)
    for word in range(9):
        for layer in range(2):
            tags = neighbours.tags[near[word], layer]
            assert votes[word, layer] == pytest.approx(np.bincount(tags, minlength=7) / 5)


def test_weights_of_votes():
    neighbours, _random = made(k=1, weight=0.25)
    likely = np.log(np.full((3, 1, 7), 1 / 7))
    asked = neighbours.logits[[4, 5, 6]].astype(np.float64)
    mixed = np.exp(neighbours.mixed(asked, likely))
    rows = np.arange(3)
    assert mixed[rows, 0, neighbours.tags[[4, 5, 6], 0]] == pytest.approx(0.25 + 0.75 / 7, abs=1e-4)
    assert mixed.sum(axis=-1) == pytest.approx(1)
    alone, _ = made(k=1, weight=0.0)
    assert alone.mixed(asked, likely) is likely


def test_fewer_training_words_than_votes():
    neighbours, random = made(words=3, k=17)
    assert neighbours.votes(random.normal(size=(2, 1, 7))).sum(axis=-1) == pytest.approx(1)
    assert neighbours.mixed(np.zeros((0, 1, 7)), np.zeros((0, 1, 7))).shape == (0, 1, 7)


def test_very_many_words_at_one_place_are_not_searched():
    tags = np.arange(500)[:, None] % 2
    same = np.zeros((500, 1, 8), dtype=np.float32)
    same[:3] = 1.0
    neighbours = Neighbours(LogitNeighbours(k=5), same, tags)
    assert len(neighbours._search[0]) == 8
    found = neighbours.nearest(np.stack([same[0], same[9]]).astype(np.float64))
    assert sorted(found[0][:3].tolist()) == [0, 1, 2]
    assert sorted(found[1].tolist()) == [3, 4, 5, 6, 7]
