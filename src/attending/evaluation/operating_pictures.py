"""Pictures of operating points as inline SVG: alerts against recall, coverage against accuracy.

Colours come from the page's style sheet. Numbers and fixed words alone enter a picture.
"""

from collections.abc import Sequence

from markupsafe import Markup

from attending.evaluation.operating import AlertCurve, CoverageCurve
from attending.evaluation.pictures import line, text
from attending.evaluation.wording import percent

_LEFT, _TOP, _SIDE, _RIGHT = 44.0, 12.0, 280.0, 14.0
_NARROWEST = 0.05
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _x(value: float) -> float:
    return _LEFT + _SIDE * value


def _y(value: float, low: float = 0.0) -> float:
    return _TOP + _SIDE * (1 - (value - low) / (1 - low))


def alert_picture(curve: AlertCurve, given: tuple[float, float] | None) -> Markup:
    """Draw recall against alerts per 1,000 documents; ``given`` (alerts, recall) is what was done.

    On the dashed line alerts are given by chance. Both of ``given`` are shares.
    """
    parts = _frame([f"{1000 * t:.0f}" for t in _TICKS], "alerts per 1,000 documents", "recall", 0.0)
    parts.append(line("ideal", _x(0), _y(0), _x(1), _y(1)))
    points = [(_x(a), _y(r)) for a, r in zip(curve.alerts, curve.recall, strict=True)]
    parts.append(_path(points))
    if given is not None:
        said = f"{1000 * given[0]:.0f} alerts per 1,000, recall {percent(given[1])}"
        parts.append(_dot(_x(given[0]), _y(given[1]), said))
    return _whole(parts, "Recall against alerts per 1,000 documents")


def coverage_picture(curve: CoverageCurve, given: tuple[float, float] | None) -> Markup:
    """Draw accuracy of what is answered against its share; ``given`` (share, accuracy).

    The axis of accuracy starts where the curve needs it, and says so.
    """
    lowest = min([*curve.accuracy, given[1] if given else 1.0])
    low = min(int(lowest * 20) / 20, 1 - _NARROWEST)
    parts = _frame(
        [f"{100 * t:.0f}%" for t in _TICKS], "share of documents answered", "share right", low
    )
    points = [(_x(k), _y(a, low)) for k, a in zip(curve.kept, curve.accuracy, strict=True)]
    parts.append(_path(points))
    if given is not None:
        said = f"{percent(given[0])} answered, {percent(given[1])} of them right"
        parts.append(_dot(_x(given[0]), _y(given[1], low), said))
    return _whole(parts, "Accuracy against the share of documents answered")


def _frame(across: Sequence[str], under: str, beside: str, low: float) -> list[str]:
    parts = []
    for tick, words in zip(_TICKS, across, strict=True):
        parts.append(line("grid", _x(tick), _TOP, _x(tick), _y(0)))
        parts.append(text(_x(tick), _y(0) + 16, words))
    for tick in _TICKS:
        y = _y(tick)
        parts.append(line("grid", _LEFT, y, _x(1), y))
        parts.append(text(_LEFT - 6, y + 4, f"{100 * (low + tick * (1 - low)):.0f}%", "end"))
    middle = _TOP + _SIDE / 2
    parts.append(text(10, middle, beside, more=f' transform="rotate(-90 10 {middle:.1f})"'))
    parts.append(text(_x(0.5), _y(0) + 34, under))
    return parts


def _path(points: Sequence[tuple[float, float]]) -> str:
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _dot(x: float, y: float, said: str) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{said}</title></circle>'


def _whole(parts: Sequence[str], label: str) -> Markup:
    width, height = _LEFT + _SIDE + _RIGHT, _TOP + _SIDE + 42
    head = (
        f'<svg class="diagram" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{label}">'
    )
    # Numbers and fixed words only: there is nothing to escape.
    return Markup(head + "".join(parts) + "</svg>")
