"""Checks of labels: twins in spelling, too few examples, strangers, balance."""

from collections import Counter
from collections.abc import Iterator, Sequence

from attending.data.checks.findings import Finding, Place, singles
from attending.data.corpora import Corpus
from attending.data.folding import fold_label
from attending.data.wording import nearest_label, plural, shown_label, some
from attending.records import LabelSet

_IMBALANCE = 10
_FEW = 20
_SHOWN = 5


def check_labels(
    corpora: Sequence[tuple[str, Corpus]], labels: LabelSet | None, folds: int
) -> Iterator[Finding]:
    """Report on the labels of all corpora; the first one is the one to train on."""
    total: Counter[str] = Counter()
    for name, corpus in corpora:
        total.update(corpus.label_counts)
        yield from _unlabelled(name, corpus)
    if not total:
        return
    yield from _twins(total, labels)
    if labels is not None:
        yield from _strangers(corpora, labels)
    yield from _too_few(*corpora[0], labels, folds)
    for name, corpus in corpora[1:]:
        yield from _one_sided(*corpora[0], name, corpus)


def _unlabelled(name: str, corpus: Corpus) -> Iterator[Finding]:
    bare = [d for d in corpus if d.labels is None]
    if bare and len(bare) == len(corpus):
        yield Finding("unlabelled", "note", f"no document of {name} has a label")
    elif bare:
        yield Finding(
            "unlabelled",
            "warning",
            f"{plural(len(bare), 'document')} of {len(corpus):,} in {name} "
            f"{'has' if len(bare) == 1 else 'have'} no label",
            {"documents": len(bare)},
            singles(Place.of(name, d) for d in bare),
        )


def _twins(total: Counter[str], labels: LabelSet | None) -> Iterator[Finding]:
    """Report labels that differ in case, spacing, hyphens or Unicode form only."""
    spellings: dict[str, list[str]] = {}
    for label in dict.fromkeys([*(labels.ids if labels else ()), *total]):
        spellings.setdefault(fold_label(label), []).append(label)
    twins = [same for same in spellings.values() if len(same) > 1]
    for same in twins[: None if len(twins) <= _SHOWN else 0]:
        shown = ", ".join(f"{shown_label(x)} ({total[x]:,})" for x in same)
        yield Finding(
            "label-twins",
            "warning",
            f"labels that differ in spelling only count as different ones: {shown}",
            {"labels": same, "documents": {x: total[x] for x in same}},
        )
    if len(twins) > _SHOWN:
        yield Finding(
            "label-twins",
            "warning",
            f"{plural(len(twins), 'group')} of labels that differ in spelling only count as "
            "different ones: " + some([" = ".join(map(shown_label, same)) for same in twins]),
            {"labels": twins},
        )


def _strangers(corpora: Sequence[tuple[str, Corpus]], labels: LabelSet) -> Iterator[Finding]:
    known = frozenset(labels.ids)
    for name, corpus in corpora:
        found = [d for d in corpus if not known.issuperset(d.labels or ())]
        if found:
            strange = sorted({x for d in found for x in d.labels or () if x not in known})
            yield Finding(
                "unknown-labels",
                "error",
                f"{plural(len(strange), 'label')} in {name} {_is_are(strange)} not in the label "
                f"set ({plural(len(found), 'document')}): "
                + some([_with_nearest(x, labels) for x in strange[:_SHOWN]] + strange[_SHOWN:]),
                {"labels": strange, "documents": len(found)},
                singles(Place.of(name, d) for d in found),
            )


def _with_nearest(label: str, labels: LabelSet) -> str:
    near = nearest_label(label, labels.ids)
    return shown_label(label) + (f" (nearest {shown_label(near)})" if near else "")


def _too_few(name: str, corpus: Corpus, labels: LabelSet | None, folds: int) -> Iterator[Finding]:
    counts = corpus.label_counts
    absent = [x for x in (labels.ids if labels else ()) if x not in counts]
    if absent:
        yield Finding(
            "labels-without-examples",
            "warning",
            f"{plural(len(absent), 'label')} of the label set {_has_have(absent)} no example in "
            f"{name}: " + some([shown_label(x) for x in absent]),
            {"labels": absent},
        )
    yield from _too_many(name, corpus)
    if len(counts) == 1 and corpus.labelled and not corpus.multi_label:
        yield Finding(
            "one-label",
            "error",
            f"every document of {name} has the same label: there is nothing to learn",
            {"labels": list(counts)},
        )
    rare = {label: n for label, n in counts.items() if n < folds}
    if rare:
        shown = some([f"{shown_label(x)} ({n})" for x, n in rare.items()])
        yield Finding(
            "few-examples",
            "warning",
            f"{plural(len(rare), 'label')} in {name} {_has_have(rare)} fewer than {folds} "
            f"examples, too few for {folds} folds: {shown}",
            {"labels": rare, "folds": folds},
        )
    if len(counts) > 1 and max(counts.values()) >= _IMBALANCE * min(counts.values()):
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        ratio = counts[most] / counts[least]
        yield Finding(
            "imbalance",
            "note",
            f"{shown_label(most)} is {ratio:.0f} times as common as {shown_label(least)} in "
            f"{name}: look at each label's recall, not at accuracy",
            {"ratio": ratio},
        )


def _too_many(name: str, corpus: Corpus) -> Iterator[Finding]:
    """Report a column that is hardly a label: nearly every document has a value of its own."""
    single = sum(d.label is not None for d in corpus)
    kinds = len(corpus.label_counts)
    if single >= _FEW and kinds > single / 2 and single == len(corpus):
        yield Finding(
            "many-labels",
            "warning",
            f"{name} has {kinds:,} different labels for {plural(single, 'document')}: is "
            f'"{corpus.columns.get("label", "label")}" the column of the label?',
            {"labels": kinds, "documents": single},
        )


def _one_sided(train: str, first: Corpus, name: str, corpus: Corpus) -> Iterator[Finding]:
    if not corpus.label_counts or not first.label_counts:
        return
    unseen = [x for x in corpus.label_counts if x not in first.label_counts]
    absent = [x for x in first.label_counts if x not in corpus.label_counts]
    if unseen:
        several = corpus.multi_label or first.multi_label
        strange = frozenset(unseen)
        found = [d for d in corpus if not strange.isdisjoint(d.labels or ())]
        share = sum(corpus.label_counts[x] for x in unseen) / sum(corpus.label_counts.values())
        more = (
            f" ({share:.1%} of its label examples, {plural(len(found), 'document')}), so only "
            "their descriptions can tell of them"
        )
        yield Finding(
            "labels-only-in-test",
            "warning" if several else "error",
            f"{plural(len(unseen), 'label')} of {name} {_has_have(unseen)} no example in {train}"
            f"{more if several else ''}: " + some([shown_label(x) for x in unseen]),
            {
                "labels": {x: corpus.label_counts[x] for x in unseen},
                "share": share,
                "documents": len(found),
            },
        )
    if absent:
        yield Finding(
            "labels-only-in-train",
            "note" if corpus.multi_label or first.multi_label else "warning",
            f"{plural(len(absent), 'label')} of {train} {_has_have(absent)} no example in {name}, "
            f"so nothing is measured there: " + some([shown_label(x) for x in absent]),
            {"labels": {x: first.label_counts[x] for x in absent}},
        )


def _is_are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _has_have(items: "Sequence[str] | dict[str, int]") -> str:
    return "has" if len(items) == 1 else "have"
