"""One frozen, validated description per part. No torch here.

A spec says which part fills a slot of a recipe and with which settings; ``registry`` knows what
builds it. Field descriptions are the documentation that ``attending recipes show`` prints.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Spec(BaseModel):
    """Base of all specs: frozen, no unknown keys, one ``slot`` and one ``kind``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    slot: ClassVar[str]
    kind: str

    def needs(self) -> tuple[str, ...]:
        """Return the optional slots that this part, with these settings, can't do without."""
        return ()


class PretrainedEncoder(Spec):
    """A pretrained transformer of the BERT, RoBERTa, XLM-R, ELECTRA or DistilBERT family."""

    slot: ClassVar[str] = "encoder"
    kind: Literal["pretrained"] = "pretrained"
    name: str = Field("minilm", description="minilm (bundled), a folder, or a hub id")
    layers: int | None = Field(None, ge=1, description="keep only the first k layers")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="hidden dropout; unset: as the encoder was pretrained"
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="off by default: it forces the slow, unfused attention"
    )
    word_embeddings: Literal["trained", "frozen"] = Field(
        "trained", description="trained: only rows that occur in training rows need updating"
    )


class LearnedLabelStates(Spec):
    """One free vector per label, trained with the rest."""

    slot: ClassVar[str] = "label_states"
    kind: Literal["learned"] = "learned"
    init: Literal["keywords", "random"] = Field(
        "keywords", description="keywords: mean of the label's keyword embeddings, else random"
    )


class ClsPooling(Spec):
    """The state of the first token."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["cls"] = "cls"


class MeanPooling(Spec):
    """The mean over real tokens."""

    slot: ClassVar[str] = "label_attention"
    kind: Literal["mean"] = "mean"


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


class LinearHead(Spec):
    """Dense and tanh (optional), dropout, one linear map to the labels."""

    slot: ClassVar[str] = "head"
    kind: Literal["linear"] = "linear"
    dense: bool = Field(True, description="a tanh layer first, from the encoder's pooler if any")
    dropout: float = Field(0.1, ge=0, lt=1, description="before the last linear map")


class CrossEntropy(Spec):
    """Softmax cross-entropy."""

    slot: ClassVar[str] = "loss"
    kind: Literal["cross-entropy"] = "cross-entropy"
    class_weights: Literal["none", "inverse", "sqrt-inverse", "effective"] = Field(
        "none", description="weights from training rows, by label; their mean over rows is 1"
    )
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="share of the target that is spread over all labels"
    )
    label_loss: float = Field(
        0.0, ge=0, description="weight of the loss that makes each label vector predict itself"
    )

    def needs(self) -> tuple[str, ...]:
        """Only label vectors can predict themselves."""
        return ("label_states",) if self.label_loss else ()


class ShuffledSampler(Spec):
    """Every row once an epoch, shuffled."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["shuffled"] = "shuffled"


class BucketedSampler(Spec):
    """Every row once an epoch, shuffled, then batched with rows of like length."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["bucketed"] = "bucketed"
    pool: int = Field(16, ge=1, description="batches drawn at random, then sorted by length")


class BalancedSampler(Spec):
    """As many rows of every label in each batch; rarer labels repeat."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["balanced"] = "balanced"


class ArgmaxDecoder(Spec):
    """The label with the highest score."""

    slot: ClassVar[str] = "decoder"
    kind: Literal["argmax"] = "argmax"
    calibrate: Literal["temperature", "none"] = Field(
        "temperature", description="one temperature, fitted on development rows"
    )
    abstain_below: Share | None = Field(
        None, description="give no label if the best calibrated score is lower"
    )


class Windows(Spec):
    """How a text becomes model input: windows of tokens over the whole text."""

    slot: ClassVar[str] = "windows"
    kind: Literal["tokens"] = "tokens"
    max_tokens: int = Field(256, ge=4, description="tokens a window, special ones included")
    overlap: int = Field(
        32, ge=0, description="tokens shared by neighbouring windows; at most half"
    )
    on_overflow: Literal["window", "truncate", "error"] = Field(
        "window", description="a longer text: more windows, only the first, or status too_long"
    )
    pool: Literal["max", "mean"] = Field("max", description="how windows' logits become one")


class Training(Spec):
    """Optimisation by transformers' Trainer."""

    slot: ClassVar[str] = "training"
    kind: Literal["trainer"] = "trainer"
    epochs: float = Field(6, gt=0, description="passes over the training rows")
    batch_size: int = Field(16, ge=1, description="documents a step")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are added up a step")
    learning_rate: float = Field(3e-5, gt=0, description="of the encoder, at its peak")
    head_learning_rate: float | None = Field(None, gt=0, description="of the head; unset: same")
    label_learning_rate: float | None = Field(
        None, gt=0, description="of label vectors; unset: as the encoder's"
    )
    weight_decay: float = Field(0.01, ge=0, description="not on biases, norms and embeddings")
    warmup: Share = Field(0.1, description="share of the steps with a rising learning rate")
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 where the processor multiplies it natively"
    )
    select: Literal["macro_f1", "accuracy", "log_loss"] = Field(
        "macro_f1", description="development metric that picks the checkpoint"
    )
    patience: int | None = Field(None, ge=1, description="epochs without gain before stopping")
    development: Share = Field(
        0.1, description="share of the training rows carved off if no development file is given"
    )


class TfidfFeatures(Spec):
    """Word TF-IDF, fitted on training rows only."""

    slot: ClassVar[str] = "features"
    kind: Literal["tfidf"] = "tfidf"
    lowercase: bool = Field(True, description="count words without regard to case")
    stop_words: Literal["english", "none"] = Field(
        "none", description="leave out scikit-learn's list of English function words"
    )
    max_features: int | None = Field(
        None, ge=1, description="keep only so many n-grams, the most frequent"
    )
    ngrams: int = Field(1, ge=1, le=4, description="longest word n-gram")
    min_documents: int = Field(1, ge=1, description="leave out n-grams of fewer training documents")
    sublinear: bool = Field(False, description="1 + log of the term frequency")


class SvmEstimator(Spec):
    """Linear SVM by stochastic gradient descent on the hinge loss, one against the rest."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["sgd-svm"] = "sgd-svm"
    alpha: float = Field(6e-4, gt=0, description="weight of the L2 penalty")
    max_iterations: int = Field(1000, ge=1, description="passes over the rows at most")
    tolerance: float = Field(1e-3, gt=0, description="stop after five passes that gain less")

    def needs(self) -> tuple[str, ...]:
        """It weighs words."""
        return ("features",)


class LogisticEstimator(Spec):
    """Multinomial logistic regression."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["logistic"] = "logistic"
    c: float = Field(1.0, gt=0, description="inverse of the L2 penalty")
    class_weights: Literal["none", "inverse"] = Field(
        "none", description="inverse: all rows of a label together weigh the same"
    )
    max_iterations: int = Field(1000, ge=1, description="steps of the solver at most")

    def needs(self) -> tuple[str, ...]:
        """It weighs words."""
        return ("features",)


class FrequencyEstimator(Spec):
    """Scores every text with the label shares of the training rows."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["frequency"] = "frequency"
