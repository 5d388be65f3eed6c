"""A check's report as lines for a person."""

from collections.abc import Iterator, Mapping, Sequence

from attending.data.checks.findings import Finding, Lengths, Place, Summary
from attending.data.wording import plural, shown_label

_BAR = 30
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LABELS = 12
_GROUP = 4
_RANK = {"error": 0, "warning": 1, "note": 2}


def report_lines(
    corpora: Sequence[Summary], findings: Sequence[Finding], most: int
) -> Iterator[str]:
    """Yield the report; at most ``most`` places a finding."""
    for summary in corpora:
        yield from _summary(summary)
        yield ""
    for finding in sorted(findings, key=lambda f: _RANK[f.severity]):
        yield f"{finding.severity:<8} {finding.message} [{finding.code}]"
        if finding.where:
            yield f"{'':<8} {places(finding.where, most)}"
    if findings:
        yield ""
    yield _verdict(findings)


def _summary(summary: Summary) -> Iterator[str]:
    facts = [plural(summary.documents, "document")]
    if summary.labels:
        facts.append(plural(len(summary.labels), "label"))
    if summary.types:
        facts.append(
            f"{plural(sum(summary.types.values()), 'span')} of "
            f"{plural(len(summary.types), 'entity type')}"
        )
    if summary.unreadable:
        facts.append(f"{plural(summary.unreadable, 'row')} unreadable")
    yield f"{summary.name}: {', '.join(facts)}"
    if summary.columns:
        yield "  read from " + ", ".join(f'{r} "{c}"' for r, c in summary.columns.items())
    yield from _balance(summary.labels, summary.documents, "label", "example")
    yield from _balance(summary.types, sum(summary.types.values()), "type", "span")
    yield from _several(summary)
    for lengths in summary.lengths:
        yield from _lengths(lengths)


def _balance(counts: Mapping[str, int], of: int, noun: str, each: str) -> Iterator[str]:
    if not counts:
        return
    ranked = list(counts.items())
    if len(ranked) > _LABELS:
        ranked.sort(key=lambda item: (-item[1], item[0]))
    highest = max(counts.values())
    shown = [(shown_label(label).strip('"'), n) for label, n in ranked[:_LABELS]]
    width = max(len(label) for label, _ in shown)
    for label, n in shown:
        share = f"{n / max(of, 1):.1%}"
        yield f"  {label:<{width}}  {n:>7,} {share:>6}  {bar(n, highest)}".rstrip()
    if len(ranked) > _LABELS:
        rest = sum(n for _, n in ranked[_LABELS:])
        yield f"  and {plural(len(ranked) - _LABELS, f'more {noun}')} with {plural(rest, each)}"


def _several(summary: Summary) -> Iterator[str]:
    each = summary.labels_per_document
    if each is not None:
        line = f"  labels a document: mean {each.mean:.2f}, median {each.median:g}, most "
        line += f"{each.largest:,}"
        yield line + (f"; {plural(each.none, 'document')} with none" if each.none else "")
    if len(summary.labels) <= _LABELS:
        return
    total = sum(summary.labels.values())
    shown = []
    for part in (x for x in summary.frequencies[:-1] if x.labels):
        span = f"over {part.low - 1}" if part.high is None else f"{part.low}-{part.high}"
        shown.append(
            f"{part.labels:,} {part.name} ({span} documents, {part.examples / total:.0%} of all "
            "label examples)"
        )
    once = summary.frequencies[-1].labels
    yield f"  labels by frequency: {', '.join(shown)}" + (f"; {once:,} once" if once else "")


def _lengths(lengths: Lengths) -> Iterator[str]:
    yield (
        f"  length in {lengths.unit}: median {lengths.median:,.0f}, mean {lengths.mean:,.1f}, "
        f"95% up to {lengths.p95:,.0f}, longest {lengths.largest:,}"
    )
    highest = max(n for _, _, n in lengths.histogram)
    ranges = [f"{low:,}-{high - 1:,}" if high - low > 1 else f"{low:,}" for low, high, _ in
              lengths.histogram]  # fmt: skip
    width = max(map(len, ranges))
    for label, (_, _, n) in zip(ranges, lengths.histogram, strict=True):
        yield f"    {label:>{width}}  {n:>7,}  {bar(n, highest)}".rstrip()
    if lengths.limit:
        yield (
            f"    at {lengths.limit:,} {lengths.unit}: {plural(lengths.over, 'document')} cut, "
            f"{lengths.unread:.1%} of all {lengths.unit} not read"
        )


def bar(count: int, highest: int) -> str:
    """Draw a bar to an eighth of a character; anything above zero shows."""
    eighths = round(count / highest * _BAR * 8) if highest else 0
    eighths = max(eighths, 1) if count else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def places(groups: Sequence[Sequence[Place]], most: int) -> str:
    """Name the first rows by line; rows of one group are joined by ``=``."""
    every = [place for group in groups for place in group]
    files = {place.file for place in every}
    several = len({place.corpus for place in every}) > 1
    shown = []
    for group in groups[:most]:
        names = [_place(p, name=several, file=len(files) > 1) for p in group[:_GROUP]]
        extra = [f"{len(group) - _GROUP} more"] if len(group) > _GROUP else []
        shown.append(" = ".join(names + extra))
    more = f" and {len(groups) - most:,} more" if len(groups) > most else ""
    if len(files) == len(every) > 1 and {place.line for place in every} == {1}:
        # Documents of a file each: the line says nothing.
        return "files " + ", ".join(str(group[0].file) for group in groups[:most]) + more
    head = f"{every[0].file} " if len(files) == 1 and None not in files and not several else ""
    if None not in files:
        head += "lines " if len(every) > 1 else "line "
    return head + ", ".join(shown) + more


def _place(place: Place, *, name: bool, file: bool) -> str:
    """Return a line number, or an id where there is none, with what tells it from others."""
    if place.line is None:
        return f"{place.corpus} {place.id}"
    if name:
        return f"{place.corpus} {place.line}"
    return f"{place.file} {place.line}" if file else str(place.line)


def _verdict(findings: Sequence[Finding]) -> str:
    counts = {severity: 0 for severity in _RANK}
    for finding in findings:
        counts[finding.severity] += 1
    if counts["error"]:
        return (
            f"{plural(counts['error'], 'error')} to put right, "
            f"{plural(counts['warning'], 'warning')}."
        )
    if counts["warning"]:
        return f"Nothing stops training; {plural(counts['warning'], 'warning')} to weigh."
    return "Nothing to complain about."
