from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.explain.layout import Shade, lay_out
from attending.explain.words import word_spans


class Typewriter:
    """Every printable sign is one point wide."""

    def printable(self, text):
        return "".join(c for c in text if c.isprintable())

    def width(self, text):
        return float(len(text))


def laid(text, shades=(), width=12, max_lines=100):
    return lay_out(text, shades, width, Typewriter(), max_lines)


def lines(block):
    return [
        "".join(p.text for p in sorted(block.parts, key=lambda p: p.x) if p.line == i)
        for i in range(block.lines)
    ]


def test_lines_are_wrapped_at_blanks_and_at_the_message_s_own_ends():
    block = laid("one two three four\r\nfive\n\nsix\n\n")
    assert lines(block) == ["onetwo", "threefour", "five", "", "six"]
    assert [part.x for part in block.parts if part.line == 0] == [0, 4]
    assert block.hidden == 0


def test_words_are_shaded_and_their_punctuation_is_not():
    block = laid("(fever), ok", [Shade(1, 6, 0.5)])
    assert [(p.text, p.strength, p.x) for p in block.parts] == [
        ("(", 0.0, 0),
        ("fever", 0.5, 1),
        ("),", 0.0, 6),
        ("ok", 0.0, 9),
    ]


def test_what_does_not_fit_is_counted():
    block = laid("one two three four five", max_lines=1)
    assert (block.lines, block.hidden, lines(block)) == (1, 3, ["onetwo"])


def test_a_word_wider_than_the_page_is_cut():
    block = laid("x" * 30 + " y", [Shade(0, 30, 1.0)])
    assert [(p.text, p.line, p.strength) for p in block.parts] == [
        ("x" * 12, 0, 1.0),
        ("x" * 12, 1, 1.0),
        ("x" * 6, 2, 1.0),
        ("y", 2, 0.0),
    ]


def test_a_mark_stays_with_its_letter_when_a_word_is_cut():
    block = laid("a" * 12 + "\u0301bc")
    assert lines(block)[0].endswith("a\u0301") and lines(block)[1] == "bc"


def test_right_to_left_lines_run_from_the_right():
    first, second = sorted(laid("אב גד").parts, key=lambda part: -part.x)
    assert (first.text, first.x, second.text, second.x) == ("אב", 10, "גד", 7)


def test_left_to_right_words_keep_their_order_inside():
    block = laid("אב aspirin 81 mg גד", width=30)
    assert lines(block) == ["גדaspirin81mgאב"]
    assert max(part.x + part.width for part in block.parts) == 30


def test_an_empty_message_is_one_empty_line():
    assert laid("").lines == laid(" \n\t\n").lines == 1


@settings(max_examples=60, deadline=None)
@given(st.text("ab, .\n\tאب頭é\u0301\u200b-", max_size=60), st.integers(3, 20))
def test_nothing_overlaps_leaves_the_page_or_gets_lost(text, width):
    shades = [Shade(start, end, 0.5) for start, end in word_spans(text)]
    block = laid(text, shades, width)
    for number in range(block.lines):
        row = sorted((p for p in block.parts if p.line == number), key=lambda p: p.x)
        assert all(a.x + a.width <= b.x + 1e-9 for a, b in pairwise(row)), "parts overlap"
        marks = sum(p.text.count("\u0301") for p in row)
        assert all(p.x >= -marks and p.x + p.width <= width + marks for p in row)
    shown = sorted("".join(part.text for part in block.parts))
    assert shown == sorted(c for c in Typewriter().printable(text) if not c.isspace())


@pytest.mark.parametrize("unit", ["word ", "頭", "ab,"])
def test_long_messages_take_linear_time(unit):
    text = unit * 5_000
    shades = [Shade(start, end, 0.5) for start, end in word_spans(text)]
    assert laid(text, shades, width=40, max_lines=10).hidden >= 0
