"""What every figure of a multi-label evaluation means, one line each."""

import re
from types import MappingProxyType

MULTILABEL_DEFINITIONS = MappingProxyType(
    {
        "micro_precision": "Of all assigned document-label pairs, the share that is true.",
        "micro_recall": "Of all true document-label pairs, the share that was assigned; a document"
        " without an answer misses all of its labels.",
        "micro_f1": "Harmonic mean of micro precision and micro recall.",
        "micro_f1_answered": "micro_f1 over answered documents alone.",
        "macro_f1": "Mean of the per-label F1 over labels that occur in the truth or in the"
        " answers; every label weighs the same.",
        "macro_f1_declared_zero": "Mean of the per-label F1 over all labels of the label set, 0"
        " where undefined.",
        "macro_f1_support_only": "Mean of the per-label F1 over labels that occur in the truth;"
        " labels only assigned are left out.",
        "macro_f1_of_averages": "Harmonic mean of mean precision and mean recall over all labels"
        " of the label set, 0 where undefined (the form of the CAML family of papers; never"
        " below macro_f1_declared_zero, so not comparable with macro_f1).",
        "macro_precision": "Mean of the per-label precision over labels that occur in the truth"
        " or in the answers; a label never assigned counts 0.",
        "macro_recall": "Mean of the per-label recall over labels that occur in the truth or in"
        " the answers; a label never true counts 0.",
        "weighted_precision": "Mean of the per-label precision, each label weighted by its"
        " support; undefined counts 0.",
        "weighted_recall": "Mean of the per-label recall, each label weighted by its support.",
        "weighted_f1": "Mean of the per-label F1, each label weighted by its support.",
        "example_f1": "Mean over documents of F1 between assigned and true labels; 1 for a"
        " document that rightly got none, 0 for one without an answer.",
        "subset_accuracy": "Share of documents whose assigned labels are exactly the true ones; a"
        " document without an answer is wrong.",
        "hamming_loss": "Share of all document-label cells that are wrong. With many labels nearly"
        " all cells are empty, so it is small for any system.",
        "p_at_k": "True labels among the first {k} of a document's ranking, divided by {k} however"
        " few labels there are; mean over documents that truly have a label.",
        "r_at_k": "Share of a document's true labels that are among the first {k} of its ranking;"
        " mean over documents that truly have a label.",
        "ndcg_at_k": "Discounted gain of the first {k} labels (1 for a true one, divided by"
        " log2(rank + 1)) as a share of the best that is possible; mean over documents that truly"
        " have a label.",
        "r_precision": "Share of true labels among the first n, n being the document's number of"
        " true labels; mean over documents that truly have a label.",
        "map": "Mean average precision of the whole ranking by score: for each true label the"
        " precision down to it, 0 if it is not ranked; mean over all documents that truly have a"
        " label, 0 for one without an answer.",
        "map_assigned": "As map, but of the assigned labels alone in the order of their scores, as"
        " a file of answers holds them.",
        "map_cantemist": "map_assigned as the scorer of the CANTEMIST task computes it: only over"
        " documents that got a label, so leaving a document without one raises it.",
        "map_cantemist_ranked": "map by the same rule: only over documents with a ranked label.",
        "roc_auc_macro": "Mean of the per-label ROC-AUC over labels that some but not all"
        " documents truly have.",
        "roc_auc_micro": "ROC-AUC over all document-label cells as one list.",
        "average_precision_macro": "Mean of the per-label average precision over labels that some"
        " but not all documents truly have.",
        "average_precision_micro": "Average precision over all document-label cells as one list.",
        "brier": "Mean squared distance between the probability of a document-label cell and the"
        " truth (0 or 1): 0 best, 1 worst; over documents with scores.",
        "ece": "Expected calibration error over document-label cells: mean gap between probability"
        " and share true over 15 bins of equal width, weighted by their cells.",
        "mean_confidence": "Mean score of the assigned labels; where scores are honest"
        " probabilities it equals micro_precision.",
        "precision": "Of the documents given this label, the share that truly have it;"
        " undefined if none was given it.",
        "recall": "Of the documents that truly have this label, the share that got it; undefined"
        " if none has it.",
        "f1": "Harmonic mean of precision and recall: 2 right / (support + predicted).",
        "support": "Documents that truly have this label.",
        "predicted": "Documents that got this label.",
        "right": "Documents that truly have this label and got it.",
        "training": "Training documents that have this label; undefined if that isn't known.",
        "roc_auc": "Chance that a document of this label scores higher for it than one without it,"
        " ties half; a document that doesn't rank the label comes last. Undefined if no or every"
        " document has the label.",
        "average_precision": "Step-wise area under the precision-recall curve of this label;"
        " undefined as for roc_auc.",
    }
)
"""Definition of each figure by its key; ``{k}`` stands for the cut-off of a ranking."""

_CUT = re.compile(r"^(p|r|ndcg)_at_(\d+)$")


def definition_of(key: str) -> str:
    """Return the definition of a figure such as ``micro_f1`` or ``p_at_5``."""
    cut = _CUT.match(key)
    if cut is None:
        return MULTILABEL_DEFINITIONS[key]
    return MULTILABEL_DEFINITIONS[f"{cut[1]}_at_k"].replace("{k}", cut[2])
