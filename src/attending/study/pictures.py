"""Pictures of a study as inline SVG: a dot plot with intervals, and learning curves.

Colours come from the page's style sheet. Names of systems are the user's and are escaped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

from attending.evaluation.intervals import Interval
from attending.evaluation.pictures import line, text
from attending.evaluation.wording import count, short

SERIES = 8
"""So many systems have colours of their own; further ones start anew, dashed."""
_TOP, _ROW, _BOTTOM = 10.0, 30.0, 40.0
_LETTER, _LONGEST = 7.0, 34
_WIDE, _HIGH = 600.0, 300.0
_LEFT = 52.0
_APART = 15.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A row of a dot plot; ``published`` is a paper's figure for it."""

    name: str
    mean: float
    interval: Interval | None
    values: tuple[float, ...]
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A system by training size or epoch: (which, mean, half the bar).

    Dashed, on training rows; dotted between diamonds, a paper's figures for it.
    """

    name: str
    points: tuple[tuple[float, float, float | None], ...]
    training: tuple[tuple[float, float], ...] = ()
    published: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Across:
    """The horizontal axis of curves: what it counts, and whether it is logarithmic."""

    counts: str
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands, before it is scaled to the picture."""
        return log10(value) if self.logarithmic else value


TRAINING_ROWS, EPOCHS = Across("training rows", logarithmic=True), Across("epochs")


def steps_between(low: float, high: float, most: int = 6) -> list[float]:
    """Return round marks of an axis from at or below ``low`` to at or above ``high``."""
    room = max(high - low, 1e-6)
    size = 10.0 ** floor(log10(room / most))
    step = next(size * k for k in (1, 2, 2.5, 5, 10, 20) if room / (size * k) <= most)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def _mark(value: float, step: float) -> str:
    digits = max(0, -floor(log10(step) + 1e-9))
    digits += 1 if abs(step * 10**digits - round(step * 10**digits)) > 1e-6 else 0
    return f"{value:.{digits}f}".replace("-", "−")


def _number(value: float) -> str:
    return count(int(value)) if float(value).is_integer() else f"{value:g}"


def _short(name: str) -> str:
    return short(name, _LONGEST)


def dot_plot(dots: Sequence[Dot], axis: str, reference: float | None = None) -> Markup:
    """Draw each system's mean with its interval, its seeds as ticks, a paper's figure as a diamond.

    ``axis`` says what is drawn; a dashed line stands at ``reference``. Empty without a dot.
    """
    if not dots:
        return Markup("")
    seen = [v for d in dots for v in (d.mean, *d.values, *_ends(d.interval))]
    seen += [d.published for d in dots if d.published is not None]
    marks = steps_between(min(seen), max(seen))
    left = 16 + _LETTER * max(len(_short(d.name)) for d in dots)
    wide = max(300.0, 720.0 - left)
    floor_ = _TOP + _ROW * len(dots)

    def x(value: float) -> float:
        return left + wide * (value - marks[0]) / (marks[-1] - marks[0])

    parts = []
    for mark in marks:
        parts.append(line("grid", x(mark), _TOP, x(mark), floor_))
        parts.append(text(x(mark), floor_ + 15, _mark(mark, marks[1] - marks[0])))
    parts.append(text(left + wide / 2, floor_ + 33, str(escape(axis))))
    if reference is not None:
        parts.append(line("ideal", x(reference), _TOP, x(reference), floor_))
    for row, dot in enumerate(dots):
        parts += _dot(dot, _TOP + _ROW * (row + 0.5), left, x)
    head = (
        f'<svg class="diagram study" viewBox="0 0 {left + wide + 16:.0f} {floor_ + _BOTTOM:.0f}"'
        ' role="img" aria-label="Mean of each system with its interval">'
    )
    return Markup(head + "".join(parts) + "</svg>")


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return () if interval is None else (interval.low, interval.high)


def _dot(dot: Dot, y: float, left: float, place: Callable[[float], float]) -> list[str]:
    name = str(escape(_short(dot.name)))
    parts = [text(left - 8, y + 4, f"<title>{escape(dot.name)}</title>{name}", "end",
                  ' class="name"')]  # fmt: skip
    if dot.interval is not None and dot.interval.low < dot.interval.high:
        parts.append(line("interval", place(dot.interval.low), y, place(dot.interval.high), y))
    parts += [line("seed", place(v), y + 5, place(v), y + 10) for v in dot.values]
    if dot.published is not None:
        said = f"{dot.name}, published: {dot.published:.3f}"
        parts.append(_diamond("paper", place(dot.published), y, said))
    parts.append(
        f'<circle class="dot" cx="{place(dot.mean):.1f}" cy="{y:.1f}" r="5">'
        f"<title>{name}: {dot.mean:.3f}</title></circle>"
    )
    return parts


