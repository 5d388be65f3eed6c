"""Look at corpora before anything is trained on them.

``check`` finds what makes results worthless or surprising: the same text in training and test, one
text under several labels, labels in two spellings, rows that can't be read, texts that are cut.
It reports ids, lines and counts, never a text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attending.data.checks.duplicates import (
    Texts,
    check_duplicates,
    check_leaks,
    check_near,
)
from attending.data.checks.findings import Finding, Lengths, Summary
from attending.data.checks.label_set import check_label_set
from attending.data.checks.labels import check_labels
from attending.data.checks.lengths import CountTokens, measure
from attending.data.checks.near import THRESHOLD
from attending.data.checks.page import report_lines
from attending.data.checks.several import LabelsPerDocument, frequencies
from attending.data.checks.spans import check_spans
from attending.data.checks.texts import check_texts
from attending.data.corpora import Corpus
from attending.data.spans.corpus import SpanCorpus
from attending.errors import DataError
from attending.records import LabelSet

__all__ = ["CheckReport", "Finding", "check"]

SHOWN = 5
"""Places that are shown of each finding; ``to_dict`` has all."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found, most of all in ``findings``.

    Args:
        corpora: What each corpus is like.
        findings: In the order of the checks.
    """

    corpora: tuple[Summary, ...]
    findings: tuple[Finding, ...]

    @property
    def exit_ok(self) -> bool:
        """Whether nothing of severity ``error`` was found."""
        return all(finding.severity != "error" for finding in self.findings)

    def of(self, code: str) -> tuple[Finding, ...]:
        """Return the findings of a kind."""
        return tuple(finding for finding in self.findings if finding.code == code)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON, with every place."""
        return {
            "ok": self.exit_ok,
            "corpora": [summary.to_dict() for summary in self.corpora],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def lines(self, most: int = SHOWN) -> list[str]:
        """Return the report as lines, with at most ``most`` places a finding."""
        return list(report_lines(self.corpora, self.findings, most))

    def render(self, most: int = SHOWN) -> str:
        """Return the report as one text."""
        return "\n".join(self.lines(most))


def check(
    corpora: Mapping[str, Corpus] | Corpus,
    labels: LabelSet | None = None,
    *,
    count_tokens: CountTokens | None = None,
    max_tokens: int | None = None,
    folds: int = 5,
    near: float = THRESHOLD,
) -> CheckReport:
    """Check corpora, each alone and against each other.

    Args:
        corpora: Name -> corpus, such as ``{"train": ..., "test": ...}``; what is called ``train``,
            or else the first one, is what a model would learn from. One corpus may stand alone.
        labels: The label set that the labels, or the types of spans, must be in.
        count_tokens: Counts the tokens of texts as the encoder would.
        max_tokens: How many tokens the encoder reads.
        folds: A label with fewer examples is reported.
        near: Jaccard similarity of word 5-grams from which two texts are near duplicates.

    Raises:
        DataError: If no corpus is given.
    """
    named = {corpora.name: corpora} if isinstance(corpora, Corpus) else dict(corpora)
    if not named:
        raise DataError("there is no corpus to check", step="Name a file of documents.")
    parts = sorted(named.items(), key=lambda item: item[0] != "train")
    summaries: list[Summary] = []
    findings: list[Finding] = []
    for name, corpus in parts:
        corpus = replace(corpus, name=name)
        lengths, cut = measure(corpus, count_tokens, max_tokens)
        summaries.append(_summary(corpus, labels, lengths))
        findings += [*check_texts(corpus), *cut]
    findings = _once(findings)
    tagged = [(name, corpus) for name, corpus in parts if isinstance(corpus, SpanCorpus)]
    findings += check_spans(tagged, labels)
    findings += check_labels(
        [part for part in parts if not isinstance(part[1], SpanCorpus)], labels, folds
    )
    if labels is not None:
        findings += check_label_set(labels)
    findings += _across(parts, near)
    return CheckReport(tuple(summaries), tuple(findings))


def _across(parts: list[tuple[str, Corpus]], near: float) -> Iterator[Finding]:
    every = Texts.of(parts)
    for name, corpus in parts:
        yield from check_duplicates(name, every if len(parts) == 1 else Texts.of([(name, corpus)]))
    yield from check_near([name for name, _ in parts], every, near)
    yield from check_leaks(parts, every)


def _once(findings: list[Finding]) -> list[Finding]:
    """Leave out notes that parts of one file have in common."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for finding in findings:
        if finding.code != "reading" or (finding.code, finding.message) not in seen:
            kept.append(finding)
        seen.add((finding.code, finding.message))
    return kept


def _summary(corpus: Corpus, labels: LabelSet | None, lengths: tuple[Lengths, ...]) -> Summary:
    counts = corpus.label_counts
    order = [x for x in (labels.ids if labels else ()) if x in counts]
    order += [x for x in counts if x not in order]
    return Summary(
        name=corpus.name,
        documents=len(corpus),
        unreadable=len(corpus.problems),
        labels={x: counts[x] for x in order},
        unlabelled=sum(d.labels is None for d in corpus),
        columns=corpus.columns,
        lengths=lengths,
        labels_per_document=LabelsPerDocument.of(corpus),
        frequencies=frequencies(counts),
        types=corpus.type_counts if isinstance(corpus, SpanCorpus) else {},
    )
