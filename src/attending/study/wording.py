"""Results of a study in words: what a person reads first."""

from attending.data.wording import plural
from attending.evaluation.intervals import Interval
from attending.evaluation.significance import Spread
from attending.evaluation.wording import SHARES, UNDEFINED, figure
from attending.study.corpora import StudyCorpus
from attending.study.names import Figure
from attending.study.results import Block, Results, Row, Tested
from attending.study.spec import PER_SEED


def value(of: Figure, number: float | None) -> str:
    """Write a figure in the way of its kind: ``0.821``, ``87.5%``."""
    return figure(of.key, number)


def bare(of: Figure, number: float | None) -> str:
    """Write a spread in the unit of its figure, without a sign: ``0.016``, ``0.8``."""
    if number is None:
        return UNDEFINED
    return f"{100 * number:.1f}" if of.key in SHARES else f"{number:.3f}"


def with_spread(of: Figure, spread: Spread | None) -> str:
    """Write a mean with its standard deviation in brackets: ``0.821 (0.016)``."""
    if spread is None:
        return UNDEFINED
    return value(of, spread.mean) + ("" if spread.sd is None else f" ({bare(of, spread.sd)})")


def between(of: Figure, interval: Interval | None) -> str:
    """Write an interval; one without width is no certainty and left out."""
    if interval is None or interval.low == interval.high:
        return UNDEFINED
    low, high = bare(of, max(interval.low, 0.0)), bare(of, interval.high)
    return f"{low}–{high}" + ("%" if of.key in SHARES else "")


def signed(of: Figure, number: float) -> str:
    """Write a difference with its sign, in points where the figure is a share."""
    scale, digits = (100.0, 1) if of.key in SHARES else (1.0, 3)
    return f"{scale * number:+.{digits}f}".replace("-", "−")


def signed_between(of: Figure, interval: Interval | None) -> str:
    """Write the interval of a difference."""
    if interval is None:
        return UNDEFINED
    return f"{signed(of, interval.low)} to {signed(of, interval.high)}"


def chance(p: float) -> str:
    """Write a p-value: ``0.022``, ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def seeds_in_words(tested: Tested) -> str:
    """Say how many seeds speak for the first system: ``3 of 5``."""
    if tested.seeds is None:
        return UNDEFINED
    return f"{tested.seeds.ahead} of {tested.seeds.seeds}"


def split_in_words(corpus: StudyCorpus) -> str:
    """Say how a corpus was split."""
    if corpus.fixed is not None:
        column = corpus.table.split.column if corpus.table.split else None
        return f"parts by the column {column}" if column else "parts in files of their own"
    made = corpus.split
    seed = "drawn anew for each seed" if made.seed == PER_SEED else f"drawn with seed {made.seed}"
    kind = {
        "label": "every label's share kept",
        "group": "whole groups",
        "date": "the newest in test",
        "random": "at random",
    }[made.by]
    if made.folds is not None:
        return f"{made.folds} folds, {kind}, {seed}; the test parts of all folds are one"
    if made.groups is not None:
        return f"test holds the groups {', '.join(made.groups)}"
    shares = f"{made.test:.0%} test" + (f", {made.dev:.0%} development" if made.dev else "")
    return f"{shares}, {kind}" + ("" if made.by == "date" else f", {seed}")


def in_short(results: Results) -> list[str]:
    """Say in a few sentences what came out."""
    study = results.study
    lines = [
        line
        for block in results.main_blocks
        for line in _of_block(block, len(study.corpora) > 1, study.head.alpha)
    ]
    if results.claims:
        counts: dict[str, int] = {}
        for claimed in results.claims:
            counts[claimed.verdict] = counts.get(claimed.verdict, 0) + 1
        told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        lines.append(f"{plural(len(results.claims), 'claim')} tested: {told}.")
    return [*lines, *unfinished(results)]


def unfinished(results: Results) -> list[str]:
    """Say what is missing, if anything is."""
    lines = []
    if results.failures:
        lines.append(f"{plural(len(results.failures), 'cell')} failed: the reasons are below.")
    if results.missing:
        lines.append(
            f"Unfinished: {plural(len(results.missing), 'cell')} not made yet. Tests are of the"
            " seeds that both systems have."
        )
    return lines


def _of_block(block: Block, several: bool, alpha: float) -> list[str]:
    first = block.figures[0]
    ranked = sorted(
        (row for row in block.rows if row.spreads[first]),
        key=lambda row: _mean(row, first),
        reverse=not first.better_low,
    )
    if not ranked:
        return []
    where = f"On {block.corpus}: " if several else ""
    best = ranked[0]
    line = f"{where}the highest mean {first.title} is that of “{best.system}”"
    line = line.replace("the highest", "the lowest") if first.better_low else line
    line += f", {with_spread(first, best.spreads[first])} over {plural(best.runs, 'run')}."
    lines = [line[0].upper() + line[1:]]
    if block.tests:
        clear = [t for t in block.tests if t.adjusted < alpha]
        lines.append(
            f"{where}Different from “{block.tests[0].b}” by the paired test over documents"
            f" (adjusted p < {alpha:g}): {len(clear)} of {len(block.tests)}."
        )
    return lines


def _mean(row: Row, of: Figure) -> float:
    spread = row.spreads[of]
    return spread.mean if spread is not None else 0.0
