"""What a model knows of each label."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class LearnedLabelStates(Spec):
    """One free vector per label, trained with the rest."""

    slot: ClassVar[str] = "label_states"
    kind: Literal["learned"] = "learned"
    init: Literal["keywords", "random"] = Field(
        "keywords", description="keywords: mean of the label's keyword embeddings, else random"
    )
