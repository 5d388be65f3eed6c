"""What every figure on entities means, one line each."""

from types import MappingProxyType

_AVERAGES = {
    "micro_precision": "Of all {given}, the share that is {right}.",
    "micro_recall": "Of all {true}, the share that is {right}.",
    "micro_f1": "Harmonic mean of {name}_micro_precision{end} and {name}_micro_recall{end}.",
    "macro_precision": "Mean of the per-type precision over types that occur in the gold {things}"
    " or in those found; a type never found counts 0.",
    "macro_recall": "Mean of the per-type recall over types that occur in the gold {things} or in"
    " those found; a type never gold counts 0.",
    "macro_f1": "Mean of the per-type F1 over types that occur in the gold {things} or in those"
    " found; every type weighs the same.",
    "macro_f1_declared_zero": "Mean of the per-type F1 over all types of the label set, 0 where"
    " undefined.",
    "macro_f1_support_only": "Mean of the per-type F1 over types that occur in the gold {things};"
    " types only found are left out.",
    "macro_f1_of_averages": "Harmonic mean of mean precision and mean recall over all types of the"
    " label set, 0 where undefined; not comparable with {name}_macro_f1{end}.",
    "weighted_precision": "Mean of the per-type precision, each type weighted by its gold"
    " {things}; undefined counts 0.",
    "weighted_recall": "Mean of the per-type recall, each type weighted by its gold {things}.",
    "weighted_f1": "Mean of the per-type F1, each type weighted by its gold {things}.",
}
_STRICT = {
    "name": "strict",
    "end": "",
    "things": "entities",
    "given": "found entities",
    "true": "gold entities",
    "right": "the same as a gold one: type, start, end and pieces",
}
_TOKEN = {
    "name": "token",
    "end": "_without_o",
    "things": "words",
    "given": "words that were given a type",
    "true": "words that have a type",
    "right": "of the same type on both sides; words outside of entities ('O') count nowhere",
}

SPAN_DEFINITIONS = MappingProxyType(
    {
        **{f"strict_{k}": v.format(**_STRICT) for k, v in _AVERAGES.items()},
        "exact_micro_precision": "Of all found entities, the share that has the place of a gold"
        " one, whatever the type.",
        "exact_micro_recall": "Of all gold entities, the share whose place was found, whatever the"
        " type.",
        "exact_micro_f1": "Harmonic mean of exact_micro_precision and exact_micro_recall.",
        "partial_micro_precision": "Of all found entities, the share that has the place of a gold"
        " one, an overlap counting half, whatever the type.",
        "partial_micro_recall": "Of all gold entities, the share whose place was found, an overlap"
        " counting half, whatever the type.",
        "partial_micro_f1": "Harmonic mean of partial_micro_precision and partial_micro_recall.",
        "partial_macro_f1": "Mean over types that occur of the F1 within the type, the same place"
        " counting one and an overlap half.",
        "type_micro_precision": "Of all found entities, the share that overlaps a gold one of the"
        " same type.",
        "type_micro_recall": "Of all gold entities, the share that a found one of the same type"
        " overlaps.",
        "type_micro_f1": "Harmonic mean of type_micro_precision and type_micro_recall.",
        "type_macro_f1": "Mean over types that occur of the F1 within the type, an overlap counting"
        " one.",
        **{f"token_{k}_without_o": v.format(**_TOKEN) for k, v in _AVERAGES.items()},
        "token_accuracy_with_o": "Share of all words, those outside of entities among them, that"
        " have the same type or none on both sides. Most words are outside, so it is high for any"
        " system and no measure of one.",
        "unweighted_accuracy": "Mean over types of the share of the type's gold words that were"
        " given it (recall on words), every type that has a gold word weighing the same; 'O' is no"
        " type. Our reading of the unweighted accuracy of arXiv:2409.03238.",
        "unweighted_accuracy_over_5": "As unweighted_accuracy, over types with more than 5 gold"
        " words: a public script that may be the paper's leaves the others out.",
        "mean_f1": "Mean over types that have a gold word of the F1 on words (harmonic); 'O' is no"
        " type. Our reading of the mean F1 of arXiv:2409.03238.",
        "mean_f1_arithmetic_over_5": "Mean over types with more than 5 gold words of (precision +"
        " recall) / 2 on words, which that script gives as a type's F1. It is never below the"
        " harmonic one, so not comparable with mean_f1.",
        "mean_f1_as_printed": "Mean over all classes that have a gold word, 'O' among them, of the"
        " precision on words: what that script prints as F1 in its row of means, by a slip.",
        "precision": "Of the found entities of this type, the share that equals a gold one.",
        "recall": "Of the gold entities of this type, the share that was found as it is.",
        "f1": "Harmonic mean of precision and recall: 2 right / (support + predicted).",
        "support": "Gold entities of this type.",
        "predicted": "Found entities of this type.",
        "right": "Gold entities of this type that were found as they are.",
        "training": "Entities of this type in training; undefined if that isn't known.",
        "partial_f1": "F1 within this type, the same place counting one and an overlap half.",
        "type_f1": "F1 within this type, an overlap counting one.",
        "words": "Words that belong to gold entities of this type.",
        "words_predicted": "Words that were given this type.",
        "words_right": "Words that belong to this type on both sides.",
        "word_precision": "Of the words given this type, the share that has it.",
        "word_recall": "Of this type's gold words, the share that was given it.",
        "word_f1": "Harmonic mean of word_precision and word_recall.",
        "boundary": "Gold entities of this type found with their type at another place that"
        " overlaps.",
        "type": "Gold entities of this type found at their place with another type.",
        "both": "Gold entities of this type that only entities of another type at another place"
        " overlap.",
        "missed": "Gold entities of this type that no found one is set beside: none overlaps, or"
        " those that do fit another gold one better.",
        "spurious": "Found entities of this type that no gold one is set beside.",
    }
)
"""Definition of each figure by its key in ``SpanResult.to_dict()``."""
