"""Parts of recipes without an encoder."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


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
    """Logistic regression: multinomial, or one against the rest where rows have any number."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["logistic"] = "logistic"
    c: float = Field(1.0, gt=0, description="inverse of the L2 penalty")
    class_weights: Literal["none", "inverse"] = Field(
        "none", description="inverse: all rows of a label together weigh the same"
    )
    max_iterations: int = Field(1000, ge=1, description="steps of the solver at most")
    prune: float = Field(
        0.01,
        ge=0,
        description="one against the rest: smaller weights are dropped (0.01 in DiSMEC)",
    )

    def needs(self) -> tuple[str, ...]:
        """It weighs words."""
        return ("features",)


class DictionaryEstimator(Spec):
    """Scores labels by the surfaces that a lexical view finds."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["dictionary"] = "dictionary"
    combine: Literal["learned", "best"] = Field(
        "learned",
        description="learned: a logistic regression on the view's features and their products; "
        "best: the log-odds of a label's best surface",
    )
    context: Literal["none", "tfidf-logistic"] = Field(
        "none", description="one more feature: what logistic regression on all words says"
    )
    c: float = Field(0.1, gt=0, description="inverse of the L2 penalty on the features' weights")
    tune: Literal["cross-fitted", "development"] = Field(
        "cross-fitted",
        description="which rows choose thresholds and calibration. cross-fitted: all training "
        "rows, each scored by a view that had not seen it; development: a tenth that is carved "
        "off, which holds no label's only example and so chooses too high. A file of --dev counts "
        "in any case",
    )
    context_c: float = Field(10.0, gt=0, description="inverse of the L2 penalty on the words'")

    def needs(self) -> tuple[str, ...]:
        """It combines a lexical view's features."""
        return ("features",)


class FrequencyEstimator(Spec):
    """Scores every text with the label shares of the training rows."""

    slot: ClassVar[str] = "estimator"
    kind: Literal["frequency"] = "frequency"
