"""One frozen, validated description per part. No torch here.

A spec says which part fills a slot of a recipe and with which settings; ``registry`` knows what
builds it. Field descriptions are the documentation that ``attending recipes show`` prints.
"""

from attending.specs.base import Share, Spec
from attending.specs.decoders import ArgmaxDecoder, ThresholdDecoder, TopKDecoder
from attending.specs.encoders import (
    BiGruEncoder,
    BiLstmEncoder,
    CnnEncoder,
    MultiCnnEncoder,
    MultiResCnnEncoder,
    PretrainedEncoder,
)
from attending.specs.heads import (
    IdentityHead,
    LameHead,
    LinearHead,
    MatchHead,
    PerLabelHead,
    SharedHead,
)
from attending.specs.label_attention import (
    ClsPooling,
    CrossAttention,
    JointAttention,
    LastPooling,
    LesaAttention,
    LsanAttention,
    MaxPooling,
    MeanPooling,
    PositionBilinearAttention,
    ProjectedAttention,
    SoftmaxAttention,
)
from attending.specs.label_states import (
    DescribedLabelStates,
    HierarchicalLabelStates,
    LearnedLabelStates,
)
from attending.specs.lexical import LexicalFeatures
from attending.specs.linear import (
    DictionaryEstimator,
    FrequencyEstimator,
    LogisticEstimator,
    SvmEstimator,
    TfidfFeatures,
)
from attending.specs.losses import (
    AsymmetricBinaryCrossEntropy,
    BalancedBinaryCrossEntropy,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    FocalBinaryCrossEntropy,
    FocalCrossEntropy,
    LogitAdjustedCrossEntropy,
    MarginCrossEntropy,
)
from attending.specs.samplers import BalancedSampler, BucketedSampler, ShuffledSampler
from attending.specs.training import Training
from attending.specs.windows import Windows

__all__ = [
    "ArgmaxDecoder",
    "AsymmetricBinaryCrossEntropy",
    "BalancedBinaryCrossEntropy",
    "BalancedSampler",
    "BiGruEncoder",
    "BiLstmEncoder",
    "BinaryCrossEntropy",
    "BucketedSampler",
    "ClsPooling",
    "CnnEncoder",
    "CrossAttention",
    "CrossEntropy",
    "DescribedLabelStates",
    "DictionaryEstimator",
    "FMeasure",
    "FocalBinaryCrossEntropy",
    "FocalCrossEntropy",
    "FrequencyEstimator",
    "HierarchicalLabelStates",
    "IdentityHead",
    "JointAttention",
    "LameHead",
    "LastPooling",
    "LearnedLabelStates",
    "LesaAttention",
    "LexicalFeatures",
    "LinearHead",
    "LogisticEstimator",
    "LogitAdjustedCrossEntropy",
    "LsanAttention",
    "MarginCrossEntropy",
    "MatchHead",
    "MaxPooling",
    "MeanPooling",
    "MultiCnnEncoder",
    "MultiResCnnEncoder",
    "PerLabelHead",
    "PositionBilinearAttention",
    "PretrainedEncoder",
    "ProjectedAttention",
    "Share",
    "SharedHead",
    "ShuffledSampler",
    "SoftmaxAttention",
    "Spec",
    "SvmEstimator",
    "TfidfFeatures",
    "ThresholdDecoder",
    "TopKDecoder",
    "Training",
    "Windows",
]
