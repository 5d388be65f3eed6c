import numpy as np
import pytest

from attending.parts.tagging.search import ExactSearch, TreeSearch, few_of_each, search_among


def points(count, width, spread, seed=0):
    """Points of a few tight groups, that vary less and less from axis to axis."""
    random = np.random.default_rng(seed)
    groups = random.normal(0, 4, (5, width))
    along = np.linspace(spread, spread / 20, width)
    mixed = np.linalg.qr(random.normal(size=(width, width)))[0]
    return groups[random.integers(0, 5, count)] + random.normal(size=(count, width)) * along @ mixed


@pytest.mark.parametrize("width", [1, 3, 9, 10, 40])
@pytest.mark.parametrize("spread", [0.1, 2.0])
@pytest.mark.parametrize("k", [1, 17])
@pytest.mark.parametrize("search", [ExactSearch, TreeSearch])
def test_the_same_as_comparing_everything(width, spread, k, search):
    known, asked = points(3000, width, spread), points(60, width, spread, seed=1)
    known[:30] = asked[:30]  # some stand exactly there
    apart = np.linalg.norm(asked[:, None] - known, axis=2)
    found = search(known).nearest(asked, k)
    distances = np.take_along_axis(apart, found, axis=1)
    assert distances == pytest.approx(np.sort(apart, axis=1)[:, :k], abs=1e-6)
    assert all(len(set(row)) == k for row in found.tolist())


@pytest.mark.parametrize("search", [ExactSearch, TreeSearch])
def test_no_more_are_found_than_there_are(search):
    found = search(points(5, 3, 1.0)).nearest(points(2, 3, 1.0), 17)
    assert sorted(found[0].tolist()) == sorted(found[1].tolist()) == [0, 1, 2, 3, 4]


def test_a_tree_searches_where_coordinates_are_few():
    assert isinstance(search_among(points(50, 3, 1.0)), TreeSearch)
    assert isinstance(search_among(points(50, 83, 1.0)), ExactSearch)


def test_points_at_one_place_stand_for_each_other():
    places = np.array([[0, 1], [2, 3], [0, 1], [0, 1], [4, 5], [2, 3], [0, 1]], dtype=np.float32)
    assert few_of_each(places, 2).tolist() == [0, 1, 2, 4, 5]
    assert few_of_each(places, 9).tolist() == list(range(7))


def test_most_cells_are_not_looked_at(monkeypatch):
    both = points(20_200, 60, 0.5)
    known, asked = both[:20_000], both[20_000:]
    made = ExactSearch(known)
    chosen = []
    in_reach = made._in_reach
    monkeypatch.setattr(made, "_in_reach", lambda *a: chosen.append(in_reach(*a)) or chosen[-1])
    made.nearest(asked, 17)
    assert chosen[0].shape == (200, len(made.sizes)) and len(made.sizes) == 64
    assert chosen[0].mean() < 0.5


def test_points_far_from_their_middle_and_near_each_other():
    """Single precision alone would get these wrong."""
    random = np.random.default_rng(4)
    known = 1000 + random.normal(size=(4000, 20)) * 1e-3
    known[::2] += 500
    asked = known[::40] + random.normal(size=(100, 20)) * 1e-4
    exact = np.linalg.norm(asked[:, None] - known, axis=2)
    found = ExactSearch(known).nearest(asked, 5)
    assert (np.sort(found, 1) == np.sort(np.argsort(exact, axis=1)[:, :5], 1)).all()


def test_few_points_and_no_query():
    made = ExactSearch(points(5, 12, 1.0))
    assert made.nearest(points(2, 12, 1.0), 17).shape == (2, 5)
    assert made.nearest(np.zeros((0, 12)), 3).shape == (0, 3)


def test_points_that_are_all_the_same():
    made = ExactSearch(np.ones((100, 11)))
    assert len(set(made.nearest(np.ones((1, 11)), 5)[0].tolist())) == 5
