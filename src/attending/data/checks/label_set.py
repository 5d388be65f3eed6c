"""Checks of a label set alone: labels without a meaning, and meanings that two labels share."""

from collections.abc import Iterator

from attending.data.checks.findings import Finding
from attending.data.folding import fold_text
from attending.data.wording import plural, shown_label, some
from attending.records import LabelSet


def check_label_set(labels: LabelSet) -> Iterator[Finding]:
    """Report labels that a model can't read about while it can of others."""
    mute = mute_labels(labels)
    if mute and len(mute) < len(labels):
        yield Finding(
            "labels-without-text",
            "warning",
            f"{plural(len(mute), 'label')} of the label set {'has' if len(mute) == 1 else 'have'} "
            f"no description, keywords or synonyms, so a model reads the bare id: "
            f"{some([shown_label(x) for x in mute])}; describe them in the label file",
            {"labels": list(mute)},
        )
    same = shared_descriptions(labels)
    if same:
        shown = [" = ".join(shown_label(x) for x in group[:4]) for group in same]
        yield Finding(
            "same-descriptions",
            "note",
            f"{plural(len(same), 'description')} {'is' if len(same) == 1 else 'are'} shared by "
            f"several labels ({sum(map(len, same)):,} labels), which a model can't tell apart by "
            f"it: {some(shown)}",
            {"labels": [list(group) for group in same]},
        )


def mute_labels(labels: LabelSet) -> tuple[str, ...]:
    """Return the ids of labels with no description, keyword, synonym or name of their own."""
    return tuple(
        x.id for x in labels if not (x.description or x.keywords or x.synonyms or x.name != x.id)
    )


def shared_descriptions(labels: LabelSet) -> tuple[tuple[str, ...], ...]:
    """Return groups of label ids whose descriptions read the same."""
    found: dict[str, list[str]] = {}
    for label in labels:
        if label.description:
            found.setdefault(fold_text(label.description), []).append(label.id)
    return tuple(tuple(same) for same in found.values() if len(same) > 1)
