"""What every figure means, one line each: the only definitions, quoted by every report."""

from types import MappingProxyType

DEFINITIONS = MappingProxyType(
    {
        "accuracy": "Share of labelled documents that got their true label; no answer is wrong.",
        "macro_f1": "Mean of the per-label F1 over labels that occur in the truth or in the"
        " predictions; every label weighs the same.",
        "macro_f1_declared_zero": "Mean of the per-label F1 over all labels of the label set, 0"
        " where undefined.",
        "macro_f1_support_only": "Mean of the per-label F1 over labels that occur in the truth;"
        " labels only predicted are left out.",
        "macro_f1_of_averages": "Harmonic mean of mean precision and mean recall over all labels"
        " of the label set, 0 where undefined (the form of the CAML family of papers; never"
        " below macro_f1_declared_zero, so not comparable with macro_f1).",
        "macro_precision": "Mean of the per-label precision over labels that occur in the truth"
        " or in the predictions; a label never predicted counts 0.",
        "macro_recall": "Mean of the per-label recall over labels that occur in the truth or in"
        " the predictions; a label never true counts 0.",
        "micro_precision": "Right answers as a share of all answers.",
        "micro_recall": "Right answers as a share of all labelled documents; equals accuracy when"
        " each has one label.",
        "micro_f1": "Harmonic mean of micro precision and micro recall.",
        "weighted_precision": "Mean of the per-label precision, each label weighted by its"
        " support; undefined counts 0.",
        "weighted_recall": "Mean of the per-label recall, each label weighted by its support.",
        "weighted_f1": "Mean of the per-label F1, each label weighted by its support.",
        "mcc": "Matthews correlation of truth and prediction over all labels (R_K): 1 perfect, 0"
        " no better than chance; no answer is a class of its own.",
        "precision": "Of the documents given this label, the share that truly have it.",
        "recall": "Of the documents that truly have this label, the share that got it; no answer"
        " is a miss.",
        "f1": "Harmonic mean of precision and recall: 2 right / (support + predicted).",
        "support": "Documents that truly have this label.",
        "predicted": "Documents that got this label.",
        "right": "Documents that truly have this label and got it.",
        "no_answer": "Documents that truly have this label and got no answer.",
        "accuracy_answered": "Accuracy over answered documents alone.",
        "macro_f1_answered": "macro_f1 over answered documents alone.",
        "micro_f1_answered": "micro_f1 over answered documents alone.",
        "weighted_f1_answered": "weighted_f1 over answered documents alone.",
        "mcc_answered": "Matthews correlation over answered documents alone.",
        "quadratic_kappa_answered": "Cohen's kappa with quadratic weights over answered"
        " documents: agreement beyond chance, a miss by two levels costs four times a miss by"
        " one.",
        "mean_absolute_error_answered": "Mean distance in levels between predicted and true label"
        " over answered documents.",
        "under_triaged": "Answered documents placed below their true level.",
        "under_triaged_by_2_or_more": "Answered documents placed two or more levels below their"
        " true level.",
        "over_triaged": "Answered documents placed above their true level.",
        "over_triaged_by_2_or_more": "Answered documents placed two or more levels above their"
        " true level.",
        "highest_level_missed": "Documents of the highest level that got a lower one or no answer.",
        "roc_auc": "Chance that a document of this label scores higher for it than one without"
        " it, ties half; over documents with scores.",
        "roc_auc_macro": "Mean of the per-label ROC-AUC over labels where it is defined.",
        "roc_auc_micro": "ROC-AUC over all document-label cells as one list.",
        "average_precision": "Step-wise area under the precision-recall curve of this label; over"
        " documents with scores.",
        "average_precision_macro": "Mean of the per-label average precision over labels where it"
        " is defined.",
        "average_precision_micro": "Average precision over all document-label cells as one list.",
        "brier": "Mean squared distance between the probabilities and the truth, summed over"
        " labels: 0 best, 2 worst; over documents with scores.",
        "log_loss": "Mean negative natural logarithm of the true label's probability (at least"
        " 1e-15); over documents with scores.",
        "ece": "Expected calibration error of the highest probability: mean gap between"
        " confidence and share right over 15 bins of equal width, weighted by bin size.",
        "ece_equal_mass": "As ece, with 15 bins of about equally many documents.",
        "ece_classwise": "As ece, for every label's own probability, averaged over labels.",
        "mean_confidence": "Mean of the highest probability; over documents with scores.",
    }
)
"""Definition of each figure by its key in ``Evaluation.to_dict()``."""
