"""Pictures of an evaluation as inline SVG and HTML that need no script and no outside file.

Colours come from the page's style sheet, so one picture serves light and dark. Nothing that a
user named enters a picture: labels and ids are written by the page, which escapes them.
"""

from collections.abc import Sequence

from markupsafe import Markup

from attending.evaluation.calibration import Bin
from attending.evaluation.intervals import Interval, wilson_interval
from attending.evaluation.wording import count, percent

_LEFT, _TOP, _SIDE = 44.0, 12.0, 280.0
_HISTOGRAM = 62.0
FEW = 10
"""Bins of fewer documents are drawn hollow."""
_WIDTH = _LEFT + _SIDE + 14.0


def bar(value: float | None, interval: Interval | None, name: str) -> Markup:
    """Draw a figure between 0 and 1 as a bar with its interval as a line; name says what it is."""
    frame = Markup('<span class="bar{}" role="img" aria-label="{}: {}">{}</span>')
    if value is None:
        return frame.format(" empty", name, "not defined", "")
    parts = Markup('<i style="width:{:.2f}%"></i>').format(100 * value)
    if interval is not None:
        parts += Markup('<b style="left:{:.2f}%;width:{:.2f}%"></b>').format(
            100 * interval.low, 100 * (interval.high - interval.low)
        )
    return frame.format("", name, f"{value:.3f}", parts)


def _x(value: float) -> float:
    return _LEFT + _SIDE * value


def _y(value: float) -> float:
    return _TOP + _SIDE * (1 - value)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw a line whose look is that of its class."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    """Write words of our own, which need no escaping, at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{words}</text>'


def _frame(bottom: float, across: str, up: str) -> list[str]:
    """Draw the axes, the grid, and the line on which confidence equals share right."""
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line("grid", _LEFT, _y(tick), _x(1), _y(tick)))
        parts.append(line("grid", _x(tick), _TOP, _x(tick), _y(0)))
        parts.append(text(_LEFT - 6, _y(tick) + 4, f"{100 * tick:.0f}%", "end"))
        parts.append(text(_x(tick), bottom + 16, f"{100 * tick:.0f}%"))
    parts.append(line("ideal", _x(0), _y(0), _x(1), _y(1)))
    middle = _TOP + _SIDE / 2
    turned = f' transform="rotate(-90 10 {middle:.1f})"'
    parts.append(text(10, middle, up, more=turned))
    parts.append(text(_x(0.5), bottom + 34, across))
    return parts


def _points(bins: Sequence[Bin], what: str) -> list[str]:
    parts = []
    for b in bins:
        if b.confidence is None or b.accuracy is None:
            continue
        x, y = _x(b.confidence), _y(b.accuracy)
        sure = wilson_interval(round(b.accuracy * b.count), b.count)
        if sure is not None:
            parts.append(line("whisker", x, _y(sure.low), x, _y(sure.high)))
        said = f"{count(b.count)} {what}, confidence {percent(b.confidence)}"
        kind = "dot few" if b.count < FEW else "dot"
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">'
            f"<title>{said}, right {percent(b.accuracy)}</title></circle>"
        )
    return parts


def _short(value: int) -> str:
    """Write a count so that it fits over a narrow bar."""
    if value < 10_000:
        return count(value)
    return f"{value / 1e3:.0f}k" if value < 1e6 else f"{value / 1e6:.1f}M"


def _counts(bins: Sequence[Bin], top: float) -> list[str]:
    """Draw how many documents each bin holds, below the diagram on the same axis."""
    most = max(b.count for b in bins)
    room = _HISTOGRAM - 14
    parts = []
    for b in bins:
        if not b.count:
            continue
        height = max(1.0, room * b.count / most)
        left, width = _x(b.low) + 1, _SIDE * (b.high - b.low) - 2
        floor = top + _HISTOGRAM
        parts.append(
            f'<rect class="count" x="{left:.1f}" y="{floor - height:.1f}"'
            f' width="{width:.1f}" height="{height:.1f}"/>'
        )
        parts.append(
            text(left + width / 2, floor - height - 3, _short(b.count), more=' class="small"')
        )
    parts.append(line("grid", _LEFT, top + _HISTOGRAM, _x(1), top + _HISTOGRAM))
    return parts


def reliability(
    bins: Sequence[Bin],
    what: str = "documents",
    up: str = "share that was right",
    across: str = "confidence of the model",
) -> Markup:
    """Draw how often the model was right against how sure it was, with the bins' counts below.

    ``what`` names what the bins hold, ``up`` and ``across`` the axes: words of our own. Returns an
    empty picture where no bin holds a document.
    """
    if not any(b.count for b in bins):
        return Markup("")
    top = _y(0) + 10
    bottom = top + _HISTOGRAM
    parts = [*_frame(bottom, across, up), *_points(bins, what), *_counts(bins, top)]
    head = (
        f'<svg class="diagram" viewBox="0 0 {_WIDTH:.0f} {bottom + 42:.0f}" role="img"'
        ' aria-label="Reliability diagram: share right against confidence, with counts">'
    )
    # Numbers and fixed words only: there is nothing to escape.
    return Markup(head + "".join(parts) + "</svg>")
