"""A frozen encoder reads each window once: what is kept, what is not, and that nothing changes."""

import pytest
import torch

from attending.parts.remembered import RememberedStates


def windows(*lengths, seed=0):
    random = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return torch.randint(5, 90, mask.shape, generator=random).masked_fill(~mask, 0), mask


class Counting:
    """Encodes a token as its id, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, ids, mask):
        assert ids.shape == mask.shape and len(ids) == 1
        self.asked.append(tuple(ids[0, : int(mask.sum())].tolist()))
        return (ids * mask).unsqueeze(-1).expand(-1, -1, 3).float()


def test_each_distinct_window_is_encoded_once():
    encode = Counting()
    remembered = RememberedStates(encode)
    ids, mask = windows(9, 4, 9, 6)
    ids[2] = ids[0]
    first = remembered(ids, mask)
    again = remembered(ids[[3, 0, 1]], mask[[3, 0, 1]])
    assert remembered.encoded == len(encode.asked) == len(set(encode.asked)) == 3
    assert torch.equal(first[..., 0], (ids * mask).float())
    assert torch.equal(again, first[[3, 0, 1]])


def test_windows_of_which_one_begins_like_the_other_are_apart():
    encode = Counting()
    remembered = RememberedStates(encode)
    ids, _ = windows(9, 9)
    ids[1] = ids[0]
    mask = torch.arange(9)[None] < torch.tensor([[9], [5]])
    assert torch.equal(remembered(ids, mask)[..., 0], (ids * mask).float())
    assert remembered.encoded == 2


def test_no_more_is_kept_than_may_be():
    encode = Counting()
    remembered = RememberedStates(encode, most=9 * 3 * 4)
    ids, mask = windows(9, 9)
    found = [remembered(ids, mask) for _ in range(2)]
    assert remembered.size == 9 * 3 * 4
    assert remembered.encoded == 3
    assert torch.equal(*found)


def test_precisions_are_apart():
    remembered = RememberedStates(Counting())
    ids, mask = windows(5)
    remembered(ids, mask)
    with torch.autocast("cpu", torch.bfloat16):
        remembered(ids, mask)
    assert remembered.encoded == 2


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
def test_a_frozen_encoder_s_states_are_the_same(make_tiny, family):
    from attending.parts.encoders import build_pretrained
    from attending.specs import PretrainedEncoder

    encoder = build_pretrained(PretrainedEncoder(name=str(make_tiny(family)), frozen=True)).train()
    ids, mask = windows(30, 7, 19)
    ids = ids.masked_fill(~mask, encoder.tokenizer.pad_token_id)
    expected = encoder(ids, mask).states
    with encoder.remembering():
        found = [encoder(ids, mask).states, encoder(ids[[1]], mask[[1]]).states]
        assert encoder._memory.encoded == 3
    assert not encoder.remembers
    torch.testing.assert_close(found[0][mask], expected[mask], atol=1e-5, rtol=0)
    assert torch.equal(found[1][mask[[1]]], found[0][[1]][mask[[1]]])
    assert not found[0].requires_grad


def test_a_frozen_encoder_stays_in_evaluation_mode(fresh_encoder):
    frozen, trained = fresh_encoder(frozen=True), fresh_encoder()
    for encoder in (frozen, trained):
        torch.nn.Sequential(encoder).train()
    assert not any(m.training for m in frozen.modules())
    assert all(m.training for m in trained.modules())
    assert not any(p.requires_grad for p in frozen.parameters())


def test_an_encoder_that_is_trained_remembers_nothing(fresh_encoder):
    encoder = fresh_encoder()
    with encoder.remembering():
        assert not encoder.remembers
