"""Windows of like width are encoded together: which ones, and that nothing else changes."""

import pytest
import torch

from attending.parts import encoders
from attending.parts.attention import AttentionCall
from attending.parts.width_groups import FEWEST, width_groups
from attending.tensors import STEP, AttentionTrace

FAMILIES = ("bert", "roberta", "electra", "distilbert")
LENGTHS = (7, 40, 3, 40, 9, 40, 17)


def mask_of(lengths, width=None):
    return torch.arange(width or max(lengths))[None] < torch.tensor(lengths)[:, None]


def cells(groups):
    return sum(len(rows) * width for rows, width in groups)


@pytest.fixture
def eager(monkeypatch):
    """Groups that save anything at all."""
    monkeypatch.setattr("attending.parts.width_groups.FEWEST", 1)


def batch(encoder, lengths=LENGTHS):
    tokenizer = encoder.tokenizer
    mask = mask_of(lengths)
    random = torch.Generator().manual_seed(5)
    ids = torch.randint(5, len(tokenizer), mask.shape, generator=random)
    return ids.masked_fill(~mask, tokenizer.pad_token_id), mask


def test_every_row_is_in_one_group_that_holds_its_tokens():
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        lengths = torch.randint(1, 400, (24,), generator=random).tolist()
        mask = mask_of(lengths)
        groups = width_groups(mask)
        assert sorted(torch.cat([rows for rows, _ in groups]).tolist()) == list(range(24))
        assert all(lengths[row] <= width for rows, width in groups for row in rows)
        assert [w for _, w in groups] == sorted({w for _, w in groups}, reverse=True)
        assert all(w % STEP == 0 for _, w in groups[1:])
        assert cells(groups) <= mask.numel()
        assert len(groups) > 1


def test_short_last_windows_are_apart():
    groups = width_groups(mask_of([384, 90, 384, 120, 384, 384]))
    assert [(rows.tolist(), width) for rows, width in groups] == [
        ([0, 2, 4, 5], 384),
        ([3, 1], 120),
    ]


def test_the_widest_group_is_as_wide_as_the_batch():
    """Where all windows were padded beyond the longest, states still have the batch's shape."""
    assert width_groups(mask_of([300, 280, 20, 20], width=320))[0][1] == 320


@pytest.mark.parametrize("lengths", [(384,), (384, 384), (384, 380, 376), (8, 1)])
def test_no_groups_where_little_would_be_saved(lengths):
    assert width_groups(mask_of(lengths)) == []


def test_what_a_group_saves_is_enough():
    lengths = [400, *[400 - FEWEST + 1] * 1]
    assert width_groups(mask_of(lengths)) == []
    assert len(width_groups(mask_of([400, 400 - FEWEST - STEP]))) == 2


def test_tokens_that_do_not_come_first_stay_together():
    mask = mask_of([384, 40, 30])
    assert len(width_groups(mask)) == 2
    assert width_groups(mask.flip(1)) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_states_are_the_same(encoder_of, monkeypatch, eager, family):
    encoder = encoder_of(family)
    ids, mask = batch(encoder)
    assert len(width_groups(mask)) > 1
    with torch.no_grad():
        apart = encoder(ids, mask)
        monkeypatch.setattr(encoders, "width_groups", lambda mask: [])
        together = encoder(ids, mask)
    assert torch.equal(apart.mask, mask)
    assert apart.states.shape == together.states.shape
    torch.testing.assert_close(apart.states[mask], together.states[mask], atol=1e-5, rtol=0)
    assert not apart.states[~mask].isnan().any()


def test_gradients_are_the_same(fresh_encoder, monkeypatch, eager):
    found = []
    for _ in range(2):
        encoder = fresh_encoder()
        ids, mask = batch(encoder)
        encoder(ids, mask).states[mask].pow(2).sum().backward()
        found.append({n: p.grad for n, p in encoder.named_parameters()})
        monkeypatch.setattr(encoders, "width_groups", lambda mask: [])
    apart, together = found
    assert sum(g is not None for g in apart.values()) > 10
    for name, gradient in together.items():
        torch.testing.assert_close(apart[name], gradient, atol=1e-4, rtol=1e-4)


def test_words_are_looked_up_once(fresh_encoder, eager):
    """What watches the words' vectors, such as gradient evidence, sees those of the whole batch."""
    encoder = fresh_encoder()
    seen = []
    encoder.word_embeddings.register_forward_hook(lambda _, __, out: seen.append(out.shape[:2]))
    ids, mask = batch(encoder)
    encoder(ids, mask)
    assert seen == [ids.shape]


@pytest.mark.parametrize("labels", [False, True])
def test_what_attention_records_is_the_same(encoder_of, monkeypatch, eager, labels):
    encoder = encoder_of("bert")
    ids, mask = batch(encoder)
    random = torch.Generator().manual_seed(6)
    rows = torch.randn(3, encoder.width, generator=random) if labels else None
    bias = torch.randn(len(ids), 3, ids.shape[1], generator=random) if labels else None
    found = []
    for _ in range(2):
        call = AttentionCall(mask=mask, label_rows=rows, bias=bias, trace=AttentionTrace())
        with torch.no_grad():
            states = encoder(ids, mask, call).states
        found.append((states[mask], call.trace))
        monkeypatch.setattr(encoders, "width_groups", lambda mask: [])
    (apart, recorded), (together, expected) = found
    torch.testing.assert_close(apart, together, atol=1e-5, rtol=0)
    assert len(recorded.cls) == encoder.layers
    for kind in ("cls", "labels"):
        for one, other in zip(getattr(recorded, kind), getattr(expected, kind), strict=True):
            assert one.shape == other.shape
            torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


def test_gradients_of_what_attention_records(fresh_encoder, eager):
    encoder = fresh_encoder()
    ids, mask = batch(encoder)
    trace = AttentionTrace()
    states = encoder(ids, mask, AttentionCall(mask=mask, trace=trace)).states
    gradients = torch.autograd.grad(states[:, 0].sum(), trace.cls)
    assert all(g.shape == t.shape for g, t in zip(gradients, trace.cls, strict=True))


def test_a_recorded_graph_takes_any_number_and_width_in_one_way(fresh_encoder, eager):
    encoder = fresh_encoder()
    ids, mask = batch(encoder)
    axes = {0: torch.export.Dim("windows"), 1: torch.export.Dim("tokens", max=64)}
    recorded = torch.export.export(
        _States(encoder), (ids, mask), dynamic_shapes=(axes, axes), strict=False
    ).module()
    for rows, width in ((7, 40), (3, 17)):
        some, real = ids[-rows:, :width], mask[-rows:, :width]
        with torch.no_grad():
            expected, found = encoder(some, real).states, recorded(some, real)
        torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=0)


class _States(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, ids, mask):
        return self.encoder(ids, mask).states
