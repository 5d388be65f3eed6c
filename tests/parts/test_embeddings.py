"""Training only the rows in use: the same numbers as training the whole table."""

import pytest
import torch
from torch import nn

from attending.parts.embeddings import UsedRowsEmbedding

ROWS = torch.tensor([0, 2, 5, 6])


@pytest.fixture
def full():
    torch.manual_seed(4)
    return nn.Embedding(9, 4, padding_idx=0)


def train(table, parameters, steps=6):
    optimizer = torch.optim.AdamW(parameters, lr=0.05, weight_decay=0.0)
    random = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        ids = ROWS[torch.randint(1, len(ROWS), (3, 5), generator=random)]
        goal = torch.randn(3, 5, 4, generator=random)
        loss = (table(ids) - goal).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.05)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_is_the_same_bit_for_bit(full):
    used = UsedRowsEmbedding(full, ROWS)
    start = full.weight.detach().clone()
    assert train(used, list(used.parameters())) == train(full, list(full.parameters()))
    assert torch.equal(used.merged().weight, full.weight)
    assert (full.weight[[2, 5, 6]] != start[[2, 5, 6]]).all()
    assert torch.equal(full.weight[[0, 1, 3, 4, 7, 8]], start[[0, 1, 3, 4, 7, 8]])


def test_gradients_are_the_same(full):
    ids = torch.tensor([[2, 2, 5], [6, 5, 2]])
    used = UsedRowsEmbedding(full, ROWS)
    for table in (used, full):
        (table(ids).cumsum(dim=1) ** 2).sum().backward()
    assert torch.equal(used.weight.grad, full.weight.grad[ROWS])


def test_other_rows_keep_their_vectors(full):
    """A word first seen after training has the vector it was pretrained with."""
    used = UsedRowsEmbedding(full, ROWS)
    before = full.weight.detach().clone()
    train(used, list(used.parameters()))
    mixed = torch.tensor([[1, 2, 8], [5, 3, 0]])
    found = used(mixed)
    assert torch.equal(found[0, 0], before[1]) and torch.equal(found[0, 2], before[8])
    assert torch.equal(found[0, 1], used.weight[1]) and not torch.equal(found[0, 1], before[2])
    assert torch.equal(found, used.merged()(mixed))


def test_only_rows_in_use_are_parameters(full):
    used = UsedRowsEmbedding(full, ROWS)
    assert [(n, tuple(p.shape)) for n, p in used.named_parameters()] == [("weight", (4, 4))]
    assert full.weight.data_ptr() not in {t.data_ptr() for t in used.state_dict().values()}


def test_merged_is_an_ordinary_table(full):
    merged = UsedRowsEmbedding(full, ROWS).merged()
    assert type(merged) is nn.Embedding and merged.padding_idx == full.padding_idx
    assert torch.equal(merged.weight, full.weight)
    assert merged.weight.requires_grad


def test_an_encoder_swaps_its_table_and_back(fresh_encoder, padded):
    encoder = fresh_encoder()
    ids, mask = padded(encoder)
    with torch.no_grad():
        before = encoder(ids, mask).states
        encoder.train_only(ids.flatten())
        assert isinstance(encoder.word_embeddings, UsedRowsEmbedding)
        assert len(encoder.word_embeddings.weight) == len(ids.unique())
        assert torch.equal(encoder(ids, mask).states, before)
        encoder.train_all()
        assert type(encoder.word_embeddings) is nn.Embedding
        assert torch.equal(encoder(ids, mask).states, before)
        encoder.train_all()
        assert torch.equal(encoder(ids, mask).states, before)
