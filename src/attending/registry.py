"""Which part a slot and a kind name, and what builds it.

The built-in parts are listed here; a third party adds its own through the entry-point group
``attending.parts``, whose entries load to a ``Part``:

    [project.entry-points."attending.parts"]
    my-loss = "my_package.losses:PART"

Builders of built-in parts are named by string, so that this module needs no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from attending import specs
from attending.errors import RecipeError, nearest
from attending.specs import Spec

ENTRY_POINT_GROUP = "attending.parts"


@dataclass(frozen=True, slots=True)
class Part:
    """A spec type and its builder: a callable ``build(spec, **context)`` or ``module:name``."""

    spec: type[Spec]
    builder: str | Callable[..., Any]

    @property
    def slot(self) -> str:
        """The slot of a recipe that the part fills."""
        return self.spec.slot

    @property
    def kind(self) -> str:
        """The name that a recipe uses for the part."""
        return str(self.spec.model_fields["kind"].default)


_BUILT_IN = (
    Part(specs.PretrainedEncoder, "attending.parts.encoders:build_pretrained"),
    Part(specs.CnnEncoder, "attending.parts.light_encoders:build_cnn"),
    Part(specs.MultiCnnEncoder, "attending.parts.light_encoders:build_multi_cnn"),
    Part(specs.MultiResCnnEncoder, "attending.parts.light_encoders:build_multi_res_cnn"),
    Part(specs.BiLstmEncoder, "attending.parts.light_encoders:build_bilstm"),
    Part(specs.AwdLstmEncoder, "attending.parts.light_encoders:build_awd_lstm"),
    Part(specs.BiGruEncoder, "attending.parts.light_encoders:build_bigru"),
    Part(specs.LearnedLabelStates, "attending.parts.label_states:build_learned"),
    Part(specs.HierarchicalLabelStates, "attending.parts.label_states:build_hierarchical"),
    Part(specs.DescribedLabelStates, "attending.parts.described:build_described"),
    Part(specs.ClsPooling, "attending.parts.pooling:build_cls"),
    Part(specs.MeanPooling, "attending.parts.pooling:build_mean"),
    Part(specs.MaxPooling, "attending.parts.pooling:build_max"),
    Part(specs.LastPooling, "attending.parts.pooling:build_last"),
    Part(specs.WordAttentionPooling, "attending.parts.word_attention:build_word_attention"),
    Part(specs.LesaAttention, "attending.parts.lesa:build_lesa"),
    Part(specs.CrossAttention, "attending.parts.cross_attention:build_cross"),
    Part(specs.SoftmaxAttention, "attending.parts.label_attention:build_softmax"),
    Part(specs.CosineAttention, "attending.parts.cosine:build_cosine"),
    Part(specs.ProjectedAttention, "attending.parts.label_attention:build_projected"),
    Part(specs.JointAttention, "attending.parts.joint:build_joint"),
    Part(specs.LsanAttention, "attending.parts.lsan:build_lsan"),
    Part(specs.PositionBilinearAttention, "attending.parts.bilinear:build_position_bilinear"),
    Part(specs.FlatScheme, "attending.data.tagging.schemes:build_flat"),
    Part(specs.LayeredScheme, "attending.data.tagging.schemes:build_layers"),
    Part(specs.LinearHead, "attending.parts.heads:build_linear"),
    Part(specs.PerLabelHead, "attending.parts.heads:build_per_label"),
    Part(specs.SharedHead, "attending.parts.heads:build_shared"),
    Part(specs.LameHead, "attending.parts.heads:build_lame"),
    Part(specs.MatchHead, "attending.parts.heads:build_match"),
    Part(specs.CosineHead, "attending.parts.cosine:build_cosine_match"),
    Part(specs.IdentityHead, "attending.parts.heads:build_identity"),
    Part(specs.TokenLinearHead, "attending.parts.tagging.heads:build_token_linear"),
    Part(specs.TokenLabelHead, "attending.parts.tagging.heads:build_token_label"),
    Part(specs.ConvolvedDescriptions, "attending.parts.descriptions:build_convolved"),
    Part(specs.LabelStateDescriptions, "attending.parts.descriptions:build_label_states"),
    Part(specs.CrossEntropy, "attending.parts.losses:build_cross_entropy"),
    Part(specs.FocalCrossEntropy, "attending.parts.losses:build_focal_ce"),
    Part(specs.LogitAdjustedCrossEntropy, "attending.parts.losses:build_logit_adjusted"),
    Part(specs.MarginCrossEntropy, "attending.parts.losses:build_ldam"),
    Part(specs.BinaryCrossEntropy, "attending.parts.multilabel_losses:build_bce"),
    Part(specs.BalancedBinaryCrossEntropy, "attending.parts.multilabel_losses:build_balanced_bce"),
    Part(specs.FMeasure, "attending.parts.multilabel_losses:build_f_measure"),
    Part(specs.FocalBinaryCrossEntropy, "attending.parts.multilabel_losses:build_focal_bce"),
    Part(specs.AsymmetricBinaryCrossEntropy, "attending.parts.multilabel_losses:build_asymmetric"),
    Part(specs.TokenCrossEntropy, "attending.parts.tagging.losses:build_token_cross_entropy"),
    Part(specs.BinaryTokenLabels, "attending.parts.tagging.binary:build_btl"),
    Part(specs.ChainLikelihood, "attending.parts.tagging.crf:build_crf"),
    Part(specs.SoftTargets, "attending.parts.soft_targets:build_soft_targets"),
    Part(specs.ShuffledSampler, "attending.data.samplers:build_shuffled"),
    Part(specs.BucketedSampler, "attending.data.samplers:build_bucketed"),
    Part(specs.BalancedSampler, "attending.data.samplers:build_balanced"),
    Part(specs.ArgmaxDecoder, "attending.parts.decoders:build_argmax"),
    Part(specs.ThresholdDecoder, "attending.parts.decoders:build_threshold"),
    Part(specs.TopKDecoder, "attending.parts.decoders:build_top_k"),
    Part(specs.ArgmaxTagDecoder, "attending.parts.tagging.decision:build_decision"),
    Part(specs.ViterbiDecoder, "attending.parts.tagging.decision:build_decision"),
    Part(specs.Capitals, "attending.parts.tagging.shapes:build_capitals"),
    Part(specs.LogitNeighbours, "attending.parts.tagging.neighbours:build_neighbours"),
    Part(specs.Windows, "attending.data.windows:Windower"),
    Part(specs.Training, "attending.training.trainer:build_trainer"),
    Part(specs.PlantedScores, "attending.parts.planting.planted:build_planted"),
    Part(specs.WordShortlist, "attending.parts.shortlist:build_shortlist"),
    Part(specs.LexicalSurfaces, "attending.parts.lexical_mixture:build_mixture"),
    Part(specs.LexicalFeatures, "attending.parts.lexical.view:build_surfaces"),
    Part(specs.WordWindowFeatures, "attending.parts.tagging.features:build_word_window"),
    Part(specs.ChainEstimator, "attending.models.tagging.chain:build_chain"),
    Part(specs.TfidfFeatures, "attending.parts.tfidf:build_tfidf"),
    Part(specs.SvmEstimator, "attending.models.linear:build_svm"),
    Part(specs.LogisticEstimator, "attending.models.linear:build_logistic"),
    Part(specs.DictionaryEstimator, "attending.models.dictionary:build_dictionary"),
    Part(specs.FrequencyEstimator, "attending.models.linear:build_frequency"),
)


@cache
def parts() -> dict[str, dict[str, Part]]:
    """Return all parts by slot and kind: the built-in ones, then those of entry points.

    Raises:
        RecipeError: If an entry point is no ``Part`` or takes a name that is in use.
    """
    table: dict[str, dict[str, Part]] = {}
    for part in _BUILT_IN:
        table.setdefault(part.slot, {})[part.kind] = part
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        part = entry.load()
        where = f"entry point {entry.name} ({entry.value})"
        if not isinstance(part, Part):
            raise RecipeError("is not an attending.registry.Part", where=where)
        if part.kind in table.setdefault(part.slot, {}):
            raise RecipeError(f'"{part.slot}.{part.kind}" is taken', where=where)
        table[part.slot][part.kind] = part
    return table


def slots() -> tuple[str, ...]:
    """Return the names of all slots."""
    return tuple(parts())


def kinds(slot: str) -> tuple[str, ...]:
    """Return the kinds that fill a slot."""
    return tuple(parts()[slot])


def part(slot: str, kind: str) -> Part:
    """Return the part of a slot and kind.

    Raises:
        RecipeError: If there is none; names the nearest kind.
    """
    known = parts().get(slot, {})
    if kind not in known:
        raise RecipeError(
            f'no part "{kind}" for the slot "{slot}"',
            allowed=", ".join(known) or "nothing",
            step=nearest(kind, known).strip(),
        )
    return known[kind]


def build(spec: Spec, **context: Any) -> Any:
    """Build what a spec describes; ``context`` goes to the builder as keywords."""
    builder = part(spec.slot, spec.kind).builder
    if isinstance(builder, str):
        module, name = builder.split(":")
        builder = getattr(import_module(module), name)
    return builder(spec, **context)
