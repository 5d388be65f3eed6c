"""Encoders."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class PretrainedEncoder(Spec):
    """A pretrained transformer of the BERT, RoBERTa, XLM-R, ELECTRA or DistilBERT family."""

    slot: ClassVar[str] = "encoder"
    kind: Literal["pretrained"] = "pretrained"
    name: str = Field("minilm", description="minilm (bundled), a folder, or a hub id")
    layers: int | None = Field(None, ge=1, description="keep only the first k layers")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="hidden dropout; unset: as the encoder was pretrained"
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="off by default: it forces the slow, unfused attention"
    )
    word_embeddings: Literal["trained", "frozen"] = Field(
        "trained", description="trained: only rows that occur in training rows need updating"
    )
