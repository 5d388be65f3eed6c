"""Recurrent layers in both directions."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attending.parts.recurrent import Recurrent, turned


def test_each_text_is_turned_round_by_its_own_length():
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False] * 4])
    assert turned(mask).tolist() == [[3, 2, 1, 0], [1, 0, 2, 3], [0, 1, 2, 3]]


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_is_what_the_library_makes_of_packed_sequences(cell):
    ours = Recurrent(cell, 3, 4, layers=2).eval()
    kind = torch.nn.LSTM if cell == "lstm" else torch.nn.GRU
    library = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    named = dict(library.named_parameters())
    with torch.no_grad():
        for layer, pair in enumerate(zip(ours.ahead, ours.back, strict=True)):
            for one, suffix in zip(pair, ("", "_reverse"), strict=True):
                for name, value in one.named_parameters():
                    value.copy_(named[f"{name[:-1]}{layer}{suffix}"])
    lengths = torch.tensor([5, 2, 4])
    mask = torch.arange(5)[None] < lengths[:, None]
    vectors = torch.randn(3, 5, 3)
    packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    with torch.no_grad():
        expected, _ = pad_packed_sequence(library(packed)[0], batch_first=True)
        found = ours(vectors, mask)
    torch.testing.assert_close(found[mask], expected[mask], atol=1e-6, rtol=0)
