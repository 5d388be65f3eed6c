"""One frozen, validated description per part. No torch here.

A spec says which part fills a slot of a recipe and with which settings; ``registry`` knows what
builds it. Field descriptions are the documentation that ``attending recipes show`` prints.
"""

from attending.specs.base import Share, Spec
from attending.specs.decoders import ArgmaxDecoder
from attending.specs.encoders import PretrainedEncoder
from attending.specs.heads import LinearHead
from attending.specs.label_attention import ClsPooling, LesaAttention, MeanPooling
from attending.specs.label_states import LearnedLabelStates
from attending.specs.linear import (
    FrequencyEstimator,
    LogisticEstimator,
    SvmEstimator,
    TfidfFeatures,
)
from attending.specs.losses import CrossEntropy
from attending.specs.samplers import BalancedSampler, BucketedSampler, ShuffledSampler
from attending.specs.training import Training
from attending.specs.windows import Windows

__all__ = [
    "ArgmaxDecoder",
    "BalancedSampler",
    "BucketedSampler",
    "ClsPooling",
    "CrossEntropy",
    "FrequencyEstimator",
    "LearnedLabelStates",
    "LesaAttention",
    "LinearHead",
    "LogisticEstimator",
    "MeanPooling",
    "PretrainedEncoder",
    "Share",
    "ShuffledSampler",
    "Spec",
    "SvmEstimator",
    "TfidfFeatures",
    "Training",
    "Windows",
]
