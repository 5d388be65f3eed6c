import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.tagging.units import first_pieces, units_of, units_of_pieces
from attending.data.tagging.words import words
from attending.data.windows import Window, Windowed, Windower, owners
from attending.records import Coverage
from attending.specs import Windows

LONG = "severe chest pain, dizziness and weakness since yesterday morning! " * 9


@pytest.fixture(scope="module")
def windower(make_tiny):
    from transformers import AutoTokenizer

    def make(family="bert", **settings):
        tokenizer = AutoTokenizer.from_pretrained(make_tiny(family))
        return Windower(Windows(**settings), tokenizer=tokenizer, limit=64)

    return make


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("overlap", [0, 5, 16, 40])
def test_every_word_is_in_exactly_one_window(windower, family, overlap):
    (windowed,) = windower(family, max_tokens=20, overlap=overlap)([LONG])
    found = units_of(windowed, words(LONG), 7)
    assert len(found) > 5 and {u.document for u in found} == {7}
    numbers = np.concatenate([u.words for u in found])
    assert sorted(numbers.tolist()) == list(range(len(words(LONG))))
    for unit in found:
        assert (unit.columns >= 1).all() and (unit.columns < len(unit.window.ids) - 1).all()
        for number, column in zip(unit.words.tolist(), unit.columns.tolist(), strict=True):
            piece = unit.window.first + column - unit.window.before
            start, end = windowed.offsets[piece]
            first, last = words(LONG)[number]
            assert first <= start < end <= last or (start <= first < end)


def test_a_word_belongs_to_the_window_in_whose_middle_it_lies():
    windows = (
        Window((0, 1, 2, 3, 4, 9), 0, 4),
        Window((0, 3, 4, 5, 6, 9), 2, 4),
        Window((0, 5, 6, 7, 9), 4, 3),
    )
    offsets = tuple((i, i + 1) for i in range(7))
    windowed = Windowed(windows, offsets, Coverage(7, 7, 3))
    # Token 2 is third of four in the first window, first in the second; token 3 the other way.
    assert owners(windowed).tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_all_pieces_of_a_word_say_which_go_on(windower):
    text = "dizziness, swellings"
    (windowed,) = windower()([text])
    (unit,) = units_of_pieces(windowed, words(text), 0)
    assert len(unit.words) == len(windowed.offsets)
    assert unit.words.tolist() == sorted(unit.words.tolist())
    starts = [a for a, _ in words(text)]
    firsts = [windowed.offsets[c - 1][0] for c in unit.columns[~unit.goes_on].tolist()]
    assert firsts == starts and unit.goes_on.any()


def test_a_piece_of_several_words_is_the_first_of_each():
    windowed = Windowed((), ((0, 1), (1, 3)), Coverage(2, 2, 1))
    assert first_pieces(windowed, ((0, 1), (1, 2), (2, 3))).tolist() == [0, 1, 1]


def test_a_word_that_a_tokenizer_drops_has_no_piece(windower):
    text = "pain \u200b here"
    (windowed,) = windower()([text])
    assert first_pieces(windowed, words(text)).tolist()[1] == -1
    (unit,) = units_of(windowed, words(text), 0)
    assert unit.words.tolist() == [0, 2]


def test_what_was_cut_off_is_not_tagged(windower):
    (windowed,) = windower(max_tokens=20, on_overflow="truncate")([LONG])
    (unit,) = units_of(windowed, words(LONG), 0)
    assert 0 < len(unit.words) < len(words(LONG))
    assert unit.words.tolist() == list(range(len(unit.words)))


@settings(max_examples=60)
@given(st.text("aé\u0301ßŁ \n\r.,(2\U0001f600\u00a0\u200d\ufe0f\ud83d", max_size=120))
def test_any_text_s_words_lie_where_their_pieces_are(windower, text):
    (windowed,) = windower(max_tokens=8, overlap=3)([text])
    own = words(text)
    seen = [n for u in units_of(windowed, own, 0) for n in u.words.tolist()]
    assert len(seen) == len(set(seen))
    pieces = first_pieces(windowed, own)
    assert sorted(seen) == np.flatnonzero(pieces >= 0).tolist()
    for (start, end), piece in zip(own, pieces.tolist(), strict=True):
        if piece >= 0:
            assert windowed.offsets[piece][0] < end and windowed.offsets[piece][1] > start
