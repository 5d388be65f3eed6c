"""Texts as passages with hidden words, for masked language modelling.

transformers has a collator for this; it is not used for two reasons. It draws from one stream of
random numbers as batches are made, and batches are made ahead of the steps, so that a resumed run
would hide other words than the uninterrupted one. And its whole words are runs of tokens whose
offsets touch: a word with its full stop, or with a byte-level tokenizer the whole text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attending.data.batches import rounded
from attending.data.windows import Offsets, Windower
from attending.specs.pretraining import Masking

IGNORED = -100
"""Target of a token that is not to be guessed."""
FEWEST_WORDS = 2
_MASKED, _SWAPPED = 0.8, 0.1
_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Passage:
    """One window of a text.

    ids: (T,) int32 token ids, special ones included.
    words: (T,) int32, the number of the word that a token is of; -1: never hidden (special and
    unknown tokens).
    """

    number: int
    ids: NDArray[np.int32]
    words: NDArray[np.int32]

    @property
    def length(self) -> int:
        """Tokens, special ones included."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of some texts; ``tokens`` in all of them, and how many were ``too_short``."""

    kept: tuple[Passage, ...]
    tokens: int
    too_short: int


def cut(texts: Sequence[str], windower: Windower, *, whole_words: bool, first: int = 0) -> Passages:
    """Cut texts into passages, numbered from ``first``.

    A passage with fewer than two words that could be hidden is left out: nothing in it says what
    the hidden one is. Special tokens of the tokenizer are not counted in ``tokens``.
    """
    special = np.asarray(windower.tokenizer.all_special_ids, dtype=np.int32)
    kept: list[Passage] = []
    tokens = too_short = 0
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        for text, windowed in zip(part, windower(part), strict=True):
            numbers = _word_numbers(text, windowed.offsets, whole_words)
            for window in windowed.windows:
                ids = np.asarray(window.ids, dtype=np.int32)
                words = np.full(len(ids), -1, dtype=np.int32)
                inside = slice(window.before, window.before + window.tokens)
                words[inside] = numbers[window.first : window.first + window.tokens]
                words[np.isin(ids, special)] = -1
                if len(np.unique(words[words >= 0])) < FEWEST_WORDS:
                    too_short += 1
                    continue
                kept.append(Passage(first + len(kept), ids, words))
                tokens += window.tokens
    return Passages(tuple(kept), tokens, too_short)


def _word_numbers(text: str, offsets: Offsets, whole_words: bool) -> NDArray[np.int32]:
    """Return the number of each token's word.

    A token goes on with a word where letters or digits stand on both sides of its start and no
    character lies between it and the token before.
    """
    if not whole_words:
        return np.arange(len(offsets), dtype=np.int32)
    begins = np.ones(len(offsets), dtype=np.int32)
    for i in range(1, len(offsets)):
        start = offsets[i][0]
        inside = 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum()
        if inside and start <= offsets[i - 1][1]:
            begins[i] = 0
    return np.cumsum(begins, dtype=np.int32) - 1


class Masker:
    """Hides words of passages and says what they were.

    What is hidden depends on seed, epoch and the passage's number alone, not on batch mates or on
    what was drawn before. At least one word of each passage is hidden.
    Source: Devlin et al. 2019, section 3.1 (15 %; of these 80 % [MASK], 10 % another token, 10 %
    as they are). Deviation: the other token is never a special one.

    Args:
        spec: How many, and whether whole words.
        tokenizer: Knows the mask, the padding and the ordinary tokens.
        seed: With epoch and number, decides what is hidden.
        limit: The longest that a passage can be; 0 where nothing says.
    """

    def __init__(self, spec: Masking, tokenizer: Any, seed: int, limit: int = 0) -> None:
        self.share, self.seed, self.limit = spec.share, seed, limit
        self.mask, self.pad = int(tokenizer.mask_token_id), int(tokenizer.pad_token_id)
        known = np.arange(len(tokenizer), dtype=np.int32)
        self.ordinary = known[~np.isin(known, tokenizer.all_special_ids)]

    def __call__(self, passages: Sequence[Passage], epoch: int) -> dict[str, Tensor]:
        """Make a batch of P passages, padded to the longest, ``rounded`` where there is a limit.

        Returns input_ids (P, T) int64; attention_mask (P, T) bool; labels (P, T) int64, what
        hidden tokens were and ``IGNORED`` elsewhere; chosen (P, T) bool, true on hidden tokens.
        """
        drawn = [self.hide(p, epoch) for p in passages]
        shape = len(passages), rounded(max(p.length for p in passages), self.limit)
        ids = torch.full(shape, self.pad)
        labels = torch.full(shape, IGNORED)
        mask = torch.zeros(shape, dtype=torch.bool)
        for row, (passage, (hidden, chosen)) in enumerate(zip(passages, drawn, strict=True)):
            ids[row, : passage.length] = torch.from_numpy(hidden)
            labels[row, : passage.length] = torch.from_numpy(np.where(chosen, passage.ids, IGNORED))
            mask[row, : passage.length] = True
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": labels,
            "chosen": labels != IGNORED,
        }

    def hide(self, passage: Passage, epoch: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return a passage's ids (T,) with some hidden, and which tokens these are, (T,) bool."""
        random = np.random.default_rng([self.seed, epoch, passage.number])
        words = np.unique(passage.words[passage.words >= 0])
        hidden = words[random.random(len(words)) < self.share]
        if not len(hidden):
            hidden = random.choice(words, 1)
        chosen = np.isin(passage.words, hidden)
        fate = random.random(passage.length)
        ids = passage.ids.copy()
        ids[chosen & (fate < _MASKED)] = self.mask
        swapped = chosen & (fate >= _MASKED) & (fate < _MASKED + _SWAPPED)
        ids[swapped] = random.choice(self.ordinary, int(swapped.sum()))
        return ids, chosen
