"""What labels' classifiers are drawn to by ``loss.description_pull``."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class ConvolvedDescriptions(Spec):
    """A convolution of its own over each label's description, as in DR-CAML."""

    slot: ClassVar[str] = "descriptions"
    kind: Literal["convolution"] = "convolution"
    text: Literal["description", "name", "both"] = Field(
        "description", description="what is read; a label without a description goes by its name"
    )
    synonyms: int = Field(0, ge=0, description="so many synonyms are read after it")
    max_tokens: int = Field(64, ge=1, description="tokens of a label's text")
    kernel: int = Field(10, ge=1, description="words that a filter sees at a time")
    filters: int = Field(50, ge=1, description="number of filters, before the linear map")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout on word vectors")
    unseen: bool = Field(
        True,
        description="a label that no training row has is scored by what its description says",
    )


class LabelStateDescriptions(Spec):
    """The label states themselves, for label states that are read from descriptions."""

    slot: ClassVar[str] = "descriptions"
    kind: Literal["label-states"] = "label-states"

    def needs(self) -> tuple[str, ...]:
        """There must be label states to be drawn to."""
        return ("label_states",)
