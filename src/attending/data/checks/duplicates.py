"""Checks across texts: exact and near duplicates, one text under several labels, leaks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from attending.data.checks.findings import Finding, Place, Severity
from attending.data.checks.near import NearPairs, near_duplicates
from attending.data.checks.several import micro_f1_ceiling
from attending.data.corpora import Corpus
from attending.data.folding import fold_text
from attending.data.wording import plural
from attending.records import Document, is_blank

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """A document of a corpus that has a certain text."""

    corpus: str
    document: Document

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place.of(self.corpus, self.document)

    @property
    def labels(self) -> Labels | None:
        """Its labels as a key: their order doesn't matter."""
        labels = self.document.labels
        return None if labels is None else tuple(sorted(labels))


@dataclass(frozen=True)
class Texts:
    """The distinct texts of several corpora, each with the documents that have it.

    Two texts are the same if they differ in case, white space or invisible characters only.
    Blank texts are left out.
    """

    copies: Mapping[str, tuple[Copy, ...]]

    @classmethod
    def of(cls, corpora: Iterable[tuple[str, Corpus]]) -> "Texts":
        """Gather the texts of corpora."""
        copies: dict[str, list[Copy]] = {}
        for name, corpus in corpora:
            for d in corpus:
                if not is_blank(d.text):
                    copies.setdefault(fold_text(d.text), []).append(Copy(name, d))
        return cls({text: tuple(same) for text, same in copies.items()})

    @cached_property
    def several(self) -> list[tuple[Copy, ...]]:
        """The copies of every text that occurs more than once."""
        return [same for same in self.copies.values() if len(same) > 1]

    def near(self, threshold: float) -> tuple[NearPairs, list[tuple[Copy, ...]]]:
        """Return near duplicates among the distinct texts, and the first copies by position."""
        return near_duplicates(list(self.copies), threshold), list(self.copies.values())


def check_duplicates(name: str, texts: Texts) -> Iterator[Finding]:
    """Report texts that occur more than once in one corpus."""
    clear = [same for same in texts.several if len(_label_kinds(same)) < 2]
    if clear:
        rows = sum(map(len, clear))
        yield Finding(
            "duplicates",
            "warning",
            f"{plural(len(clear), 'text')} in {name} {_occur(clear)} more than once, never under "
            f"different labels ({plural(rows, 'document')}): a random split would test on texts "
            "that it trained on",
            {"texts": len(clear), "documents": rows},
            _places(clear),
        )
    yield from _contradictions(name, texts)


def _contradictions(name: str, texts: Texts) -> Iterator[Finding]:
    """Report one text under several labels, with the accuracy that no model can pass.

    A model that gives each distinct text one answer is right, at most, on the documents that
    carry the text's most frequent answer.
    """
    split = [same for same in texts.several if len(_label_kinds(same)) > 1]
    if not split:
        return
    counted = [Counter(c.labels for c in same if c.labels is not None) for same in
               texts.copies.values()]  # fmt: skip
    right = sum(max(counts.values()) for counts in counted if counts)
    labelled = sum(counts.total() for counts in counted)
    rows = sum(map(len, split))
    ceiling = right / labelled
    counts: dict[str, object] = {
        "texts": len(split),
        "documents": rows,
        "right_at_most": right,
        "labelled": labelled,
        "accuracy_ceiling": ceiling,
        "share_by_label": _share_by_label(split, texts),
    }
    limit = f"an accuracy of {ceiling:.1%}"
    several = any(len(labels) != 1 for sets in counted for labels in sets)
    if several:
        counts["micro_f1_ceiling"] = best = micro_f1_ceiling(counted)
        limit = f"an exact-match accuracy of {ceiling:.1%}, with a micro-F1 of at most {best:.1%}"
    yield Finding(
        "several-labels",
        "warning",
        f"{plural(len(split), 'text')} in {name} {_occur(split)} under several "
        f"{'sets of ' if several else ''}labels ({plural(rows, 'document')}): a model that gives "
        f"each text one answer can be right on at most {right:,} of {labelled:,} documents, "
        f"{limit}",
        counts,
        _places(split),
    )


def _share_by_label(split: Sequence[Sequence[Copy]], texts: Texts) -> dict[str, float]:
    """Return the share of each label's documents whose text also has another label."""
    total = Counter(x for same in texts.copies.values() for c in same for x in c.labels or ())
    torn = Counter(x for same in split for c in same for x in c.labels or ())
    return {label: torn[label] / total[label] for label in sorted(torn)}


