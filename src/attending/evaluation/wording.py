"""Figures in words and in even numbers, for people who read a report."""

import re

from attending.evaluation.intervals import Interval
from attending.evaluation.metrics import Evaluation
from attending.evaluation.outcome import ABSTAINED, NO_LABEL
from attending.evaluation.result import Evaluated

UNDEFINED = "–"
SHARES = frozenset({"accuracy", "precision", "recall", "accuracy_answered"})
"""Figures that are shares of documents: shown in percent; all others as decimals."""

REASONS = {
    "empty_text": "no text",
    "too_long": "too long",
    "failed": "processing failed",
    ABSTAINED: "model abstained",
    NO_LABEL: "model gave no label",
}
_TITLES = {
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "map": "MAP",
    "accuracy": "Accuracy",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "ece": "ECE",
    "brier": "Brier score",
    "log_loss": "Log loss",
}
GENERAL_CAUTIONS = (
    "They hold for documents like these. Another clinic, another year or other writers can"
    " give other figures.",
    "The labels in the file are taken as the truth. Where people would disagree about a"
    " document, these figures can't say who is right.",
    "They are of one trained model. Training again with another seed moves them too; the"
    " intervals don't include that.",
)
_CUT = re.compile(r"^(p|r|ndcg)_at_(\d+)$")
_CUTS = {"p": "P", "r": "R", "ndcg": "nDCG"}
_NEAR = 0.02
FEW = 50


def title_of(key: str) -> str:
    """Return a short title for a figure's key."""
    cut = _CUT.match(key)
    if cut:
        return f"{_CUTS[cut[1]]}@{cut[2]}"
    return _TITLES.get(key, key.replace("_", " "))


def percent(value: float | None) -> str:
    """Write a share as a percentage with one decimal: ``87.5%``."""
    return UNDEFINED if value is None else f"{100 * value:.1f}%"


def decimal(value: float | int | None) -> str:
    """Write a figure with three decimals, a count as it is."""
    if value is None:
        return UNDEFINED
    return count(value) if isinstance(value, int) else f"{value:.3f}".replace("-", "−")


def count(value: int) -> str:
    """Write a count with commas between thousands."""
    return f"{value:,}"


def figure(key: str, value: float | int | None) -> str:
    """Write a figure in the way of its kind."""
    return percent(value) if key in SHARES else decimal(value)


def span(key: str, interval: Interval | None) -> str:
    """Write an interval in the way of the figure it is of."""
    if interval is None:
        return UNDEFINED
    if key in SHARES:
        return f"{100 * interval.low:.1f}–{100 * interval.high:.1f}%"
    return f"{interval.low:.3f}–{interval.high:.3f}"


def short(name: str, longest: int) -> str:
    """Cut a name where it is too long for a picture, also one without a blank."""
    folded = " ".join(name.split())
    return folded if len(folded) <= longest else folded[: longest - 1].rstrip() + "…"


def documents(n: int) -> str:
    """Write a number of documents: ``1 document``, ``352 documents``."""
    return f"{count(n)} document{'' if n == 1 else 's'}"


def were(n: int) -> str:
    """Return the verb for a number of things."""
    return "was" if n == 1 else "were"


def interval_of(evaluation: Evaluated, key: str, label: str | None = None) -> Interval | None:
    """Return the interval to show: Wilson's for shares, else the bootstrap's.

    A bootstrap of a figure that is 0 or 1 has no width. It is left out: it isn't certainty.
    """
    if label is None:
        shares, drawn = evaluation.shares, evaluation.intervals
    else:
        shares, drawn = evaluation.label_shares[label], evaluation.label_intervals[label]
    interval = shares.get(key) or drawn.get(key)
    return None if interval is None or interval.low == interval.high else interval


def in_short(evaluation: Evaluation) -> list[str]:
    """Say in a few sentences what came out."""
    cover = evaluation.coverage
    right = sum(int(row["right"] or 0) for row in evaluation.per_label.values())
    wrong = cover["answered"] - right
    labelled = documents(cover["labelled"]).replace(" ", " labelled ")
    first = (
        f"Of {labelled}, {count(right)} got the true label"
        f" ({percent(evaluation.metrics['accuracy'])}) and {count(wrong)} got another label."
    )
    if cover["not_answered"]:
        first = first[:-1] + f"; {count(cover['not_answered'])} got no answer and count as wrong."
    ranked = evaluation.labels.ordered and len(evaluation.labels) > 1
    return [first, *(_highest(evaluation) if ranked else []), _by_frequency(evaluation)]


