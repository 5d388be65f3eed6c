"""How token states become what the head reads."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class ClsPooling(Spec):
    """The state of the first token."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["cls"] = "cls"


class MeanPooling(Spec):
    """The mean over real tokens."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["mean"] = "mean"


class LesaAttention(Spec):
    """Label rows inside self-attention: [CLS] takes the maximum over its own and label scores."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["lesa"] = "lesa"
    layers: Literal["all"] | Annotated[tuple[int, ...], Field(min_length=1)] = Field(
        "all", description="layers that see the labels: all, or positions (0 first, -1 last)"
    )
    labels: Literal["static", "inserted"] = Field(
        "static",
        description="static: the same queries in every layer (paper); inserted: label tokens "
        "that every layer transforms (the published runs)",
    )

    def needs(self) -> tuple[str, ...]:
        """Labels attend as vectors."""
        return ("label_states",)