def check_near(names: Sequence[str], texts: Texts, threshold: float) -> Iterator[Finding]:
    """Report near duplicates within each corpus and between the first one and each other."""
    near, copies = texts.near(threshold)
    for name in names:
        groups = [_only(name, copies, group) for group in near.groups]
        groups = [group for group in groups if len(group) > 1]
        if not groups:
            continue
        torn = sum(len(_label_kinds(group)) > 1 for group in groups)
        yield Finding(
            "near-duplicates",
            "warning",
            f"{plural(sum(map(len, groups)), 'text')} in {name} "
            f"form {plural(len(groups), 'group')} of near duplicates (word 5-grams, Jaccard "
            f"similarity from {threshold:g})"
            + (f", {torn:,} of them under different labels" if torn else ""),
            {
                "texts": sum(map(len, groups)),
                "groups": len(groups),
                "groups_with_several_labels": torn,
            },
            _places(groups),
        )
    for other in names[1:]:
        yield from _near_leak(names[0], other, near, copies, threshold)


def _only(name: str, copies: Sequence[tuple[Copy, ...]], group: Iterable[int]) -> list[Copy]:
    """Return one copy of each text of a group that stands in a corpus."""
    found = (next((c for c in copies[i] if c.corpus == name), None) for i in group)
    return [copy for copy in found if copy is not None]


def _near_leak(
    train: str,
    other: str,
    near: NearPairs,
    copies: Sequence[tuple[Copy, ...]],
    threshold: float,
) -> Iterator[Finding]:
    pairs: dict[int, tuple[Copy, Copy]] = {}
    for a, b, _ in near.pairs:
        for one, two in ((a, b), (b, a)):
            there, here = _only(train, copies, [one]), _only(other, copies, [two])
            if there and here and not _only(train, copies, [two]):
                pairs.setdefault(two, (here[0], there[0]))
    if pairs:
        yield Finding(
            "leak-near",
            "warning",
            f"{plural(len(pairs), 'text')} of {other} {'has' if len(pairs) == 1 else 'have'} a "
            f"near duplicate in {train} (word 5-grams, Jaccard similarity from {threshold:g})",
            {"texts": len(pairs)},
            _places(pairs.values()),
        )


def check_leaks(corpora: Sequence[tuple[str, Corpus]], texts: Texts) -> Iterator[Finding]:
    """Report texts, groups and ids that two corpora share."""
    for position, (name, corpus) in enumerate(corpora):
        for other, second in corpora[position + 1 :]:
            yield from _text_leak(name, other, len(second), texts)
            yield from _group_leak(name, corpus, other, second)


def _text_leak(name: str, other: str, size: int, texts: Texts) -> Iterator[Finding]:
    shared = [same for same in texts.several if {name, other} <= {copy.corpus for copy in same}]
    if not shared:
        return
    groups = [[c for c in same if c.corpus in (name, other)] for same in shared]
    rows = sum(c.corpus == other for same in groups for c in same)
    torn = sum(_torn(same, name, other) for same in groups)
    yield Finding(
        "leak-text",
        "error",
        f"{rows:,} of {plural(size, 'document')} of {other} ({rows / size:.1%}) have a text that "
        f"is in {name} too" + (f", {torn:,} of them only under other labels" if torn else ""),
        {"texts": len(shared), "documents": rows, "of": size, "under_other_labels": torn},
        _places(groups),
    )


def _torn(same: Sequence[Copy], name: str, other: str) -> int:
    known = {c.labels for c in same if c.corpus == name}
    return sum(c.labels not in known for c in same if c.corpus == other and c.labels is not None)


def _group_leak(name: str, corpus: Corpus, other: str, second: Corpus) -> Iterator[Finding]:
    shared = {d.group for d in corpus if d.group} & {d.group for d in second if d.group}
    if not shared:
        return
    found = [d for d in second if d.group in shared]
    severity: Severity = "warning"
    yield Finding(
        "leak-group",
        severity,
        f"{plural(len(shared), 'group')} {'is' if len(shared) == 1 else 'are'} in {name} and in "
        f"{other} ({plural(len(found), 'document')} of {other}): scores say little about new "
        "groups",
        {"groups": len(shared), "documents": len(found)},
        tuple((Place.of(other, d),) for d in found),
    )


def _label_kinds(same: Iterable[Copy]) -> set[Labels]:
    return {c.labels for c in same if c.labels is not None}


def _places(groups: Iterable[Iterable[Copy]]) -> tuple[tuple[Place, ...], ...]:
    ordered = (sorted((copy.place for copy in group), key=_by_line) for group in groups)
    return tuple(sorted(map(tuple, ordered), key=lambda group: _by_line(group[0])))


def _by_line(place: Place) -> tuple[str, int, str]:
    return place.file or "", place.line or 0, place.corpus


def _occur(groups: Sequence[object]) -> str:
    return "occurs" if len(groups) == 1 else "occur"
