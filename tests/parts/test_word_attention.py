"""Attention of one query over words, against sums written out."""

import pytest
import torch
from pydantic import ValidationError

from attending import registry
from attending.errors import RecipeError
from attending.parts.word_attention import build_word_attention
from attending.specs import BiGruEncoder, BiLstmEncoder, CnnEncoder, WordAttentionPooling
from attending.tensors import AttentionTrace

TEXTS = ("no fever, no cough", "fever", "cough since yesterday, and fever since today")


def light(spec):
    return registry.build(spec, texts=TEXTS, seed=1).eval()


def coded(encoder):
    found = encoder.tokenizer(list(TEXTS), padding=True, return_tensors="pt")
    return found["input_ids"], found["attention_mask"].bool()


def slow(part, query, states):
    """Weights and sum of one text's states (T, H), number by number."""
    if query == "learned":
        scores = [part.query(torch.tanh(part.map(h))).squeeze() for h in states]
    else:
        half = states.shape[1] // 2
        last = torch.cat([states[-1, :half], states[0, half:]])
        scores = [(h * last).sum() for h in states]
    sizes = [score.exp() for score in scores]
    return sum(size / sum(sizes) * h for size, h in zip(sizes, states, strict=True))


@pytest.mark.parametrize("query", ["learned", "last"])
@pytest.mark.parametrize("spec", [BiLstmEncoder(hidden=6), BiGruEncoder(hidden=4)])
def test_equals_a_slow_reference_and_padding_counts_nothing(query, spec):
    encoder = light(spec)
    part = build_word_attention(WordAttentionPooling(query=query), encoder=encoder)
    ids, mask = coded(encoder)
    with torch.no_grad():
        found = part(encoder, ids, mask).context
        for row, (one, real) in enumerate(zip(ids, mask, strict=True)):
            states = encoder(one[real][None], real[real][None]).states[0]
            torch.testing.assert_close(found[row], slow(part, query, states), atol=1e-5, rtol=0)


def test_the_weights_can_be_recorded():
    encoder = light(BiLstmEncoder(hidden=6))
    part = build_word_attention(WordAttentionPooling(size=3), encoder=encoder)
    assert part.query.weight.shape == (1, 3)
    ids, mask = coded(encoder)
    trace = AttentionTrace()
    watched = part(encoder, ids, mask, None, trace).context
    assert torch.equal(watched, part(encoder, ids, mask).context)
    (weights,) = trace.cls
    assert weights.shape == (3, 1, ids.shape[1])
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 1))
    assert not weights[:, 0][~mask].any()


def test_the_last_states_need_an_encoder_that_has_them():
    with pytest.raises(RecipeError, match=r'query = "last".*not recurrent'):
        build_word_attention(WordAttentionPooling(query="last"), encoder=light(CnnEncoder()))
    with pytest.raises(ValidationError, match="as wide as the encoder"):
        WordAttentionPooling(query="last", size=3)
