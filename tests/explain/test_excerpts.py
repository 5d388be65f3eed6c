from hypothesis import given
from hypothesis import strategies as st

from attending.explain.excerpts import excerpts, gaps
from attending.records import Evidence


def span(text, word, at=0):
    start = text.index(word, at)
    return Evidence(start, start + len(word), 1.0, None, "m")


FILLER = "one two three four five six seven eight nine ten "
TEXT = FILLER * 10 + "PAIN " + FILLER * 10 + "FEVER " + FILLER * 10


def test_a_short_text_is_one_part():
    assert excerpts("chest pain", [], whole=10) == ((0, 10),)
    assert gaps("chest pain", [(0, 10)]) == [0, 0]


def test_what_lies_around_the_evidence():
    spans = [span(TEXT, "FEVER"), span(TEXT, "PAIN")]
    parts = excerpts(TEXT, spans, whole=100, around=20)
    shown = [TEXT[start:end] for start, end in parts]
    assert shown == [
        "seven eight nine ten PAIN one two three four five",
        "seven eight nine ten FEVER one two three four five",
    ]
    assert gaps(TEXT, parts) == [96, 91, 95]
    whole = len(TEXT.split())
    assert sum(gaps(TEXT, parts)) + sum(len(x.split()) for x in shown) == whole


def test_neighbours_are_one_part():
    spans = [span(TEXT, "PAIN"), span(TEXT, "two", TEXT.index("PAIN"))]
    assert len(excerpts(TEXT, spans, whole=100, around=30)) == 1


def test_without_evidence_the_start_is_shown():
    ((start, end),) = excerpts(TEXT, [], whole=60)
    assert start == 0 and TEXT[:end].split() == TEXT.split()[: len(TEXT[:end].split())]
    assert 60 <= end < 75


def test_a_word_without_end_is_cut():
    text = "x" * 5000
    assert excerpts(text, [Evidence(2000, 2010, 1.0, None, "m")], whole=100, around=50) == (
        (1950, 2060),
    )
    assert excerpts(text, [], whole=100) == ((0, 100),)


@given(
    st.text(st.sampled_from("ab \n"), min_size=1, max_size=400),
    st.lists(st.tuples(st.integers(0, 399), st.integers(1, 20)), max_size=4),
    st.integers(1, 60),
)
def test_parts_are_in_order_apart_and_hold_the_evidence(text, places, around):
    spans = [
        Evidence(start, min(start + length, len(text)), 1.0, None, "m")
        for start, length in places
        if start < len(text)
    ]
    parts = excerpts(text, spans, whole=50, around=around)
    edges = [at for part in parts for at in part]
    assert edges == sorted(edges) and edges[0] >= 0 and edges[-1] <= len(text)
    assert len(gaps(text, parts)) == len(parts) + 1
    for one in spans:
        assert len(text) <= 50 or any(a <= one.start and one.end <= b for a, b in parts)
