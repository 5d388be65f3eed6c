"""A multi-label evaluation in words."""

from attending.evaluation.multilabel.diversity import Variety
from attending.evaluation.multilabel.frequency import Bucket
from attending.evaluation.multilabel.result import MultiLabelEvaluation
from attending.evaluation.wording import (
    GENERAL_CAUTIONS,
    count,
    decimal,
    documents,
    percent,
    shared_groups,
    were,
)

_GAIN = 0.02
_ALIKE = 0.1
_NAMED = 5
_FEW = 5


def things(n: int, name: str) -> str:
    """Write a number of things: ``1 label``, ``12 labels``."""
    return f"{count(n)} {name}{'' if n == 1 else 's'}"


def names(labels: tuple[str, ...], of: int, most: int = _NAMED) -> str:
    """Write label ids, the first ones of many: ``I10, E11 and 3 more``."""
    shown = ", ".join(labels[:most])
    rest = of - min(len(labels), most)
    return f"{shown} and {count(rest)} more" if rest else shown


def in_short(evaluation: MultiLabelEvaluation) -> list[str]:
    """Say in a few sentences what came out."""
    found = [_pairs(evaluation)]
    if evaluation.coverage["not_answered"]:
        silent = evaluation.coverage["not_answered"]
        found.append(
            f"{documents(silent)} got no answer: all of their labels count as missed,"
            " and nothing as ranked."
        )
    ranked = _ranked(evaluation)
    found += [ranked] if ranked else []
    found += _variety(evaluation)
    found += _constant(evaluation)
    return found


def _sums(evaluation: MultiLabelEvaluation) -> tuple[int, int, int]:
    rows = evaluation.per_label.values()
    right, true, given = (
        sum(int(row[key] or 0) for row in rows) for key in ("right", "support", "predicted")
    )
    return right, true, given


def _pairs(evaluation: MultiLabelEvaluation) -> str:
    right, true, given = _sums(evaluation)
    many = documents(evaluation.coverage["labelled"]).replace(" ", " labelled ")
    line = f"The {many} truly have {things(true, 'label')} in all. The model gave {count(given)}"
    if given:
        line += (
            f": {count(right)} {were(right)} right ({percent(right / given)}),"
            f" {count(given - right)} wrong"
        )
    missed = f"{count(true - right)} true one{'' if true - right == 1 else 's'}"
    if true:
        missed += f" ({percent((true - right) / true)})"
    return f"{line}; {missed} {were(true - right)} missed."


def _ranked(evaluation: MultiLabelEvaluation) -> str:
    cut = evaluation.cut
    k = int(cut.rpartition("_")[2])
    hits, found = evaluation.metrics[cut], evaluation.metrics[f"r_at_{k}"]
    if hits is None or found is None or k == 1:
        return ""
    return (
        f"Someone who reads the first {k} labels that it ranks for a document finds"
        f" {k * hits:.1f} right ones on average, {percent(found)} of those that are true."
    )


def _variety(evaluation: MultiLabelEvaluation) -> list[str]:
    given, true = evaluation.diversity.given, evaluation.diversity.truth
    if given is None:
        return []
    line = (
        f"It gave {things(given.unique_labels, 'different label')}, {_each(given)} a document;"
        f" the truth has {count(true.unique_labels)}, {_each(true)} a document."
    )
    if given.common_share > true.common_share + _ALIKE:
        what = (
            "no label at all"
            if not given.common_size
            else f"the same {things(given.common_size, 'label')}"
            f" ({names(given.common_set, given.common_size, 3)})"
        )
        line += f" {percent(given.common_share)} of the answered documents got {what}."
    return [line]


def _each(variety: Variety) -> str:
    return f"{variety.labels_per_document:.1f}"


def _constant(evaluation: MultiLabelEvaluation) -> list[str]:
    best, own = evaluation.constant, evaluation.metrics["micro_f1"]
    if best is None:
        return []
    what = f"the {best.n} most frequent labels" if best.n > 1 else "the most frequent label"
    line = (
        f"For comparison: giving every document {what} of these documents"
        f" ({names(best.labels, best.n, 3)}) would have a micro-F1 of {decimal(best.micro_f1)}"
    )
    low = own is not None and own < best.micro_f1
    return [f"{line}, more than this model." if low else f"{line}."]


def threshold_in_words(evaluation: MultiLabelEvaluation) -> str:
    """Say what another threshold on the score would do."""
    best, own = evaluation.best, evaluation.metrics["micro_f1"]
    if best is None or own is None:
        reason = evaluation.undefined.get("metrics.roc_auc_micro", "no score is of a true label")
        return f"Not shown: {reason}."
    line = (
        f"Giving every label with a score of at least {best.threshold:.4g} would have the highest"
        f" micro-F1 that one threshold can have here, {decimal(best.f1)}"
        f" ({best.labels_per_document:.1f} labels a document)."
    )
    if best.f1 - own > _GAIN:
        line += (
            f" The model decided otherwise and has {decimal(own)}: its ranking is better than its"
            " decisions, so choose thresholds anew, on development documents."
        )
    else:
        line += f" The model's own decisions have {decimal(own)}: there is little to gain."
    return line + " That threshold was chosen on these very documents, so it is not a result."


def confidence_in_words(evaluation: MultiLabelEvaluation) -> str:
    """Say whether the scores of assigned labels fit how often they were right."""
    sure, right = evaluation.metrics["mean_confidence"], evaluation.metrics["micro_precision"]
    if sure is None or right is None:
        return f"Not shown: {evaluation.undefined.get('metrics.mean_confidence', 'no scores')}."
    gap = float(sure) - float(right)
    verdict = "fit" if abs(gap) < _GAIN else "are too high" if gap > 0 else "are too low"
    return (
        f"The labels it gave had a score of {percent(float(sure))} on average, and"
        f" {percent(float(right))} of them were right: as probabilities the scores {verdict}."
    )


def range_of(bucket: Bucket) -> str:
    """Write the training frequencies of a bucket: ``6–50``, ``51 or more``, ``0``."""
    if bucket.high is None:
        return f"{count(bucket.low)} or more"
    return count(bucket.low) if bucket.low == bucket.high else f"{bucket.low}–{bucket.high}"


def cautions(evaluation: MultiLabelEvaluation) -> list[str]:
    """Say what the figures do not show."""
    rare = [row for row in evaluation.per_label.values() if 0 < int(row["support"] or 0) < _FEW]
    lines = [f"{note[0].upper()}{note[1:]}." for note in evaluation.notes]
    if rare:
        lines.append(
            f"{things(len(rare), 'label')} of {count(len(evaluation.per_label))} occur in fewer"
            " than five of these documents: the figures of each say little, and macro-F1 rests"
            " on them as much as on frequent ones."
        )
    return [
        *lines,
        *GENERAL_CAUTIONS,
        *shared_groups(evaluation),
        "A code that a model gives is a proposal for a coder, not a finding; it is not a medical"
        " device.",
    ]