def _diamond(look: str, x: float, y: float, said: str) -> str:
    corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
    return f'<polygon class="{look}" points="{corners}"><title>{escape(said)}</title></polygon>'


def learning_curves(curves: Sequence[Curve], axis: str, across: Across = TRAINING_ROWS) -> Markup:
    """Draw a figure against the number of training rows or of epochs.

    ``axis`` says what is drawn. Empty where no system has two points.
    """
    drawn = [c for c in curves if len(c.points) > 1]
    if not drawn:
        return Markup("")
    rows = sorted(
        {n for c in drawn for n, _, _ in c.points} | {n for c in drawn for n, _ in c.published}
    )
    seen = [m + k * (half or 0) for c in drawn for _, m, half in c.points for k in (-1, 1)]
    seen += [m for c in drawn for _, m in (*c.training, *c.published)]
    marks = steps_between(min(seen), max(seen))
    names = 20 + _LETTER * max(len(_short(c.name)) for c in drawn)
    low, high = across.place(rows[0]), across.place(rows[-1])

    def x(n: float) -> float:
        return _LEFT + 8 + (_WIDE - 16) * (across.place(n) - low) / (high - low)

    def y(value: float) -> float:
        return _TOP + _HIGH * (1 - (value - marks[0]) / (marks[-1] - marks[0]))

    parts = []
    for mark in marks:
        parts.append(line("grid", _LEFT, y(mark), _LEFT + _WIDE, y(mark)))
        parts.append(text(_LEFT - 6, y(mark) + 4, _mark(mark, marks[1] - marks[0]), "end"))
    last = -100.0
    for n in rows:
        parts.append(line("grid", x(n), _TOP, x(n), _TOP + _HIGH))
        if x(n) - last > 34:
            parts.append(text(x(n), _TOP + _HIGH + 16, _number(n)))
            last = x(n)
    middle = _TOP + _HIGH / 2
    turned = f' transform="rotate(-90 11 {middle:.1f})"'
    parts.append(text(11, middle, str(escape(axis)), more=turned))
    parts.append(text(_LEFT + _WIDE / 2, _TOP + _HIGH + 34, across.counts))
    ends = _spread_apart([y(c.points[-1][1]) for c in drawn])
    for number, (curve, end) in enumerate(zip(drawn, ends, strict=True)):
        parts += _curve(curve, number, end, x, y, across.counts)
    width, height = _LEFT + _WIDE + names, _TOP + _HIGH + 42
    head = (
        f'<svg class="diagram study" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="Learning curves by {across.counts}">'
    )
    return Markup(head + "".join(parts) + "</svg>")


def _curve(
    curve: Curve,
    number: int,
    end: float,
    across: Callable[[float], float],
    up: Callable[[float], float],
    counts: str,
) -> list[str]:
    look = f"s{number % SERIES}" + (" again" if number >= SERIES else "")
    parts = [
        line(f"{look} whisker", across(n), up(m - half), across(n), up(m + half))
        for n, m, half in curve.points
        if half
    ]
    if curve.training:
        path = " ".join(f"{across(n):.1f},{up(m):.1f}" for n, m in curve.training)
        parts.append(f'<polyline class="{look} training" points="{path}"/>')
    if curve.published:
        path = " ".join(f"{across(n):.1f},{up(m):.1f}" for n, m in curve.published)
        parts.append(f'<polyline class="{look} published" points="{path}"/>')
        for n, m in curve.published:
            said = f"{curve.name}, published, {_number(n)} {counts}: {m:.3f}"
            parts.append(_diamond(f"{look} published", across(n), up(m), said))
    path = " ".join(f"{across(n):.1f},{up(m):.1f}" for n, m, _ in curve.points)
    parts.append(f'<polyline class="{look}" points="{path}"/>')
    for n, m, _ in curve.points:
        said = f"{escape(curve.name)}, {_number(n)} {counts}: {m:.3f}"
        parts.append(
            f'<circle class="{look}" cx="{across(n):.1f}" cy="{up(m):.1f}" r="3.5">'
            f"<title>{said}</title></circle>"
        )
    n, m, _ = curve.points[-1]
    parts.append(line(f"{look} lead", across(n) + 5, up(m), across(n) + 16, end))
    parts.append(
        text(across(n) + 19, end + 4, str(escape(_short(curve.name))), "start",
             f' class="name {look}"')
    )  # fmt: skip
    return parts


def _spread_apart(wanted: Sequence[float]) -> list[float]:
    """Move names apart so that none covers another, as little as that takes."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        before = placed[order[rank - 1]] + _APART if rank else wanted[i]
        placed[i] = max(wanted[i], before)
    over = max(placed, default=0.0) - (_TOP + _HIGH)
    for rank in range(len(order) - 1, -1, -1):
        i = order[rank]
        most = _TOP + _HIGH if rank == len(order) - 1 else placed[order[rank + 1]] - _APART
        if over > 0:
            placed[i] = min(placed[i], most)
    return placed
