"""How labels, probabilities and the limits of an explanation are put into words."""

from collections.abc import Sequence

from attending.records import Document, LabelSet, Prediction

CAUTION = (
    "These words are where the model's score comes from by one method of several; another method "
    "may point elsewhere. They are a help for reading, not a reason to trust the answer and not "
    "proof of why the model gave it. Read the whole message."
)
ATTENTION_CAUTION = (
    "Attention shows where the model looked, not why it decided: it is not proof. A model can look "
    "at a word and not use it, and other attention can lead to the same answer. Read the whole "
    "message."
)
WEIGHTS_CAUTION = (
    "These are the model's own weights: its score is their sum. A word counts the same whatever "
    'stands around it, so the pain of "no chest pain" counts as pain. They are a help for reading, '
    "not a reason to trust the answer. Read the whole message."
)

_BARE_ATTENTION = frozenset({"attention", "label-attention", "label-weights", "planted"})


def caution(method: str) -> str:
    """Return the plain warning that belongs beside evidence of this method."""
    if method == "weights":
        return WEIGHTS_CAUTION
    return ATTENTION_CAUTION if method in _BARE_ATTENTION else CAUTION


def percent(probability: float) -> str:
    """Return a probability in whole per cent; rounding never claims certainty."""
    if 0 < probability < 0.01:
        return "< 1 %"
    if 0.99 < probability < 1:
        return "> 99 %"
    return f"{100 * probability:.0f} %"


def label_name(labels: LabelSet, label: str) -> str:
    """Return a label's name, else its id, also for an id that the set doesn't have."""
    return labels[label].name or label if label in labels.ids else label


def verdict(prediction: Prediction, labels: LabelSet) -> str:
    """Return what was predicted with its probability, or why nothing was."""
    if prediction.status != "ok":
        return f"not read ({prediction.status})"
    if not prediction.labels:
        return "no label"
    return ", ".join(
        f"{label_name(labels, label)} {percent(prediction.scores[label])}"
        for label in prediction.labels
    )


def comparison(known: Sequence[str], given: Sequence[str]) -> str:
    """Say how the labels given compare with those known: ``2 of 3 found, 1 more given``."""
    if set(known) == set(given):
        return "agrees"
    if len(known) == len(given) == 1:
        return "differs"
    more = len(set(given) - set(known))
    found = f"{len(set(known) & set(given))} of {len(set(known))} found" if known else ""
    return ", ".join(filter(None, (found, f"{more} more given" if more else "")))


def truth(document: Document, labels: LabelSet) -> str | None:
    """Return a document's own labels, ``none`` if it was labelled with none, else ``None``."""
    if document.labels is None:
        return None
    return ", ".join(label_name(labels, label) for label in document.labels) or "none"
