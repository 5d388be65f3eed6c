"""Changed copies of a text, for a teacher to answer: nobody knows what label they have."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attending.records import Document

_WORD = re.compile(r"\S+\s*")
_DROPPED, _DROPPED_OF_PART, _DROPPED_OF_TWO = 0.15, 0.1, 0.05
_LEAST_PART = 0.3
_FEWEST_WORDS = 3


def altered(documents: Sequence[Document], copies: int, seed: int) -> tuple[Document, ...]:
    """Return so many changed copies of each document, without labels and spans, in turns.

    Each copy is, with equal chances, the text with some words left out; a part of it, of 30 % to
    all of its words, with some left out; or parts of it and of another document one after the
    other. White space stays as it was. Copy c of document i depends on the documents, ``seed``, c
    and i alone.

    Source: data augmentation for distillation, Tang et al. 2019, arXiv:1903.12136, section 3.2
    (words masked, n-grams drawn). Deviations: words are left out rather than masked, parts are
    longer, and parts of two texts are joined, so that some copies lie between labels.
    """
    made = []
    for copy in range(copies):
        for i, document in enumerate(documents):
            draw = np.random.default_rng([seed, copy, i])
            further = int(draw.integers(max(1, len(documents) - 1))) + 1  # another one if there is
            other = documents[(i + further) % len(documents)].text
            text = _changed(document.text, other, draw)
            made.append(
                replace(document, id=f"{document.id}~{copy + 1}", text=text, labels=None, spans=())
            )
    return tuple(made)


def _changed(text: str, other: str, draw: np.random.Generator) -> str:
    words, kind = _WORD.findall(text), int(draw.integers(3))
    if kind == 0:
        return "".join(_without(words, _DROPPED, draw))
    part = _part(words, draw)
    if kind == 1:
        return "".join(_without(part, _DROPPED_OF_PART, draw))
    two = [part, _part(_WORD.findall(other), draw)]
    if draw.random() < 0.5:
        two.reverse()
    first, second = ("".join(_without(words, _DROPPED_OF_TWO, draw)) for words in two)
    gap = "" if first[-1:].isspace() else " "
    return f"{first}{gap}{second}"


def _part(words: Sequence[str], draw: np.random.Generator) -> list[str]:
    """Return neighbouring words."""
    size = max(_FEWEST_WORDS, int(len(words) * draw.uniform(_LEAST_PART, 1)))
    start = int(draw.integers(max(1, len(words) - size + 1)))
    return list(words[start : start + size])


def _without(words: Sequence[str], share: float, draw: np.random.Generator) -> list[str]:
    """Leave words out, but never all of them."""
    kept = [w for w, chance in zip(words, draw.random(len(words)), strict=True) if chance >= share]
    return kept or list(words)
