"""One frozen, validated description per part. No torch here.

A spec says which part fills a slot of a recipe and with which settings; ``registry`` knows what
builds it. Field descriptions are the documentation that ``attending recipes show`` prints.
"""

from attending.specs.base import Share, Spec
from attending.specs.decoders import ArgmaxDecoder, ThresholdDecoder, TopKDecoder
from attending.specs.descriptions import ConvolvedDescriptions, LabelStateDescriptions
from attending.specs.distillation import SoftTargets
from attending.specs.encoders import (
    AwdLstmEncoder,
    BiGruEncoder,
    BiLstmEncoder,
    CnnEncoder,
    MultiCnnEncoder,
    MultiResCnnEncoder,
    PretrainedEncoder,
)
from attending.specs.heads import (
    CosineHead,
    IdentityHead,
    LameHead,
    LinearHead,
    MatchHead,
    PerLabelHead,
    SharedHead,
)
from attending.specs.label_attention import (
    ClsPooling,
    CosineAttention,
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
    WordAttentionPooling,
)
from attending.specs.label_states import (
    DescribedLabelStates,
    HierarchicalLabelStates,
    LearnedLabelStates,
)
from attending.specs.lexical import LexicalFeatures, LexicalSources, LexicalSurfaces
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
from attending.specs.planting import PlantedScores, Planting
from attending.specs.samplers import BalancedSampler, BucketedSampler, ShuffledSampler
from attending.specs.shortlist import WordShortlist
from attending.specs.tagging import (
    ArgmaxTagDecoder,
    BinaryTokenLabels,
    Capitals,
    ChainEstimator,
    ChainLikelihood,
    FlatScheme,
    LayeredScheme,
    LogitNeighbours,
    TokenCrossEntropy,
    TokenLabelHead,
    TokenLinearHead,
    ViterbiDecoder,
    WordWindowFeatures,
)
from attending.specs.training import Training
from attending.specs.windows import Windows

__all__ = [
    "ArgmaxDecoder",
    "ArgmaxTagDecoder",
    "AsymmetricBinaryCrossEntropy",
    "AwdLstmEncoder",
    "BalancedBinaryCrossEntropy",
    "BalancedSampler",
    "BiGruEncoder",
    "BiLstmEncoder",
    "BinaryCrossEntropy",
    "BinaryTokenLabels",
    "BucketedSampler",
    "Capitals",
    "ChainEstimator",
    "ChainLikelihood",
    "ClsPooling",
    "CnnEncoder",
    "ConvolvedDescriptions",
    "CosineAttention",
    "CosineHead",
    "CrossAttention",
    "CrossEntropy",
    "DescribedLabelStates",
    "DictionaryEstimator",
    "FMeasure",
    "FlatScheme",
    "FocalBinaryCrossEntropy",
    "FocalCrossEntropy",
    "FrequencyEstimator",
    "HierarchicalLabelStates",
    "IdentityHead",
    "JointAttention",
    "LabelStateDescriptions",
    "LameHead",
    "LastPooling",
    "LayeredScheme",
    "LearnedLabelStates",
    "LesaAttention",
    "LexicalFeatures",
    "LexicalSources",
    "LexicalSurfaces",
    "LinearHead",
    "LogisticEstimator",
    "LogitAdjustedCrossEntropy",
    "LogitNeighbours",
    "LsanAttention",
    "MarginCrossEntropy",
    "MatchHead",
    "MaxPooling",
    "MeanPooling",
    "MultiCnnEncoder",
    "MultiResCnnEncoder",
    "PerLabelHead",
    "PlantedScores",
    "Planting",
    "PositionBilinearAttention",
    "PretrainedEncoder",
    "ProjectedAttention",
    "Share",
    "SharedHead",
    "ShuffledSampler",
    "SoftTargets",
    "SoftmaxAttention",
    "Spec",
    "SvmEstimator",
    "TfidfFeatures",
    "ThresholdDecoder",
    "TokenCrossEntropy",
    "TokenLabelHead",
    "TokenLinearHead",
    "TopKDecoder",
    "Training",
    "ViterbiDecoder",
    "Windows",
    "WordAttentionPooling",
    "WordShortlist",
    "WordWindowFeatures",
]
