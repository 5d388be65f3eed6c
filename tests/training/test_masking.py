"""Passages of texts, and which of their words are hidden."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attending import registry
from attending.parts.encoders import build_pretrained
from attending.specs import PretrainedEncoder, Windows
from attending.specs.pretraining import Masking
from attending.training.masking import IGNORED, Masker, Passage, cut

LONG = "chest pain since yesterday, worse at night. please call me back today! " * 20


@pytest.fixture(scope="module")
def tools(make_tiny):
    """Return a function from a family to its tokenizer and windower."""

    def make(family, max_tokens=32):
        encoder = build_pretrained(PretrainedEncoder(name=str(make_tiny(family))))
        spec = Windows(max_tokens=max_tokens, overlap=0)
        windower = registry.build(spec, tokenizer=encoder.tokenizer, limit=64)
        return encoder.tokenizer, windower

    return make


def groups(text, passage, tokenizer):
    """Return the texts of the words of a passage."""
    words = {}
    for token, word in zip(passage.ids.tolist(), passage.words.tolist(), strict=True):
        words.setdefault(word, []).append(token)
    return [tokenizer.decode(ids).strip() for word, ids in sorted(words.items()) if word >= 0]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_long_text_is_read_once_to_its_end(family, tools):
    tokenizer, windower = tools(family)
    made = cut([LONG], windower, whole_words=False)
    whole = tokenizer(LONG, add_special_tokens=False)["input_ids"]
    read = [i for p in made.kept for i, w in zip(p.ids, p.words, strict=True) if w >= 0]
    assert read == whole
    assert made.tokens == len(whole)
    assert [p.number for p in made.kept] == list(range(len(made.kept)))


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_whole_words_are_words(family, tools):
    tokenizer, windower = tools(family)
    text = "headaches, stopped taking lisinopril."
    (passage,) = cut([text], windower, whole_words=True).kept
    assert groups(text, passage, tokenizer) == [
        "headaches", ",", "stopped", "taking", "lisinopril", ".",
    ]  # fmt: skip
    assert len(passage.ids) > 8, "else no word was of several tokens"


def test_special_and_unknown_tokens_are_never_hidden(tools):
    tokenizer, windower = tools("bert")
    (passage,) = cut(["chest 漢字 pain"], windower, whole_words=False).kept
    special = np.isin(passage.ids, tokenizer.all_special_ids)
    assert special.sum() >= 3
    assert ((passage.words < 0) == special).all()


def test_what_is_too_short_is_counted(tools):
    _, windower = tools("bert")
    made = cut(["pain", "漢字 漢字", "chest pain", " "], windower, whole_words=False, first=7)
    assert ([p.number for p in made.kept], made.too_short, made.tokens) == ([7], 2, 2)


def passage_of(length, number=0):
    ids = np.full(length + 2, 50, dtype=np.int32)
    ids[0], ids[-1] = 2, 3
    words = np.arange(-1, length + 1, dtype=np.int32)
    words[-1] = -1
    return Passage(number, ids, words)


def test_shares(tools):
    tokenizer, _ = tools("bert")
    masker = Masker(Masking(share=0.15), tokenizer, seed=0)
    passage = passage_of(200_000)
    ids, chosen = masker.hide(passage, 0)
    assert chosen.mean() == pytest.approx(0.15, abs=0.005)
    hidden = ids[chosen]
    assert (hidden == masker.mask).mean() == pytest.approx(0.8, abs=0.01)
    assert (hidden == 50).mean() == pytest.approx(0.1, abs=0.01)
    assert (ids[~chosen] == passage.ids[~chosen]).all()
    swapped = hidden[(hidden != masker.mask) & (hidden != 50)]
    assert not np.isin(swapped, tokenizer.all_special_ids).any()
    assert len(np.unique(swapped)) > 200


@given(length=st.integers(2, 40), number=st.integers(0, 10**6), epoch=st.integers(0, 50))
def test_something_is_always_hidden_and_always_the_same(tools, length, number, epoch):
    tokenizer, _ = tools("bert")
    masker = Masker(Masking(share=0.01), tokenizer, seed=3)
    ids, chosen = masker.hide(passage_of(length, number), epoch)
    again, same = Masker(Masking(share=0.01), tokenizer, seed=3).hide(
        passage_of(length, number), epoch
    )
    assert chosen.any()
    assert not chosen[0] and not chosen[-1]
    assert (ids == again).all() and (chosen == same).all()


def test_epochs_numbers_and_seeds_hide_other_words(tools):
    tokenizer, _ = tools("bert")
    first = Masker(Masking(), tokenizer, 0).hide(passage_of(500), 0)[1]
    for other in (
        Masker(Masking(), tokenizer, 0).hide(passage_of(500), 1)[1],
        Masker(Masking(), tokenizer, 0).hide(passage_of(500, 1), 0)[1],
        Masker(Masking(), tokenizer, 1).hide(passage_of(500), 0)[1],
    ):
        assert (first != other).any()


def test_batch_mates_change_nothing(tools):
    tokenizer, _ = tools("bert")
    masker = Masker(Masking(), tokenizer, 0)
    alone = masker([passage_of(6, 4)], 2)
    batch = masker([passage_of(9, 5), passage_of(6, 4)], 2)
    for name, value in alone.items():
        assert (batch[name][1, :8] == value[0]).all(), name
    assert (batch["input_ids"][1, 8:] == tokenizer.pad_token_id).all()
    assert not batch["attention_mask"][1, 8:].any()
    assert (batch["labels"][1, 8:] == IGNORED).all()
    assert (batch["chosen"] == (batch["labels"] != IGNORED)).all()


def test_all_pieces_of_a_word_are_hidden_together(tools):
    tokenizer, windower = tools("bert", 64)
    (passage,) = cut([LONG[:150]], windower, whole_words=True).kept
    assert len(np.unique(passage.words)) < len(passage.words) - 1
    for epoch in range(20):
        _, chosen = Masker(Masking(whole_words=True), tokenizer, 0).hide(passage, epoch)
        hidden = set(passage.words[chosen].tolist())
        assert (np.isin(passage.words, list(hidden)) == chosen).all()


def test_batches_have_few_widths(tools):
    tokenizer, _ = tools("bert")
    passages = [passage_of(7), passage_of(5, 1)]  # and a special token on both sides
    exact = Masker(Masking(), tokenizer, 0)(passages, 0)
    wide = Masker(Masking(), tokenizer, 0, limit=64)(passages, 0)
    assert exact["input_ids"].shape == (2, 9) and wide["input_ids"].shape == (2, 16)
    for key in exact:
        assert torch.equal(wide[key][:, :9], exact[key])
    assert not wide["attention_mask"][:, 9:].any() and not wide["chosen"][:, 9:].any()
