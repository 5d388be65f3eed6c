import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.explain.markup import plain, shaded, visible
from attending.explain.words import word_spans
from attending.records import Evidence

SIGNS = st.sampled_from("ab <>&\"'é\u0301\n\r\t\x00\x07\u200b\u200d\u202e\ufeff😀👍🏽\ud800頭.-")
TEXTS = st.one_of(st.text(SIGNS, max_size=30), st.text(max_size=30))


class Reader(HTMLParser):
    """Collects what a reader sees, and the open elements around each character."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.text, self.around, self.open, self.codes = "", [], [], []
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.open.append(values.get("class") or tag)
        if "data-code" in values:
            self.codes.append(values["data-code"])
            assert self.open[-1] == "hid"

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        self.text += data
        self.around += [tuple(self.open)] * len(data)


def words_of(text, score=1.0):
    return [Evidence(*w, score, "x", "m") for w in word_spans(text)]


def test_words_are_shaded_by_score_and_sign():
    words = [
        Evidence(0, 5, 2.0, "x", "m"),
        Evidence(6, 10, -1.0, "x", "m"),
        Evidence(11, 14, 0.1, "x", "m"),
    ]
    html = shaded("chest pain now", words, [Evidence(0, 10, 1.0, "x", "m")])
    assert html == (
        '<mark><span class="p9" title="2">chest</span> <span class="n4" title="-1">pain</span>'
        "</mark> now"
    )


def test_the_unread_end_is_told_apart():
    html = shaded("chest pain. More", words_of("chest pain"), (), unread_from=10)
    reader = Reader(html)
    assert [
        text for text, around in zip(reader.text, reader.around, strict=True) if "unread" in around
    ] == list(". More")


def test_markup_in_a_message_is_text():
    text = '<script>alert("x")</script> <img src=x onerror=y> &amp; \'"'
    html = shaded(text, words_of(text), [Evidence(0, len(text), 1.0, "x", "m")])
    assert "<script" not in html and "<img" not in html
    assert Reader(html).text == text


@pytest.mark.parametrize(
    ("sign", "code"),
    [
        ("\u200b", "U+200B"),
        ("\ufeff", "U+FEFF"),
        ("\u202e", "U+202E"),
        ("\u00ad", "U+00AD"),
        ("\u3164", "U+3164"),
        ("\u2028", "U+2028"),
        ("\x00", "U+0000"),
        ("\x07", "U+0007"),
        ("\ud800", "U+D800"),
        ("\u200d", "U+200D"),
    ],
)
def test_hidden_signs_are_shown_by_their_code(sign, code):
    reader = Reader(plain(f"a {sign} b"))
    assert reader.codes == [code]
    assert reader.text in (f"a {sign} b", "a  b")


@pytest.mark.parametrize(
    "text", ["👩\u200d⚕️", "می\u200cخواهم", "👍🏽", "🇬🇧", "é\u0301", "a\tb\nc", "\xa0"]
)
def test_signs_that_do_their_work_are_left_alone(text):
    assert Reader(plain(text)).codes == []
    assert plain(text) == text


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_the_text_comes_out_as_it_went_in(text, data):
    words = [Evidence(*w, data.draw(st.floats(-2, 2)), "x", "m") for w in word_spans(text)]
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(text))))
    spans = [
        Evidence(*sorted((data.draw(st.integers(0, len(text))), len(text))), 1.0, "x", "m")
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    reader = Reader(shaded(text, words, spans, cut))
    assert reader.open == []
    lines = re.sub("\r\n?", "\n", text)
    kept = [c for c in lines if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Cn")]
    assert reader.text == "".join(kept)


def test_line_ends_are_one_newline_each():
    assert visible("a\r\nb\rc\nd") == "a\nb\nc\nd"


def test_scores_of_nothing_shade_nothing():
    assert shaded("a b", words_of("a b", 0.0), ()) == "a b"
    assert shaded("", (), ()) == ""
