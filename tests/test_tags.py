import numpy as np
import pytest

from attending.tags import TagSet


def test_flat_tags():
    tags = TagSet(("x", "y"))
    assert tags.shape == (1, 5) and tags.names == (("O", "B-x", "I-x", "B-y", "I-y"),)
    assert tags.type_of.tolist() == [[-1, 0, 0, 1, 1]]
    assert tags.can_start.tolist() == [[True, True, False, True, False]]
    follow = tags.can_follow[0]
    assert follow[:, [0, 1, 3]].all()  # the outside and first tags may come after anything
    assert np.flatnonzero(follow[:, 2]).tolist() == [1, 2]
    assert np.flatnonzero(follow[:, 4]).tolist() == [3, 4]


def test_layers():
    tags = TagSet(("x", "y"), layered=True)
    assert tags.shape == (2, 3) and tags.names == (("O", "B-x", "I-x"), ("O", "B-y", "I-y"))
    assert tags.place(1) == (1, 1) and tags.type_of.tolist() == [[-1, 0, 0], [-1, 1, 1]]
    assert not tags.can_follow[:, 0, 2].any() and tags.can_follow[:, 1, 2].all()


@pytest.mark.parametrize(("layered", "shape"), [(False, (1, 3)), (True, (2, 2))])
def test_io_forbids_nothing(layered, shape):
    tags = TagSet(("x", "y"), begins=False, layered=layered)
    assert tags.shape == shape and tags.can_follow.all() and tags.can_start.all()
    assert not tags.first.any()
