"""Pictures: what is drawn where."""

import re

import pytest

from attending.evaluation.intervals import Interval
from attending.study.pictures import (
    Curve,
    Dot,
    _spread_apart,
    dot_plot,
    learning_curves,
    steps_between,
)


@pytest.mark.parametrize(
    ("low", "high"), [(0.2, 0.9), (0.79, 0.81), (0.5, 0.5), (-3.0, 40.0), (0.0, 1.0)]
)
def test_marks_are_round_and_hold_all(low, high):
    marks = steps_between(low, high)
    assert marks[0] <= low + 1e-9 and marks[-1] >= high - 1e-9 and 1 <= len(marks) <= 9
    if low < high:
        assert marks[-1] - marks[0] < 3 * (high - low)


def test_a_dot_plot_holds_all_rows():
    dots = [
        Dot("plain", 0.8, Interval(0.75, 0.85, 0.95), (0.79, 0.81), 0.748),
        Dot("<odd>", 0.9, Interval(0.9, 0.9, 0.95), (0.9,)),
    ]
    svg = str(dot_plot(dots, "Macro-F1", 0.8))
    assert svg.count("<circle") == 2 and svg.count('class="seed"') == 3
    assert svg.count('class="interval"') == 1, "an interval without width is no certainty"
    assert svg.count('class="paper"') == 1 and svg.count('class="ideal"') == 1
    assert "&lt;odd&gt;" in svg and "<odd>" not in svg
    x = [float(v) for v in re.findall(r'<circle class="dot" cx="([\d.]+)"', svg)]
    assert x[0] < x[1]
    assert str(dot_plot([], "Macro-F1")) == ""


def test_curves_are_drawn_by_rows():
    curves = [
        Curve("a", ((100, 0.5, 0.02), (400, 0.7, None)), ((100, 0.9), (400, 0.95))),
        Curve("b", ((100, 0.5, 0.01), (400, 0.7, 0.01))),
        Curve("alone", ((100, 0.5, None),)),
    ]
    svg = str(learning_curves(curves, "Macro-F1"))
    assert svg.count("<polyline") == 3 and svg.count("training") >= 1
    assert svg.count("<circle") == 4 and "alone" not in svg
    ends = [float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="start"', svg)]
    assert abs(ends[0] - ends[1]) >= 14, "names of equal ends don't cover each other"
    assert str(learning_curves(curves[2:], "Macro-F1")) == ""


def test_a_published_curve_stands_beside_ours():
    ours = ((50.0, 0.4, None), (200.0, 0.6, None))
    curves = [Curve("<mine>", ours, published=((25.0, 0.3), (800.0, 0.9))), Curve("other", ours)]
    svg = str(learning_curves(curves, "Macro-F1"))
    assert svg.count('<polygon class="s0 published"') == 2 and "s1 published" not in svg
    assert "&lt;mine&gt;, published, 800 training rows: 0.900" in svg
    (path,) = re.findall(r'<polyline class="s0 published" points="([^"]+)"', svg)
    places = [tuple(map(float, point.split(","))) for point in path.split()]
    circles = [float(x) for x in re.findall(r'<circle class="s0" cx="([\d.]+)"', svg)]
    assert places[0][0] < min(circles) and places[1][0] > max(circles), "the axis holds both"
    assert places[0][1] > places[1][1]


def test_names_are_moved_apart_as_little_as_it_takes():
    assert _spread_apart([10.0, 100.0]) == [10.0, 100.0]
    assert _spread_apart([100.0, 100.0, 10.0]) == [100.0, 115.0, 10.0]
    placed = _spread_apart([309.0, 310.0, 310.0])
    assert max(placed) <= 310.0 and placed == [280.0, 295.0, 310.0]
