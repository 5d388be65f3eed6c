"""From pooled states to scores."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class LinearHead(Spec):
    """Dense and tanh (optional), dropout, one linear map to the labels."""

    slot: ClassVar[str] = "head"
    kind: Literal["linear"] = "linear"
    dense: bool = Field(True, description="a tanh layer first, from the encoder's pooler if any")
    dropout: float = Field(0.1, ge=0, lt=1, description="before the last linear map")
