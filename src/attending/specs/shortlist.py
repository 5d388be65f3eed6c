"""The first of two stages: which labels are worth attending for."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class WordShortlist(Spec):
    """Labels whose texts and training documents share the most words with a document."""

    slot: ClassVar[str] = "shortlist"
    kind: Literal["words"] = "words"
    size: int = Field(1000, ge=1, description="labels of a document that the network scores")
    common: int = Field(
        100,
        ge=0,
        description="of these, so many are the training rows' most frequent labels, for whatever "
        "document; at most half",
    )
    prior: float = Field(
        1.0, ge=0, description="training documents that a label's text counts as much as"
    )
    words: int = Field(100, ge=1, description="best words of a label that are kept")
    min_documents: int = Field(1, ge=1, description="leave out words of fewer training texts")
