"""Batches: padding, and groups of like length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.batches import collate
from attending.data.layout import by_length
from attending.data.windows import Window, Windowed
from attending.records import Coverage


def document(*windows):
    made = tuple(Window(tuple(ids), 0, len(ids) - 2) for ids in windows)
    return Windowed(made, (), Coverage(0, 0, len(made)))


def test_windows_are_padded_to_the_longest():
    batch = collate([document([1, 7, 2]), document([1, 8, 9, 9, 2], [1, 9, 2])], 0, [4, 3])
    assert batch.ids.tolist() == [[1, 7, 2, 0, 0], [1, 8, 9, 9, 2], [1, 9, 2, 0, 0]]
    assert batch.mask.int().tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch.document.tolist() == [0, 1, 1]
    assert batch.targets.tolist() == [4, 3]
    assert batch.size == 2


def test_the_mask_comes_from_lengths_not_from_ids():
    """The padding id may occur in a text."""
    batch = collate([document([1, 0, 2]), document([1, 2])], 0)
    assert batch.mask.int().tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch.targets is None


def test_the_tokenizer_s_own_padding_id_is_used():
    assert collate([document([0, 5, 2]), document([0, 2])], 1).ids.tolist() == [
        [0, 5, 2],
        [0, 2, 1],
    ]


@given(
    lengths=st.lists(st.integers(1, 300), max_size=60),
    size=st.integers(1, 9),
    most=st.integers(1, 900),
)
def test_groups_hold_every_document_once_and_keep_the_limits(lengths, size, most):
    groups = by_length(lengths, size, most)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    for group in groups:
        assert 1 <= len(group) <= size
        longest = max(lengths[i] for i in group)
        assert longest * len(group) <= most or len(group) == 1
    firsts = [lengths[i] for group in groups for i in group]
    assert firsts == sorted(firsts, reverse=True)


def test_the_longest_come_first_so_that_memory_fails_early_or_never():
    assert by_length([3, 9, 9, 1], 2) == [[1, 2], [0, 3]]


@pytest.mark.parametrize("size", [1, 4])
def test_no_documents_no_groups(size):
    assert by_length([], size) == []


def test_training_batches_have_few_widths():
    from attending.data.batches import padded
    from attending.data.windows import Window
    from attending.tensors import STEP

    def width(tokens, limit):
        ids, mask = padded([Window(tuple(range(tokens)), 0, tokens, 1)], 0, limit)
        assert ids.shape == mask.shape and mask.sum() == tokens
        return ids.shape[1]

    assert [width(n, 64) for n in (1, 8, 9, 60)] == [STEP, STEP, 2 * STEP, 64]
    assert width(61, 62) == 62  # never more positions than the encoder has
    assert width(9, 0) == 9
