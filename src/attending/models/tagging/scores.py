"""Scores of words, and what gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attending.data.tagging.words import Words
from attending.parts.tagging.chains import Chain
from attending.records import Coverage


@dataclass(frozen=True, slots=True)
class WordScores:
    """Raw scores of one text's words.

    numbers (n,): which words were scored, in text order; logits (n, K, C) of them. Words that lie
    behind what was read, or of which a tokenizer leaves nothing, have none. ``status`` is ``ok``
    or says why nothing was scored; then both are empty.
    """

    numbers: NDArray[np.int64]
    logits: NDArray[np.float64]
    read: Coverage
    status: str = "ok"
    reason: str | None = None


class Scorer(Protocol):
    """What a tagger is made of besides its decision: scores of words.

    Attributes:
        chain: What it has learned of sequences of tags, or ``None``.
    """

    @property
    def chain(self) -> Chain | None:
        """What it has learned of sequences of tags, or ``None``."""
        ...

    def score(self, texts: Sequence[str], words: Sequence[Words]) -> list[WordScores]:
        """Return the scores of the words of each text."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights and what is needed to use them."""
        ...
