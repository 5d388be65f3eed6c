"""What one tag a word can't hold is chosen by one rule, and counted."""

import json
from itertools import pairwise

from hypothesis import given

from attending.data.spans.brat import read_brat
from attending.data.spans.flat import flat_notes, flatten
from attending.data.tagging.words import words
from attending.records import Span

from .conftest import documents


def test_the_nested_case(case):
    values = json.loads((case("D14") / "expected.json").read_text())["values"]
    (document,) = read_brat(case("D14") / "doc.txt")
    flat = flatten(document.spans, words(document.text))
    assert [s.id for s in flat.kept] == values["kept_when_flat"]
    assert [s.id for s in flat.dropped] == values["dropped_when_flat"]
    assert flat_notes([("doc", flat)]) == (
        "1 span (doc T1) left out: one tag a word holds no nested or overlapping spans",
    )


def test_the_discontinuous_case(case):
    values = json.loads((case("D13") / "expected.json").read_text())["values"]
    (document,) = read_brat(case("D13") / "doc.txt")
    for way in ("fragments", "cover", "drop"):
        flat = flatten(document.spans, words(document.text), discontinuous=way)
        assert {s.id for s in flat.affected} >= set(values["affected_by_flattening_includes"])
        assert [s.id for s in flat.kept] == ["T2"]


def test_three_ways_with_spans_in_pieces():
    text = "pain in left and swollen knee"
    span = Span(8, 29, "Site", ((8, 12), (25, 29)))
    kept = {
        way: [(s.start, s.end) for s in flatten([span], words(text), discontinuous=way).kept]
        for way in ("fragments", "cover", "drop")
    }
    assert kept == {"fragments": [(8, 12), (25, 29)], "cover": [(8, 29)], "drop": []}


def test_spans_take_in_whole_words():
    flat = flatten([Span(1, 7, "x", id="T1")], words("fever and"))
    assert [(s.start, s.end) for s in flat.kept] == [(0, 9)]
    assert [s.id for s in flat.widened] == ["T1"]
    assert flatten([Span(5, 6, "x")], words("fever and")).dropped


@given(documents(blank_edges=True))
def test_nothing_shares_a_word_and_nothing_is_lost_silently(document):
    own = words(document.text)
    flat = flatten(document.spans, own)
    borders = [(s.start, s.end) for s in flat.kept]
    assert borders == sorted(borders)
    assert all(a[1] <= b[0] for a, b in pairwise(borders))
    starts, ends = {a for a, _ in own}, {b for _, b in own}
    assert all(s.start in starts and s.end in ends for s in flat.kept)
    as_they_were = {(s.label, s.pieces) for s in flat.kept}
    for span in document.spans:
        assert span in flat.affected or (span.label, span.pieces) in as_they_were
