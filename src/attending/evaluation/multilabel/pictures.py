"""Pictures of a multi-label evaluation as inline SVG: frequency and thresholds.

Colours come from the page's style sheet. Numbers and fixed words alone enter a picture.
"""

from collections.abc import Sequence
from math import log10

import numpy as np
from markupsafe import Markup

from attending.evaluation.counts import FloatArray, IntArray
from attending.evaluation.multilabel.areas import Operating
from attending.evaluation.pictures import line, text
from attending.evaluation.wording import count, decimal

_LEFT, _TOP, _WIDE, _HIGH = 48.0, 14.0, 560.0, 210.0
_BELOW = 24.0
"""From the axis down to its marks: circles at zero need room."""
_STEPS = (1, 2, 5)
_LARGEST, _SMALLEST, _SINGLE = 12.0, 2.5, 3.5
"""Radii of the largest and the smallest circle, and of one that stands for a single label."""
_ROWS, _COLUMNS = 20, 36
_EXTREME = 0.03
_SIDE = 60.0
"""Room to the right of the curves for their names."""
CURVES = ("precision", "recall", "f1")


def _y(value: float) -> float:
    return _TOP + _HIGH * (1 - value)


def _frame(
    ticks: Sequence[tuple[float, str]], across: str, up: str, label: str, side: float = 10.0
) -> tuple[list[str], str]:
    """Draw the grid and the axes; return the parts and the head of the picture."""
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line("grid", _LEFT, _y(tick), _LEFT + _WIDE, _y(tick)))
        parts.append(text(_LEFT - 6, _y(tick) + 4, f"{tick:.2f}".rstrip("0").rstrip("."), "end"))
    for x, words in ticks:
        parts.append(line("grid", x, _TOP, x, _y(0)))
        parts.append(text(x, _y(0) + _BELOW, words))
    middle = _TOP + _HIGH / 2
    parts.append(text(11, middle, up, more=f' transform="rotate(-90 11 {middle:.1f})"'))
    parts.append(text(_LEFT + _WIDE / 2, _y(0) + _BELOW + 19, across))
    width, height = _LEFT + _WIDE + side, _y(0) + _BELOW + 26
    head = (
        f'<svg class="diagram wide" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' role="img" aria-label="{label}">'
    )
    return parts, head


def _thousands(value: int) -> str:
    return f"{value // 1000}k" if value >= 10_000 and value % 1000 == 0 else count(value)


def _counts_axis(largest: int) -> tuple[float, list[int]]:
    """Return the decades a logarithmic axis spans, and its marks."""
    decades = max(log10(max(largest, 2)), 1.0)
    marks = [s * 10**p for p in range(int(decades) + 1) for s in _STEPS if s * 10**p <= largest]
    return decades, marks if decades <= 3 else [m for m in marks if str(m)[0] == "1"]


def frequency_plot(frequency: IntArray, f1: FloatArray, where: str) -> Markup:
    """Draw F1 of labels against how often they occur, on a logarithmic axis that has a place for 0.

    frequency and f1 are (n,), one for each label drawn. Labels of like place share a circle whose
    area grows with their number; the line is the mean F1 of each column. ``where`` says what is
    counted ("training documents"). Empty where there is nothing to draw.
    """
    if not frequency.size:
        return Markup("")
    decades, marks = _counts_axis(int(frequency.max()))
    none = 34.0 if (frequency == 0).any() else 0.0
    room = _WIDE - none - 12

    def x(value: float) -> float:
        return _LEFT + 16 if value < 1 else _LEFT + none + 6 + room * log10(value) / decades

    ticks = [(x(0), "0")] * (none > 0) + [(x(m), _thousands(m)) for m in marks]
    parts, head = _frame(
        ticks, f"{where} that have the label", "F1 of the label", "F1 of labels by frequency"
    )
    place = np.where(
        frequency == 0,
        -1,
        np.minimum(np.log10(np.maximum(frequency, 1)) / decades * _COLUMNS, _COLUMNS - 1),
    ).astype(int)
    level = np.minimum((f1 * _ROWS).astype(int), _ROWS)
    cells = np.unique(np.stack([place, level]), axis=1)
    most = max(int(((place == p) & (level == v)).sum()) for p, v in cells.T)
    for column in np.unique(place):
        inside = place == column
        centre = x(float(np.exp(np.log(np.maximum(frequency[inside], 1)).mean())) * (column >= 0))
        for row in np.unique(level[inside]):
            here = inside & (level == row)
            parts.append(_bubble(centre, frequency[here], f1[here], most))
    parts.append(_path("mean", [(x(often), _y(mean)) for often, mean in _means(frequency, f1)]))
    return Markup(head + "".join(parts) + "</svg>")


