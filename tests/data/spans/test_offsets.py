"""Offsets of other tools become code points, and come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.spans.corpus import Faults
from attending.data.spans.offsets import Counting, Ruler, fitting, says
from attending.data.spans.placing import Annotation, place

from .conftest import documents, texts

COUNTINGS = [
    Counting(unit, crlf, lead)
    for unit in ("code-points", "utf-16", "utf-8")
    for crlf in (False, True)
    for lead in (0, 1)
]
EMOJI = "ok 😀 fever\r\nand rash"


@given(texts, st.sampled_from(COUNTINGS))
def test_every_place_comes_back(text, counting):
    ruler = Ruler(text, counting)
    inside_crlf = {i + 1 for i in range(len(text) - 1) if text[i : i + 2] == "\r\n"}
    for position in range(len(text) + 1):
        if not (counting.crlf_as_one and position in inside_crlf):
            assert ruler.inward(ruler.outward(position)) == position
    assert ruler.inward(ruler.end + 1) is None
    assert ruler.inward(-1) is None


@given(texts)
def test_units_are_those_of_the_encodings(text):
    for position in range(len(text) + 1):
        front = text[:position]
        assert (
            Ruler(text, Counting("utf-16")).outward(position) == len(front.encode("utf-16-le")) / 2
        )
        assert Ruler(text, Counting("utf-8")).outward(position) == len(front.encode())


def test_half_a_character_is_no_place():
    text = EMOJI
    assert Ruler(text, Counting("utf-16")).inward(4) is None
    assert Ruler(text, Counting("utf-8")).inward(4) is None
    assert Ruler("a\ud83db", Counting("utf-16")).inward(2) == 2  # a lone surrogate is one unit


@pytest.mark.parametrize("counting", COUNTINGS)
def test_the_words_tell_how_offsets_were_counted(counting):
    ruler = Ruler(EMOJI, counting)
    marked = []
    for words in ("ok", "fever", "rash"):
        start = EMOJI.index(words)
        marked.append((((ruler.outward(start), ruler.outward(start + len(words))),), words))
    assert fitting(EMOJI, marked, lead=True, first=Counting()) == counting


@given(documents(), st.sampled_from(COUNTINGS))
def test_declared_offsets_give_the_same_spans(document, counting):
    ruler = Ruler(document.text, counting)
    inside = {i + 1 for i in range(len(document.text) - 1) if document.text[i : i + 2] == "\r\n"}
    spans = [s for s in document.spans if inside.isdisjoint(x for p in s.pieces for x in p)]
    annotations = [
        Annotation(
            tuple((ruler.outward(a), ruler.outward(b)) for a, b in s.pieces), s.label, None, 1
        )
        for s in spans
    ]
    faults = Faults()
    found, _ = place(annotations, document.text, "f", faults, counting=counting)
    assert not faults.found
    assert sorted((s.label, s.pieces) for s in found) == sorted((s.label, s.pieces) for s in spans)


@given(documents(), st.sampled_from(COUNTINGS))
def test_no_span_is_one_character_off(document, counting):
    """Whatever the counting and however it was found, a span that is read marks its words."""
    ruler = Ruler(document.text, counting)
    annotations = []
    for s in document.spans:
        words = " ".join(document.text[a:b] for a, b in s.pieces)
        pairs = tuple((ruler.outward(a), ruler.outward(b)) for a, b in s.pieces)
        annotations.append(Annotation(pairs, s.label, words, 1))
    found, _ = place(annotations, document.text, "f", Faults(), counting=None, lead=True)
    said = [a.surface.split() for a in annotations]
    for s in found:
        assert " ".join(document.text[a:b] for a, b in s.pieces).split() in said


@pytest.mark.parametrize(
    ("surface", "piece", "same"),
    [
        ("left knee", "left\nknee", True),
        ("left knee", "left\r\nknee", True),
        ("left  knee", "left\r\nknee", True),
        ("fever", " fever", False),
        ("fever", "fever ", False),
        (" fever", " fever", True),
        ("fever", "Fever", False),
        ("a\u00a0b", "a b", True),
    ],
)
def test_white_space_may_differ_inside_only(surface, piece, same):
    assert says(surface, [piece]) is same


def test_what_is_wrong_with_an_annotation():
    text = "fever and rash"
    cases = [
        (((3, 3),), "x", None, "is empty"),
        (((0, 99),), "x", None, "lies outside the text (offsets 0 99, the text ends at 14)"),
        (((-1, 3),), "x", None, "lies outside"),
        (((0, 5), (4, 8)), "x", None, "has fragments that overlap"),
        (((0, 5),), None, None, "has no type"),
        (((0, 5),), "x", "rash", "does not mark the words that it repeats"),
    ]
    for number, (pairs, label, surface, expected) in enumerate(cases, start=1):
        faults = Faults()
        spans, _ = place(
            [Annotation(pairs, label, surface, number, "T1")],
            text,
            "f.ann",
            faults,
            counting=Counting(),
        )
        assert spans == ()
        (fault,) = faults.found
        assert expected in fault.what
        assert (fault.source.line, fault.severity) == (number, "error")
        assert "rash" not in str(fault)


def test_white_space_at_the_edge_and_order_of_fragments_are_remarks():
    faults = Faults()
    annotations = [
        Annotation(((5, 10),), "x", "and", 1),
        Annotation(((10, 14), (0, 5)), "x", None, 2),
    ]
    spans, _ = place(annotations, "fever and rash", "f", faults, counting=Counting())
    assert [s.pieces for s in spans] == [((0, 5), (10, 14)), ((5, 10),)]
    assert [f.severity for f in faults.found] == ["warning", "warning"]
