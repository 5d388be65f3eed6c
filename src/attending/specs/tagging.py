"""Parts of recipes that tag: find labelled spans in a text."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Share, Spec

SPANS: Literal["spans"] = "spans"
TagWeights = Literal["none", "published", "inverse"]
_WEIGHTS = (
    "of a tag, from the words of training rows: published: 1 - N_c/N, which sets the words outside "
    "apart from all others; inverse: N/N_c, which balances the types; both scaled to a mean of 1 "
    "over words"
)


class Scheme(Spec):
    """How spans become tags of words; fills no slot by itself."""

    slot: ClassVar[str] = "scheme"
    tags: Literal["bio", "io"] = Field(
        "bio",
        description="bio: the first word of a span has a tag of its own; io: one tag a type, so "
        "that neighbours of one type become one",
    )
    discontinuous: Literal["fragments", "cover", "drop"] = Field(
        "fragments",
        description="a span in pieces, for training: each piece by itself, one span from the first "
        "to the last, or none; evaluation always has the whole",
    )


class FlatScheme(Scheme):
    """One tag a word: of overlapping spans the longest counts, then the first."""

    kind: Literal["flat"] = "flat"


class LayeredScheme(Scheme):
    """One layer of tags per type, so that overlapping spans of different types can all be found."""

    kind: Literal["layers"] = "layers"


class Capitals(Spec):
    """How words are written, added to what an uncased encoder reads, which can't see it."""

    slot: ClassVar[str] = "surface"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["capitals"] = "capitals"
    when: Literal["uncased", "always", "never"] = Field(
        "uncased", description="uncased: where the encoder's tokenizer takes A for a"
    )


class TokenHead(Spec):
    """What heads that score words have in common; fills no slot by itself."""

    slot: ClassVar[str] = "head"
    task: ClassVar[Literal["spans"]] = SPANS
    dropout: float = Field(0.1, ge=0, lt=1, description="on the states of words")
    pieces: Literal["first", "all"] = Field(
        "first",
        description="a word of several pieces: the first carries its tag; all: in training the "
        "others do too, as inside the span",
    )


class TokenLinearHead(TokenHead):
    """One linear map from a word's state to its tags."""

    kind: Literal["token-linear"] = "token-linear"


class TokenLabelHead(TokenHead):
    """Words are compared with what the labels mean, so that a rare type borrows from its words."""

    kind: Literal["token-label"] = "token-label"
    attend: bool = Field(
        True, description="first, every word attends over the labels and takes up what it finds"
    )
    own: bool = Field(
        True, description="also each tag's own weights, which start at zero; off: meaning alone"
    )

    def needs(self) -> tuple[str, ...]:
        """It reads the label vectors."""
        return ("label_states",)


class TokenCrossEntropy(Spec):
    """Cross-entropy of all tags of every word (all token labels, ATL)."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["token-cross-entropy"] = "token-cross-entropy"
    class_weights: TagWeights = Field("none", description=_WEIGHTS)
    gamma: float = Field(
        0.0, ge=0, description="focal loss: how fast words that are sure already fade; 0: off"
    )


class BinaryTokenLabels(Spec):
    """A copy of the batch per type, in which all other types are hidden (BTL)."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["btl"] = "btl"
    class_weights: TagWeights = Field("published", description=_WEIGHTS)
    gamma: float = Field(
        0.0, ge=0, description="focal loss: how fast words that are sure already fade; 0: off"
    )
    other: Literal["O", "ignore"] = Field(
        "O", description="words of other types in a copy: outside, or not counted"
    )
    step: Literal["sum", "per_copy", "sequential"] = Field(
        "sum",
        description="sum: all copies as soft targets of one pass; per_copy: a pass a copy, with "
        "dropout of its own, and one step; sequential: a step a copy",
    )


class ChainLikelihood(Spec):
    """Likelihood of the right sequence of tags in a linear chain (CRF)."""

    slot: ClassVar[str] = "loss"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["crf"] = "crf"


class _TagDecoder(Spec):
    """What decoders of tags have in common."""

    slot: ClassVar[str] = "decoder"
    task: ClassVar[Literal["spans"]] = SPANS
    calibrate: Literal["temperature", "none"] = Field(
        "temperature", description="one temperature, fitted on the words of development rows"
    )
    score: Literal["min", "mean"] = Field(
        "min", description="a span's score: the least or the mean probability of its words' tags"
    )
    min_score: Share = Field(0.0, description="give no span of a lower score")


class ArgmaxTagDecoder(_TagDecoder):
    """Each word's best tag; a span that starts without its first tag starts there."""

    kind: Literal["tag-argmax"] = "tag-argmax"


class ViterbiDecoder(_TagDecoder):
    """The best sequence of tags in which every span has its first tag."""

    kind: Literal["viterbi"] = "viterbi"


class LogitNeighbours(Spec):
    """Words of training rows whose scores are nearest vote for a word's tag."""

    slot: ClassVar[str] = "neighbours"
    kind: Literal["logits"] = "logits"
    k: int = Field(17, ge=1, description="how many vote; the paper has 17")
    weight: Share = Field(
        1.0, description="of the votes against the model's own probabilities; 1: votes alone"
    )


class WordWindowFeatures(Spec):
    """What is known of a word and of those around it: letters, shape, endings."""

    slot: ClassVar[str] = "features"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["word-window"] = "word-window"
    window: int = Field(2, ge=0, le=5, description="words on either side that are looked at")
    affixes: int = Field(4, ge=0, le=6, description="longest prefix and suffix")


class ChainEstimator(Spec):
    """A linear-chain CRF on features of words (CRFsuite's L-BFGS)."""

    slot: ClassVar[str] = "estimator"
    task: ClassVar[Literal["spans"]] = SPANS
    kind: Literal["crf"] = "crf"
    c1: float = Field(0.05, ge=0, description="weight of the L1 penalty")
    c2: float = Field(0.01, ge=0, description="weight of the L2 penalty")
    max_iterations: int = Field(150, ge=1, description="steps of the solver at most")
    min_count: int = Field(1, ge=1, description="leave out features that occur less often")

    def needs(self) -> tuple[str, ...]:
        """It weighs features of words."""
        return ("features",)
