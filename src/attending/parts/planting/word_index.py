"""Words under tokens: which known word each of an encoder's tokens is a piece of.

Relevance belongs to words; an encoder reads pieces of them. So that a piece gets its word's
relevance, words are found in the untouched text and tokens are laid over them by offsets.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attending.parts.words import (
    PAD_ID,
    UNKNOWN_ID,
    learn_tokenizer,
    read_tokenizer,
    vocabulary_of,
)

Offsets = Sequence[tuple[int, int]]


class WordIndex:
    """The words of training texts, by number: 0 is no word, 1 an unknown one.

    Args:
        tokenizer: A word-level tokenizer of ``attending.parts.words``.
    """

    def __init__(self, tokenizer: object) -> None:
        self.tokenizer = tokenizer
        self.words = vocabulary_of(tokenizer)

    @classmethod
    def learn(
        cls, texts: Iterable[str], min_count: int = 2, most: int = 100_000, more: Iterable[str] = ()
    ) -> "WordIndex":
        """Take the words that training texts hold ``min_count`` times, and those of ``more`` texts.

        Raises:
            EncoderError: If no word is that frequent.
        """
        learned = learn_tokenizer(texts, min_count=min_count, max_vocabulary=most)
        further = cls(learned)._unknown(more)
        if not further:
            return cls(learned)
        return cls(learn_tokenizer(texts, min_count=min_count, max_vocabulary=most, more=further))

    @classmethod
    def load(cls, folder: Path) -> "WordIndex":
        """Read what ``save`` wrote.

        Raises:
            EncoderError: If it is missing or of another kind.
        """
        return cls(read_tokenizer(folder))

    def save(self, folder: Path) -> None:
        """Write the words; their numbers are part of what a model learned."""
        self.tokenizer.save_pretrained(folder)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the known words of each text, in order."""
        coded: list[list[int]] = self._coded(texts, offsets=False)["input_ids"]
        return [[i for i in own if i > UNKNOWN_ID] for own in coded]

    def under(self, texts: Sequence[str], tokens: Sequence[Offsets]) -> list[tuple[int, ...]]:
        """Return the word under each token, given the tokens' offsets in each text.

        A token that spans several words gets the first of them, one between words gets 0.
        """
        coded = self._coded(texts, offsets=True)
        found = []
        for ids, spans, own in zip(
            coded["input_ids"], coded["offset_mapping"], tokens, strict=True
        ):
            found.append(_laid_over(ids, spans, own))
        return found

    def _coded(self, texts: Sequence[str], offsets: bool) -> dict[str, Any]:
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        coded: dict[str, Any] = self.tokenizer(  # type: ignore[operator]
            [t.encode("utf-8", "replace").decode("utf-8") for t in texts],
            add_special_tokens=False,
            return_offsets_mapping=offsets,
            return_attention_mask=False,
            split_special_tokens=True,
            verbose=False,
        )
        return coded

    def _unknown(self, texts: Iterable[str]) -> list[str]:
        core = self.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
        known = set(self.words)
        found: dict[str, None] = {}
        for text in texts:
            plain = core.normalizer.normalize_str(text.encode("utf-8", "replace").decode("utf-8"))
            for word, _ in core.pre_tokenizer.pre_tokenize_str(plain):
                if word not in known:
                    found[word] = None
        return list(found)


def _laid_over(
    ids: Sequence[int], spans: Sequence[Sequence[int]], tokens: Offsets
) -> tuple[int, ...]:
    if not len(tokens):
        return ()
    if not len(ids):
        return (PAD_ID,) * len(tokens)
    words = np.asarray(spans, dtype=np.int64)
    starts = np.asarray([s for s, _ in tokens])
    ends = np.asarray([e for _, e in tokens])
    at = np.searchsorted(words[:, 1], starts, side="right")
    inside = (at < len(words)) & (words[np.minimum(at, len(words) - 1), 0] < ends)
    found = np.where(inside, np.asarray(ids)[np.minimum(at, len(words) - 1)], PAD_ID)
    return tuple(found.tolist())
