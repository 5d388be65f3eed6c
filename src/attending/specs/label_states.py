"""What a model knows of each label."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class FreeVectors(Spec):
    """Base of label states that are trained vectors."""

    slot: ClassVar[str] = "label_states"
    init: Literal["keywords", "description", "xavier", "random"] = Field(
        "keywords",
        description="keywords, description: mean of their word embeddings, else random; xavier: "
        "as CAML; random: normal",
    )
    spread: float | None = Field(
        None,
        gt=0,
        description="standard deviation of random vectors; unset: the encoder's own at its start",
    )
    scale: Literal["table", "input"] = Field(
        "table",
        description="table: as word vectors lie in their table (paper); input: as the first layer "
        "takes them, token type added and normalised",
    )


class LearnedLabelStates(FreeVectors):
    """One free vector per label, trained with the rest."""

    kind: Literal["learned"] = "learned"


class HierarchicalLabelStates(FreeVectors):
    """A label's own free vector plus the mean of its ancestors'."""

    kind: Literal["hierarchical"] = "hierarchical"


class DescribedLabelStates(Spec):
    """Labels as the shared encoder reads their texts."""

    slot: ClassVar[str] = "label_states"
    kind: Literal["described"] = "described"
    text: Literal["description", "name", "both"] = Field(
        "description", description="what is read; a label without a description goes by its name"
    )
    synonyms: int = Field(0, ge=0, description="so many synonyms are read after it")
    parents: int = Field(0, ge=0, description="so many ancestors' texts are read before it")
    max_tokens: int = Field(64, ge=4, description="tokens of a label's text, special ones included")
    pool: Literal["cls", "mean"] = Field("cls", description="the state of the first token, or mean")
    refresh: int = Field(
        1,
        ge=1,
        description="steps between two encodings of all labels; between them only the labels of "
        "the batch and sampled others are encoded anew, and only these send gradients",
    )
    sampled: int = Field(16, ge=0, description="other labels that are encoded anew in each step")
    unbiased: bool | None = Field(
        None,
        description="the gradients of sampled labels stand for those not encoded anew, too, so "
        "that on average the encoder is moved as by refresh = 1; unset: yes",
    )
    frozen: bool = Field(False, description="encode once, before training, and never again")