def _by_frequency(evaluation: Evaluation) -> str:
    label = max(evaluation.per_label, key=lambda i: evaluation.per_label[i]["support"] or 0)
    share = int(evaluation.per_label[label]["support"] or 0) / evaluation.coverage["labelled"]
    return (
        f"For comparison: giving every document the most frequent label, “{label}”, would be right"
        f" for {percent(share)}."
    )


def _highest(evaluation: Evaluation) -> list[str]:
    label = evaluation.labels.ids[-1]
    row = evaluation.per_label[label]
    support, found = int(row["support"] or 0), int(row["right"] or 0)
    silent, given = int(row["no_answer"] or 0), int(row["predicted"] or 0)
    lower = support - found - silent
    if support == 0:
        return [f"No document is truly “{label}”: these figures say nothing about missing one."]
    missed = f"{count(support - found)} {were(support - found)} missed"
    if lower and silent:
        missed += f" ({count(lower)} placed lower, {count(silent)} without an answer)"
    elif silent:
        missed += " (without an answer)"
    elif lower:
        missed += " (placed lower)"
    line = (
        f"Of {documents(support)} truly “{label}”, {count(found)} {were(found)} found and {missed}."
    )
    if given:
        false = given - found
        line += f" Of {count(given)} marked “{label}”, {count(false)} {were(false)} not."
    if len(evaluation.labels) > 2:
        far = int(evaluation.metrics["under_triaged_by_2_or_more"] or 0)
        many = count(far) if far else "none"
        line += f" Of all, {many} {were(far or 1)} placed two or more levels too low."
    return [line]


def calibration_in_words(evaluation: Evaluation) -> str:
    """Say whether the model's confidence fits how often it was right."""
    sure = evaluation.metrics["mean_confidence"]
    total = sum(b.count for b in evaluation.reliability)
    if sure is None or not total:
        return f"Not shown: {evaluation.undefined['metrics.mean_confidence']}."
    right = sum(b.count * (b.accuracy or 0.0) for b in evaluation.reliability) / total
    gap = float(sure) - right
    if abs(gap) < _NEAR:
        verdict = "on the whole about as sure as it was right"
    elif gap > 0:
        verdict = "on the whole surer than it was right"
    else:
        verdict = "on the whole less sure than it could have been"
    return (
        f"On average the model was {percent(float(sure))} sure of its most probable label, which"
        f" was true for {percent(right)} of {documents(total)}: {verdict}."
    )


def coverage_in_words(evaluation: Evaluated) -> list[str]:
    """Say how many documents there were, how many were left out, and how much was read."""
    cover = evaluation.coverage
    rows = cover["documents"]
    sentences = [f"{count(rows)} row{'' if rows == 1 else 's'} {were(rows)} given."]
    if cover["unlabelled"]:
        sentences.append(f"{documents(cover['unlabelled'])} had no label: left out.")
    if cover["unreadable_rows"]:
        n = cover["unreadable_rows"]
        sentences.append(f"{count(n)} row{'' if n == 1 else 's'} could not be read: left out.")
    if cover["tokens_given"]:
        share, part = cover["tokens_read"] / cover["tokens_given"], cover["read_in_part"]
        rest = f"{documents(part)} {were(part)} read only in part" if part else "all to the end"
        sentences.append(f"Of the text in tokens, {percent(share)} was read; {rest}.")
    return sentences


def cautions(evaluation: Evaluation) -> list[str]:
    """Say what the figures do not show."""
    last = (
        "A model with good figures can still be wrong where it matters. It puts a queue in order"
        " for people; it is not a medical device."
    )
    return [*GENERAL_CAUTIONS, *shared_groups(evaluation), *_rarest(evaluation), last]


def shared_groups(evaluation: Evaluated) -> list[str]:
    """Say that documents share people or sources, where they do."""
    cover = evaluation.coverage
    if cover["documents_in_groups"] <= cover["groups"]:
        return []
    groups = cover["groups"]
    return [
        f"The intervals take documents as independent, but {count(cover['documents_in_groups'])}"
        f" of them come from {count(groups)} group{'' if groups == 1 else 's'} that share a person"
        " or a source, so the intervals are likely too narrow."
    ]


def _rarest(evaluation: Evaluation) -> list[str]:
    support = {i: int(row["support"] or 0) for i, row in evaluation.per_label.items()}
    rare = {i: n for i, n in support.items() if 0 < n < FEW}
    if not rare:
        return []
    label = min(rare, key=lambda i: rare[i])
    n = rare[label]
    return [
        f"Only {documents(n)} {were(n)} truly “{label}”: each moves its recall by"
        f" {100 / n:.1f} percentage points. Read the interval, not only the figure."
    ]
