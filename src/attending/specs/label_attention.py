"""How token states become what the head reads."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from attending.specs.base import Spec


class ClsPooling(Spec):
    """The state of the first token."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["cls"] = "cls"


class MeanPooling(Spec):
    """The mean over real tokens."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["mean"] = "mean"


class MaxPooling(Spec):
    """The maximum over real tokens, number by number; after convolutions it is TextCNN."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["max"] = "max"


class LastPooling(Spec):
    """The last states of both directions of a recurrent encoder, concatenated."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["last"] = "last"


class WordAttentionPooling(Spec):
    """A sum of token states, weighted by how well they fit one query; after an LSTM, Yang's."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["word-attention"] = "word-attention"
    query: Literal["learned", "last"] = Field(
        "learned",
        description="learned: a trained context vector (Yang); last: the last states of both "
        "directions of a recurrent encoder (public code of LESA-BERT)",
    )
    size: int | None = Field(
        None, ge=1, description="width of the learned query; unset: the encoder's"
    )

    @field_validator("size")
    @classmethod
    def _only_of_a_learned_query(cls, size: int | None, info: ValidationInfo) -> int | None:
        if size is not None and info.data.get("query") == "last":
            raise ValueError('query = "last" is as wide as the encoder')
        return size


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


class LabelWiseAttention(Spec):
    """Base of attention in which every label pools the text for itself."""

    slot: ClassVar[str] = "label_attention"

    def needs(self) -> tuple[str, ...]:
        """Labels attend as vectors, or token by token."""
        return ("label_states",)


class SoftmaxAttention(LabelWiseAttention):
    """Each label's dot products with the tokens, softmax, weighted sum of the tokens (CAML)."""

    kind: Literal["softmax"] = "softmax"
    scale: Literal["none", "sqrt"] = Field(
        "none", description="sqrt: products are divided by the root of the width"
    )


class ProjectedAttention(LabelWiseAttention):
    """Label vectors meet a tanh projection of the tokens (LAAT, PLM-ICD)."""

    kind: Literal["projected"] = "projected"
    size: int | None = Field(
        None, ge=1, description="width of the projection and of label vectors; unset: the encoder's"
    )
    scale: Literal["none", "sqrt"] = Field(
        "none", description="sqrt: products are divided by the root of the size"
    )


class CosineAttention(LabelWiseAttention):
    """Softmax over each label's cosines with the tokens: what it means is where it looks (LEAM)."""

    kind: Literal["cosine"] = "cosine"
    temperature: float = Field(
        0.05, gt=0, description="what cosines are divided by; the smaller, the fewer tokens count"
    )


class JointAttention(LabelWiseAttention):
    """Projected attention of groups of labels first; what they find is told to every label."""

    kind: Literal["joint"] = "joint"
    size: int | None = Field(
        None, ge=1, description="width of the projection and of label vectors; unset: the encoder's"
    )
    scale: Literal["none", "sqrt"] = Field(
        "none", description="sqrt: products are divided by the root of the size"
    )
    appended: int = Field(128, ge=1, description="width of what the groups add to each context")
    prefix: int = Field(
        3, ge=1, description="characters of an id that name its group, for labels without a parent"
    )


class CrossAttention(LabelWiseAttention):
    """Multi-head attention from labels to tokens, residual, feed-forward (LAME)."""

    kind: Literal["cross"] = "cross"
    heads: int = Field(12, ge=1, description="attention heads; they must divide the width")
    blocks: int = Field(1, ge=1, description="blocks on top of each other")
    ffn: int = Field(2048, ge=1, description="width inside the feed-forward layer")
    dropout: float = Field(
        0.1, ge=0, lt=1, description="before each residual sum; the public code has 0.5"
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="off by default: it is slow; the public code has 0.1"
    )


class PositionBilinearAttention(LabelWiseAttention):
    """All pairs of window and description tokens, weighted by their positions; no softmax."""

    kind: Literal["position-bilinear"] = "position-bilinear"
    label_tokens: int = Field(
        15,
        ge=1,
        description="positions of a description that have a weight: label_states.max_tokens",
    )


class LsanAttention(LabelWiseAttention):
    """Self-attention and label attention per label, mixed by gates (LSAN)."""

    kind: Literal["lsan"] = "lsan"
    size: int = Field(200, ge=1, description="width inside self-attention")
    directions: Literal[1, 2] = Field(
        2, description="2: a label meets the halves of a state one by one; 1: the whole state"
    )
    normalise: Literal["none", "softmax"] = Field(
        "none", description="of label products: none as published, softmax fit for long texts"
    )
    self_queries: Literal["own", "projected"] = Field(
        "own",
        description="own: part of each label's vector (published); projected: follow from the "
        "label's meaning, so that it may be described",
    )