def _means(frequency: IntArray, f1: FloatArray) -> list[tuple[float, float]]:
    """Average F1 of labels between the steps 0, 1, 2, 5, 10, 20, 50, ..., at their mean place."""
    largest = int(frequency.max())
    steps = sorted(s * 10**p for p in range(len(str(largest)) + 1) for s in _STEPS)
    group = np.searchsorted(steps, frequency, "right")
    found = []
    for k in np.unique(group):
        inside = group == k
        often = np.exp(np.log(np.maximum(frequency[inside], 1)).mean()) if k else 0.0
        found.append((float(often), float(f1[inside].mean())))
    return found


def _bubble(centre: float, frequency: IntArray, f1: FloatArray, most: int) -> str:
    number = int(frequency.size)
    radius = max(_SMALLEST, min(_SINGLE, _LARGEST / most**0.5) * number**0.5)
    low, high = int(frequency.min()), int(frequency.max())
    span = count(low) if low == high else f"{count(low)} to {count(high)}"
    said = f"{count(number)} label{'' if number == 1 else 's'}, in {span} documents"
    return (
        f'<circle class="bubble" cx="{centre:.1f}" cy="{_y(float(f1.mean())):.1f}"'
        f' r="{radius:.1f}"><title>{said}, F1 {decimal(float(f1.mean()))}</title></circle>'
    )


def _path(kind: str, points: Sequence[tuple[float, float]]) -> str:
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="{kind}" points="{drawn}"/>'


def _logit(value: float) -> float:
    kept = min(max(value, 1e-4), 1 - 1e-4)
    return log10(kept / (1 - kept))


def _threshold_axis(curve: Sequence[Operating], best: Operating) -> tuple[object, list[float]]:
    low, high = curve[0].threshold, curve[-1].threshold
    if low >= 0 and high <= 1:
        if _EXTREME < best.threshold < 1 - _EXTREME:
            return (lambda t: t), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        marks = [1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 - 1e-4]
        return (lambda t: (_logit(t) + 4) / 8), marks
    span = (high - low) or 1.0
    return (lambda t: (t - low) / span), [low + span * k / 4 for k in range(5)]


def threshold_plot(curve: Sequence[Operating], best: Operating | None) -> Markup:
    """Draw micro precision, recall and F1 against the threshold that labels are given from.

    The axis is linear; where the best threshold lies within 0.03 of 0 or 1 it is the logit.
    Empty without a curve.
    """
    if not curve or best is None:
        return Markup("")
    scale, marks = _threshold_axis(curve, best)

    def x(threshold: float) -> float:
        return _LEFT + _WIDE * scale(threshold)  # type: ignore[operator,no-any-return]

    ticks = [(x(m), f"{m:.4g}") for m in marks]
    parts, head = _frame(
        ticks,
        "threshold on the score",
        "micro figure",
        "Precision, recall and F1 by threshold",
        _SIDE,
    )
    for name in CURVES:
        parts.append(_path(name, [(x(p.threshold), _y(getattr(p, name))) for p in curve]))
    for words, y in _apart({name: _y(getattr(curve[-1], name)) for name in CURVES}):
        parts.append(text(x(curve[-1].threshold) + 5, y + 4, words.replace("f1", "F1"), "start"))
    spot = x(best.threshold)
    parts.append(line("ideal", spot, _TOP, spot, _y(0)))
    parts.append(
        f'<circle class="dot" cx="{spot:.1f}" cy="{_y(best.f1):.1f}" r="4.5"><title>highest F1'
        f" {decimal(best.f1)} at {best.threshold:.4g}</title></circle>"
    )
    return Markup(head + "".join(parts) + "</svg>")


def _apart(places: dict[str, float], gap: float = 13.0) -> list[tuple[str, float]]:
    """Move names that would lie on each other apart: downwards, then up from the picture's end."""
    order = sorted(places, key=lambda words: places[words])
    spots = [places[words] for words in order]
    for k in range(1, len(spots)):
        spots[k] = max(spots[k], spots[k - 1] + gap)
    floor = _y(0)
    for k in reversed(range(len(spots))):
        spots[k] = min(spots[k], floor)
        floor = spots[k] - gap
    return list(zip(order, spots, strict=True))
