"""How words are written: capitals and digits, which an uncased tokenizer folds away.

"ALL", "all", "mRNA" and "Mg" are other things in clinical text, and one word to an uncased encoder.
Every piece gets the shape of the word that it is of, as a learned vector on top of its word vector.
The vectors start at zero, so that training starts from the encoder as it was pretrained.

Source: word shapes as features of taggers (Collobert et al. 2011, section 6.1, "capitalization
feature"); here they enter below a pretrained encoder, so that all its layers can use them.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.encoders import AnyEncoder, Encoder
from attending.specs import Capitals

SHAPES = ("", "other", "digits", "lower", "Capital", "CAPITALS", "C", "mIxed")
"""The shapes; the first is that of special tokens and of padding."""
_OTHER, _DIGITS, _LOWER, _CAPITAL, _CAPITALS, _LETTER, _MIXED = range(1, len(SHAPES))
Offsets = Sequence[tuple[int, int]]
_RUN = re.compile(r"[^\W_]+")


def shape_of(word: str) -> int:
    """Return the number of a word's shape, from its letters alone if it has any."""
    letters = [c for c in word if c.isalpha()]
    if not letters:
        return _DIGITS if any(c.isdigit() for c in word) else _OTHER
    large = [c.isupper() or c.istitle() for c in letters]
    if not any(large):
        return _LOWER
    if len(letters) == 1:
        return _LETTER
    if all(large):
        return _CAPITALS
    return _CAPITAL if large[0] and not any(large[1:]) else _MIXED


def shapes_under(text: str, offsets: Offsets) -> tuple[int, ...]:
    """Return the shape of the run of letters and digits that each piece starts in."""
    runs = bytearray([_OTHER]) * len(text)
    for found in _RUN.finditer(text):
        start, end = found.span()
        runs[start:end] = bytes([shape_of(found.group())]) * (end - start)
    return tuple(runs[start] if start < end else _OTHER for start, end in offsets)


def is_uncased(tokenizer: Any) -> bool:
    """Say whether a tokenizer takes a capital for its small letter."""
    some, same = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("A b C", "a B c")
    )
    return bool(some == same)


class ShapeIndex:
    """Numbers the shapes under pieces, for a windower."""

    def under(self, texts: Sequence[str], tokens: Sequence[Offsets]) -> list[tuple[int, ...]]:
        """Return the shape under each piece, given the pieces' offsets in each text."""
        return [shapes_under(t, own) for t, own in zip(texts, tokens, strict=True)]


class AddedShapes(nn.Module):
    """Word vectors with the vectors of shapes on top.

    Args:
        width: E of word vectors.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(len(SHAPES), width)
        nn.init.zeros_(self.vectors.weight)

    def forward(self, words: Tensor, shapes: Tensor) -> Tensor:
        """Add to word vectors (W, T, E) those of shapes (W, T)."""
        found: Tensor = words + self.vectors(shapes).to(words.dtype)
        return found


def build_capitals(spec: Capitals, *, encoder: AnyEncoder, **_: object) -> AddedShapes | None:
    """Build the vectors of shapes for an encoder; ``None`` where it is to go without.

    Raises:
        RecipeError: If the encoder is not a pretrained one, which alone takes word vectors.
    """
    if spec.when == "never":
        return None
    if not isinstance(encoder, Encoder):
        raise RecipeError(
            f'surface "{spec.kind}" needs a pretrained encoder',
            found=encoder.name,
            step="Leave the surface out, or take another encoder.",
        )
    if spec.when == "uncased" and not is_uncased(encoder.tokenizer):
        return None
    with torch.no_grad():
        width = encoder.word_embeddings(torch.zeros(1, 1, dtype=torch.int64)).shape[-1]
    return AddedShapes(width)
