import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.tagging.words import words, words_of
from attending.records import Document


def surfaces(text):
    return [text[a:b] for a, b in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n\u00a0\u2009", []),
        ("chest pain", ["chest", "pain"]),
        ("T2N0, 2.5 mg/dl", ["T2N0", ",", "2", ".", "5", "mg", "/", "dl"]),
        ("Sign_symptom", ["Sign", "_", "symptom"]),
        ("a\r\nb", ["a", "b"]),
        ("caf\u0065\u0301 bar", ["caf\u0065\u0301", "bar"]),
        ("\u0301x", ["\u0301", "x"]),  # a mark without a letter before it
        ("\U0001f469\u200d\u2695\ufe0f ok", ["\U0001f469\u200d\u2695\ufe0f", "ok"]),
        ("\U0001f44d\U0001f3fd!", ["\U0001f44d\U0001f3fd", "!"]),
        ("\U0001f1e9\U0001f1ea", ["\U0001f1e9\U0001f1ea"]),
        ("x\ud83d\ude00y", ["x", "\ud83d\ude00", "y"]),
        ("10²", ["10²"]),
        ("\u200bx", ["\u200b", "x"]),
    ],
)
def test_what_a_word_is(text, expected):
    assert surfaces(text) == expected


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_visible_character_is_in_exactly_one_word(text):
    covered = [i for a, b in words(text) for i in range(a, b)]
    assert covered == [i for i, c in enumerate(text) if not c.isspace()]


@given(st.text("ae\u0301\u0308 .\U0001f44d\ufe0f\u200d", max_size=30))
def test_marks_stay_with_what_they_are_on(text):
    for start, _ in words(text):
        alone = start == 0 or text[start - 1].isspace()
        assert alone or not unicodedata.combining(text[start])


def test_a_source_s_own_tokens_are_its_words():
    own = Document("d", "non-small cell", attributes={"tokens": [[0, 9], [10, 14]]})
    assert words_of(own) == ((0, 9), (10, 14))
    assert len(words_of(Document("d", "non-small cell"))) == 4


@pytest.mark.parametrize(
    "tokens",
    [
        [[0, 400], [401, 409]],  # beyond the text
        [[5, 9], [0, 4]],  # out of order
        [[0, 5], [4, 9]],  # overlapping
        [[0, 0], [5, 9]],  # of no length
        [[-4, 4]],
        [[0, 4, 5]],
        [[0.0, 4.0]],
        [[False, True]],
        ["Pain", "here"],
        ["Pa", "he"],
        "[[0, 4]]",
        2,
        {},
        [],
        [None],
    ],
)
def test_a_column_called_tokens_that_holds_no_offsets_of_words_is_only_a_column(tokens):
    document = Document("d", "Pain here", attributes={"tokens": tokens})
    assert words_of(document) == ((0, 4), (5, 9))


def test_accents_as_given(case):
    folder = case("D16")
    expected = json.loads((folder / "expected.json").read_text("utf-8"))["values"]
    for name in ("nfc", "nfd"):
        text = (folder / f"{name}.txt").read_text("utf-8").rstrip("\n")
        found = words(text)
        for word, offsets in expected[name].items():
            assert tuple(offsets) in found and text[slice(*offsets)] == word
