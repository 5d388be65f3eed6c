"""What a text says word by word: surfaces of labels, found by looking them up."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.records import LabelPart
from attending.specs.base import Share, Spec


class LexicalSources(Spec):
    """Base of both uses of a lexical view: which words of labels are looked for."""

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
    related: bool = Field(
        True,
        description="with overlap: words that stand for a label text's words count too; which do "
        "so is learned from training documents and their labels' texts",
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


class LexicalFeatures(LexicalSources):
    """A lexical view as the features of a linear recipe."""

    slot: ClassVar[str] = "features"
    kind: Literal["lexical"] = "lexical"


class LexicalSurfaces(LexicalSources):
    """A lexical view beside the network: a label's score is what both say."""

    slot: ClassVar[str] = "lexical"
    kind: Literal["surfaces"] = "surfaces"
    weight: float = Field(
        1.0,
        ge=0,
        description="weight of what words say, at first; 0: the network doesn't listen to them, as "
        "without this slot",
    )
    gate: Literal["count", "none"] = Field(
        "count",
        description="count: what the network says counts the more, the more training documents a "
        "label has; none: always in full",
    )
    halfway: float = Field(
        3.0, gt=0, description="training documents at which it counts half, at first"
    )
    synonyms: int = Field(
        0,
        ge=0,
        description="so many annotated surfaces, each of two training documents or more, become "
        "further synonyms of a label; label_states.synonyms says how many are read",
    )
    tune: Literal["cross-fitted", "development"] = Field(
        "cross-fitted",
        description="cross-fitted: rows that were carved off are few and hold no label's only "
        "example, so the threshold that is best on them is drawn to the one that gives them as "
        "many labels as words alone do where these are best on all training rows, each scored by "
        "a view that had not seen it; the latter counts as 20 rows. development: it stays. With a "
        "file of --dev, or tuned for macro-F1, it stays in any case",
    )
    c: float = Field(0.1, gt=0, description="inverse of the L2 penalty on the features' weights")
