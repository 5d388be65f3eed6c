"""Plain poolings."""

import pytest
import torch

from attending import registry
from attending.errors import RecipeError
from attending.parts.pooling import build_cls, build_last, build_max, build_mean
from attending.specs import (
    BiGruEncoder,
    ClsPooling,
    CnnEncoder,
    LastPooling,
    MaxPooling,
    MeanPooling,
)
from attending.tensors import AttentionTrace

POOLINGS = {
    "cls": build_cls(ClsPooling()),
    "mean": build_mean(MeanPooling()),
    "max": build_max(MaxPooling()),
}
TEXTS = ("no fever, no cough", "fever", "cough since yesterday, and fever since today")


def light(spec):
    return registry.build(spec, texts=TEXTS, seed=1).eval()


def coded(encoder):
    found = encoder.tokenizer(list(TEXTS), padding=True, return_tensors="pt")
    return found["input_ids"], found["attention_mask"].bool()


@pytest.mark.parametrize("kind", POOLINGS)
def test_pools_real_tokens_only(kind, encoder, padded):
    ids, mask = padded(encoder)
    part = POOLINGS[kind]
    assert part.reads_cls == (kind == "cls")
    with torch.no_grad():
        found = part(encoder, ids, mask).context
        for row, (one, real) in enumerate(zip(ids, mask, strict=True)):
            states = encoder(one[real][None], real[real][None]).states[0]
            whole = {"cls": states[0], "mean": states.mean(dim=0), "max": states.amax(dim=0)}
            torch.testing.assert_close(found[row], whole[kind], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", POOLINGS)
def test_recording_changes_nothing(kind, encoder, padded):
    ids, mask = padded(encoder)
    trace = AttentionTrace()
    with torch.no_grad():
        watched = POOLINGS[kind](encoder, ids, mask, None, trace).context
        plain = POOLINGS[kind](encoder, ids, mask).context
    torch.testing.assert_close(watched, plain, atol=1e-6, rtol=0)
    assert len(trace.cls) == encoder.layers
    assert all(x.shape[2] == 0 for x in trace.labels)


def test_the_maximum_may_be_negative_and_is_zero_without_tokens():
    pool = POOLINGS["max"].pool
    states = -torch.rand(2, 3, 4) - 1
    mask = torch.tensor([[True, True, False], [False, False, False]])
    found = pool(states, mask)
    torch.testing.assert_close(found[0], states[0, :2].amax(dim=0))
    assert not found[1].any()


def test_last_states_are_those_of_the_library():
    encoder = light(BiGruEncoder(dimension=4, hidden=3, min_count=1))
    ids, mask = coded(encoder)
    part = build_last(LastPooling(), encoder=encoder)
    assert (part.reads, POOLINGS["max"].reads) == ("ends", "states")
    with torch.no_grad():
        found = part(encoder, ids, mask).context
        for row, (one, real) in enumerate(zip(ids, mask, strict=True)):
            vectors = encoder.embeddings(one[real])[None]
            _, onward = encoder.body.ahead[0](vectors)
            _, back = encoder.body.back[0](vectors.flip(1))
            expected = torch.cat([onward[0, 0], back[0, 0]])
            torch.testing.assert_close(found[row], expected, atol=1e-6, rtol=0)


def test_poolings_that_an_encoder_cannot_give_are_refused():
    encoder = light(CnnEncoder(dimension=4, min_count=1))
    with pytest.raises(RecipeError, match=r'encoder cnn.*"last".*not recurrent.*bigru'):
        build_last(LastPooling(), encoder=encoder)
    with pytest.raises(RecipeError, match=r'encoder cnn.*"cls".*no \[CLS\]'):
        build_cls(ClsPooling(), encoder=encoder)


def test_cls_fits_every_pretrained_family(encoder_of):
    for family in ("bert", "roberta", "electra", "distilbert"):
        assert build_cls(ClsPooling(), encoder=encoder_of(family)).reads_cls
