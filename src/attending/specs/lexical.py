"""What a text says word by word: surfaces of labels, found by looking them up."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.records import LabelPart
from attending.specs.base import Share, Spec


class LexicalFeatures(Spec):
    """A lexical view as the features of a linear recipe."""

    slot: ClassVar[str] = "features"
    kind: Literal["lexical"] = "lexical"
    label_text: tuple[LabelPart, ...] = Field(
        ("name", "description", "synonyms", "keywords"),
        description="what of a label is looked for in texts; (): nothing",
    )
    annotated: bool = Field(
        True, description="look for the words that training documents' spans mark"
    )
    mined: int = Field(
        3,
        ge=0,
        le=5,
        description="longest group of words that is taken for a label's own because training "
        "documents with it have the label; 0: none",
    )
    overlap: bool = Field(
        True, description="count labels of whose text a sentence holds half, words in any order"
    )
    longest: int = Field(12, ge=1, description="words of the longest surface")
    overlapping: bool = Field(
        False, description="an annotated surface counts inside a longer one too"
    )
    smoothing: float = Field(
        1.0, gt=0, description="documents that a surface's prior counts as much as"
    )
    least_share: Share = Field(
        0.15, description="mined words: share of their documents that must have the label"
    )
    least_lift: float = Field(
        3.0, ge=1, description="mined words: that share against the label's share of all documents"
    )
    stem: int = Field(
        6, ge=0, description="first letters by which overlap compares words; 0: all of them"
    )
    folds: int = Field(
        5, ge=2, description="parts of the training rows, each scored by a view of the others"
    )
