"""From pooled states to scores."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class _Head(Spec):
    """What heads with biases have in common; fills no slot by itself."""

    biases: Literal["prior", "zero"] = Field(
        "prior",
        description="where documents have any number of labels, prior: biases start at the log "
        "odds of the label's share of training rows, unless a lexical view is heard first; zero, "
        "as published: every label starts at one half",
    )


class LinearHead(_Head):
    """Dense and tanh (optional), dropout, one linear map to the labels."""

    slot: ClassVar[str] = "head"
    kind: Literal["linear"] = "linear"
    dense: bool = Field(True, description="a tanh layer first, from the encoder's pooler if any")
    dropout: float = Field(0.1, ge=0, lt=1, description="before the last linear map")


class PerLabelHead(_Head):
    """Each label's own weights, dot product with its own context (CAML, LAAT)."""

    slot: ClassVar[str] = "head"
    kind: Literal["per-label"] = "per-label"
    dropout: float = Field(0.0, ge=0, lt=1, description="on the contexts")
    spread: float | None = Field(
        None, gt=0, description="standard deviation of the starting weights; unset: Xavier's"
    )


class SharedHead(_Head):
    """One linear map of the context for all labels: scores labels that no row trained."""

    slot: ClassVar[str] = "head"
    kind: Literal["shared"] = "shared"
    dropout: float = Field(0.1, ge=0, lt=1, description="on the contexts")


class LameHead(_Head):
    """Two tanh layers shared by all labels, then one vector per label (LAME)."""

    slot: ClassVar[str] = "head"
    kind: Literal["lame"] = "lame"
    shared: bool = Field(
        False, description="one vector for all labels, so that untrained labels can be scored"
    )
    dropout: float = Field(
        0.1, ge=0, lt=1, description="between the layers; the public code has 0.5"
    )


class MatchHead(_Head):
    """Dot product of a label's context and its vector: scores labels that no row trained."""

    slot: ClassVar[str] = "head"
    kind: Literal["match"] = "match"
    scale: Literal["none", "sqrt"] = Field(
        "sqrt", description="sqrt: products are divided by the root of the width"
    )
    map: Literal["linear", "none"] = Field(
        "linear", description="linear: contexts go through one learned map for all labels first"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="on the contexts")

    def needs(self) -> tuple[str, ...]:
        """It reads the label vectors."""
        return ("label_states",)


class CosineHead(_Head):
    """How like its label a context is, beside each label's own weights: starts from the meaning."""

    slot: ClassVar[str] = "head"
    kind: Literal["cosine"] = "cosine"
    temperature: float = Field(
        0.1, gt=0, description="what cosines are divided by where training starts; it is learned"
    )
    vectors: bool = Field(
        True, description="each label also weighs its context by a vector of its own, 0 at first"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="on the contexts that the vectors meet")

    def needs(self) -> tuple[str, ...]:
        """It reads the label vectors."""
        return ("label_states",)


class IdentityHead(Spec):
    """The context is the score: for label attention that scores by itself."""

    slot: ClassVar[str] = "head"
    kind: Literal["identity"] = "identity"
