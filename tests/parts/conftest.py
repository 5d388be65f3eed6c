"""Encoders of every family, ready to use, and a padded batch of token ids."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attending.parts.encoders import Encoder, build_pretrained
from attending.specs import PretrainedEncoder

LENGTHS = (11, 4, 7)


@pytest.fixture(scope="session")
def encoder_of(make_tiny: Callable[[str], Path]) -> Callable[[str], Encoder]:
    """Return a function that builds (once) a family's tiny encoder, in evaluation mode."""
    built: dict[str, Encoder] = {}

    def build(family: str) -> Encoder:
        if family not in built:
            spec = PretrainedEncoder(name=str(make_tiny(family)))
            built[family] = build_pretrained(spec).eval()
        return built[family]

    return build


@pytest.fixture(scope="session")
def encoder(encoder_of: Callable[[str], Encoder]) -> Encoder:
    """Return the tiny BERT, for read-only use."""
    return encoder_of("bert")


@pytest.fixture(scope="session")
def fresh_encoder(tiny_encoder: Path) -> Callable[..., Encoder]:
    """Return a function that builds a tiny BERT of its own for a test that changes it."""

    def build(**settings: object) -> Encoder:
        return build_pretrained(PretrainedEncoder(name=str(tiny_encoder), **settings)).eval()

    return build


@pytest.fixture(scope="session")
def padded() -> Callable[[Encoder], tuple[torch.Tensor, torch.Tensor]]:
    """Return a function that makes ids and mask, (3, 11), of sequences of 11, 4 and 7 tokens."""

    def make(encoder: Encoder) -> tuple[torch.Tensor, torch.Tensor]:
        tokenizer = encoder.tokenizer
        random = torch.Generator().manual_seed(3)
        ids = torch.full((len(LENGTHS), max(LENGTHS)), tokenizer.pad_token_id)
        mask = torch.zeros(ids.shape, dtype=torch.bool)
        for row, length in enumerate(LENGTHS):
            ids[row, :length] = torch.randint(5, len(tokenizer), (length,), generator=random)
            ids[row, 0], ids[row, length - 1] = tokenizer.cls_token_id, tokenizer.sep_token_id
            mask[row, :length] = True
        return ids, mask

    return make
