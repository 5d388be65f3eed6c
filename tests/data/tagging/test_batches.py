import numpy as np
import pytest
import torch

from attending.data.samplers import Shuffled
from attending.data.tagging.batches import (
    IGNORED,
    Copies,
    OneTypeAtATime,
    TagBatch,
    TagExample,
    collate_examples,
    inside,
)
from attending.data.tagging.units import Unit
from attending.data.windows import Window
from attending.errors import ShapeError
from attending.tags import TagSet

TAGS = TagSet(("a", "b", "c"))


def example(*tags):
    count = len(tags)
    window = Window((101, *range(5, 5 + count), 102), 0, count)
    unit = Unit(window, 0, np.arange(count), np.arange(1, count + 1), np.zeros(count, dtype=bool))
    return TagExample(unit, np.array(tags, dtype=np.int64)[:, None])


EXAMPLES = [
    example(1, 2, 0),
    example(0, 3),
    example(
        0,
    ),
    example(5, 1, 0, 0),
]


def test_cells_point_at_the_words_of_padded_windows():
    batch = collate_examples(EXAMPLES, pad=0)
    assert batch.ids.shape == (4, 6) and batch.lengths.tolist() == [3, 2, 1, 4]
    assert batch.ids.flatten()[batch.cells].tolist() == [5, 6, 7, 5, 6, 5, 5, 6, 7, 8]
    assert batch.mask.flatten()[batch.cells].all()
    assert batch.targets.flatten().tolist() == [1, 2, 0, 0, 3, 0, 5, 1, 0, 0]


def test_targets_must_fit_the_words():
    batch = collate_examples(EXAMPLES, pad=0)
    with pytest.raises(ShapeError, match="one row of targets a word"):
        TagBatch(batch.ids, batch.mask, batch.cells, batch.lengths, torch.zeros(3, 1))


def test_pieces_that_go_on_take_the_following_tag():
    targets = np.array([[1], [1], [0], [5], [6]])
    goes_on = np.array([False, True, True, True, True])
    assert inside(targets, goes_on, TAGS).ravel().tolist() == [1, 2, 0, 6, 6]


@pytest.mark.parametrize(("ignore", "hidden"), [(False, 0), (True, IGNORED)])
def test_a_copy_shows_one_type(ignore, hidden):
    copies = Copies(EXAMPLES, TAGS, ignore)
    assert copies[3 * 3 + 0].targets.ravel().tolist() == [hidden, 1, 0, 0]
    assert copies[3 * 3 + 2].targets.ravel().tolist() == [5, hidden, 0, 0]
    assert copies.present([0, 3]) == [0, 2] and copies.present([2]) == [0]
    assert len(copies) == 4


def test_every_batch_comes_once_a_type_in_it_and_every_epoch_is_as_long():
    copies = Copies(EXAMPLES, TAGS, ignore=False)
    sampler = OneTypeAtATime(Shuffled(4, 2, seed=3), copies)
    epochs = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler)
        seen = {}
        for batch in batches:
            members = tuple(key // 3 for key in batch)
            (label,) = {key % 3 for key in batch}
            seen.setdefault(members, []).append(label)
        for members, types in seen.items():
            assert sorted(types) == copies.present(members)
        epochs.append(batches)
    assert epochs[0] != epochs[1] or epochs[1] != epochs[2]
