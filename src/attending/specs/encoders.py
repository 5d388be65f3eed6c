"""Encoders."""

from pathlib import PurePath
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from attending.specs.base import Spec

Kernels = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]


class PretrainedEncoder(Spec):
    """A pretrained transformer of the BERT, RoBERTa, XLM-R, ELECTRA or DistilBERT family."""

    slot: ClassVar[str] = "encoder"
    kind: Literal["pretrained"] = "pretrained"
    name: str = Field("minilm", description="minilm (bundled), a folder, or a hub id")
    layers: int | None = Field(None, ge=1, description="keep only the first k layers")
    ffn: int | None = Field(
        None,
        ge=1,
        description="keep only so many units of each feed-forward layer, those with the largest "
        "weights; two thirds of a layer's time is theirs",
    )
    dropout: float | None = Field(
        None, ge=0, lt=1, description="hidden dropout; unset: as the encoder was pretrained"
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="off by default: it forces the slow, unfused attention"
    )
    word_embeddings: Literal["trained", "frozen"] = Field(
        "trained", description="trained: only rows that occur in training rows need updating"
    )
    frozen: bool = Field(False, description="train no weight of the encoder, and use no dropout")


class WordEncoder(Spec):
    """What all encoders on word vectors have in common; fills no slot by itself.

    The words are those of the training texts: nothing is learned from other rows.
    """

    slot: ClassVar[str] = "encoder"
    vectors: str = Field(
        "random",
        description="how word vectors start: random; train: word2vec on the training texts "
        "(needs the extra vectors); or a GloVe or word2vec text file, plain or .gz",
    )
    dimension: int = Field(100, ge=1, description="width of a word vector")
    min_count: int = Field(
        2, ge=1, description="a rarer word is [UNK], whose vector is so trained on something"
    )
    max_vocabulary: int = Field(100_000, ge=1, description="keep the most frequent words")
    unseen: bool = Field(
        False, description="with a file: also keep its words that no training text has"
    )
    unit_length: bool = Field(
        False, description="scale the vectors of a file or of word2vec to length 1 (CAML)"
    )
    lowercase: bool = Field(True, description="read all words in lower case")
    trainable: bool = Field(True, description="train the word vectors on")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout on word vectors")
    word2vec: Literal["cbow", "skip-gram"] = Field("cbow", description="with vectors = train")
    word2vec_window: int = Field(5, ge=1, description="words on either side that count")
    word2vec_epochs: int = Field(5, ge=1, description="passes over the training texts")

    @field_validator("unseen")
    @classmethod
    def _only_with_a_file(cls, unseen: bool, info: ValidationInfo) -> bool:
        if unseen and info.data.get("vectors") in ("random", "train"):
            raise ValueError("only a file of word vectors knows words that no training text has")
        return unseen

    @property
    def name(self) -> str:
        """What reports call the encoder: its kind and where its word vectors come from."""
        known = {"random": "random word vectors", "train": "word2vec of the training texts"}
        return f"{self.kind}, {known.get(self.vectors, PurePath(self.vectors).name)}"


class CnnEncoder(WordEncoder):
    """One convolution over word vectors, as in CAML."""

    kind: Literal["cnn"] = "cnn"
    kernel: int = Field(10, ge=1, description="words that a filter sees at a time")
    filters: int = Field(50, ge=1, description="number of filters, the width of a token state")
    activation: Literal["tanh", "relu"] = Field("tanh", description="after the convolution")


class MultiCnnEncoder(WordEncoder):
    """Parallel convolutions over word vectors, concatenated; with max pooling it is TextCNN."""

    kind: Literal["multi-cnn"] = "multi-cnn"
    kernels: Kernels = Field((3, 4, 5), description="words that a filter sees, a branch each")
    filters: Annotated[int, Field(ge=1)] | Kernels = Field(
        100, description="number of filters: one for all branches, or one a branch"
    )
    activation: Literal["tanh", "relu"] = Field("relu", description="after the convolutions")

    @field_validator("filters")
    @classmethod
    def _one_a_branch(cls, filters: int | Kernels, info: ValidationInfo) -> int | Kernels:
        kernels = info.data.get("kernels")
        if isinstance(filters, tuple) and kernels is not None and len(filters) != len(kernels):
            raise ValueError(f"one number of filters a kernel, of which there are {len(kernels)}")
        return filters

    @property
    def filters_of(self) -> Kernels:
        """The number of filters of each branch."""
        if isinstance(self.filters, int):
            return (self.filters,) * len(self.kernels)
        return self.filters


class MultiResCnnEncoder(WordEncoder):
    """Parallel convolutions, each with a residual block, concatenated, as in MultiResCNN."""

    kind: Literal["multi-res-cnn"] = "multi-res-cnn"
    kernels: Kernels = Field(
        (3, 5, 9, 15, 19, 25), description="words that a filter sees, a branch each"
    )
    filters: int = Field(50, ge=1, description="number of filters of each branch")


class RecurrentEncoder(WordEncoder):
    """What both recurrent encoders have in common; fills no slot by itself."""

    hidden: int = Field(256, ge=1, description="width of a direction; a token state has two")
    layers: int = Field(1, ge=1, description="layers, with the word vectors' dropout in between")


class BiLstmEncoder(RecurrentEncoder):
    """A bidirectional LSTM over word vectors, as in LAAT."""

    kind: Literal["bilstm"] = "bilstm"


class AwdLstmEncoder(WordEncoder):
    """A left-to-right LSTM with dropped weights over word vectors, as in PLANT."""

    kind: Literal["awd-lstm"] = "awd-lstm"
    dimension: int = Field(400, ge=1, description="width of a word vector")
    hidden: int = Field(1152, ge=1, description="width of all layers but the last")
    width: int = Field(400, ge=1, description="width of the last layer, of a token state")
    layers: int = Field(3, ge=1, description="layers")
    dropout: float = Field(0.005, ge=0, lt=1, description="dropout on word vectors")
    input_dropout: float = Field(0.04, ge=0, lt=1, description="on columns of what comes in")
    hidden_dropout: float = Field(0.03, ge=0, lt=1, description="on columns between layers")
    weight_dropout: float = Field(
        0.05, ge=0, lt=1, description="on the weights between hidden states"
    )


class BiGruEncoder(RecurrentEncoder):
    """A bidirectional GRU over word vectors; with last pooling it is the Bi-GRU of CAML."""

    kind: Literal["bigru"] = "bigru"
