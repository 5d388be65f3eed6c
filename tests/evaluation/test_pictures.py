"""Pictures: every bin is drawn, names are escaped, bars stay inside."""

import re

from attending.evaluation.calibration import Bin
from attending.evaluation.intervals import Interval
from attending.evaluation.pictures import bar, reliability


def test_every_bin_with_documents_is_drawn_once():
    bins = (
        Bin(0.0, 0.5, 4, 0.4, 0.5),
        Bin(0.5, 0.75, 0, None, None),
        Bin(0.75, 1.0, 30, 0.9, 0.8),
    )
    drawn = str(reliability(bins))
    assert drawn.count('class="dot few"') == 1 and drawn.count('class="dot"') == 1
    assert drawn.count('class="count"') == 2 and drawn.count('class="whisker"') == 2
    assert "4 documents" in drawn and "30 documents" in drawn


def test_points_lie_where_their_figures_are():
    drawn = str(reliability((Bin(0.0, 1.0, 20, 0.25, 0.75),)))
    x, y = map(float, re.search(r'cx="([\d.]+)" cy="([\d.]+)"', drawn).groups())
    left, top, right, bottom = map(
        float,
        re.search(r'"ideal" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', drawn).group(
            1, 4, 3, 2
        ),
    )
    assert x == round(left + (right - left) / 4, 1)
    assert y == round(bottom - 0.75 * (bottom - top), 1)


def test_nothing_to_draw_gives_an_empty_picture():
    assert reliability(()) == "" and reliability((Bin(0.0, 1.0, 0, None, None),)) == ""


def test_bars_escape_names_and_show_the_interval():
    drawn = str(bar(0.5, Interval(0.25, 1.0, 0.95), 'recall of "<b>"'))
    assert "<b>&#34;" not in drawn and "&lt;b&gt;" in drawn
    assert "width:50.00%" in drawn and "left:25.00%;width:75.00%" in drawn
    assert "not defined" in bar(None, None, "recall")
