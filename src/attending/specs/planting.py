"""Planting: how the relevance of words to labels is ranked and learned, before any attention."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Share, Spec


class Planting(Spec):
    """Base of what plants: which words are ranked for a label, and how the ranking is learned."""

    keep: int = Field(1000, ge=1, description="best words of a label that are ranked")
    normalised: bool = Field(
        True, description="divide mutual information by the joint entropy of word and label"
    )
    descriptions: bool = Field(
        True,
        description="rank the words of a label's text, too: all that a label without training "
        "documents has",
    )
    prior: float = Field(
        5.0, gt=0, description="training documents that a label's text counts as much as"
    )
    dimension: int = Field(100, ge=1, description="length of word and label vectors of the ranking")
    levels: int = Field(4, ge=1, description="steps of relevance by rank; published: 100")
    list_length: int = Field(64, ge=2, description="words of one list that is put in order")
    ranking_loss: Literal["softmax", "lambda"] = Field(
        "softmax",
        description="a listwise softmax, or LambdaRank's gradient as published, which needs a "
        "higher rate (0.3) and more epochs for the same order",
    )
    ranking_epochs: int = Field(60, ge=0, description="lists of every label")
    ranking_rate: float = Field(0.1, gt=0, description="highest rate of the ranking's one cycle")
    held_out: Share = Field(
        0.1, description="share of a label's words kept out of the lists, to watch nDCG@15 on"
    )


class PlantedScores(Planting):
    """Scores of words for labels, ranked and learned first, then part of label attention."""

    slot: ClassVar[str] = "planting"
    kind: Literal["ranked"] = "ranked"
    weight: float = Field(
        1.0,
        ge=0,
        description="starting weight of the learned ranking; 0 with static_weight 0: "
        "nothing is planted",
    )
    static_weight: float = Field(
        8.0,
        ge=0,
        description="starting weight of the relevance itself, for a label's best words; at 1 "
        "attention over hundreds of tokens is nearly even",
    )
    vote: float = Field(
        0.0,
        ge=0,
        description="weight of a label's best words in its score itself: what share of them a "
        "document holds; 0: none. It needs no training document of the label",
    )
    tokens: int = Field(
        0, ge=0, description="tokens of a document that a label may attend to; 0: all"
    )
    min_count: int = Field(
        2, ge=1, description="occurrences in the training texts that make a word known"
    )
    words: int = Field(100_000, ge=1, description="most words that are known")

    @property
    def plants(self) -> bool:
        """Whether anything is planted: with all weights 0 the network is learned as ever."""
        return self.weight > 0 or self.static_weight > 0 or self.vote > 0
