import numpy as np
import pytest

from attending import registry
from attending.data.spans.flat import flat_notes
from attending.data.tagging.words import words
from attending.records import Document, LabelSet, Span
from attending.specs import FlatScheme, LayeredScheme

LABELS = LabelSet.from_ids(["Anatomy", "Problem"])
NESTED = Document(
    "d14",
    "Left lower lobe pneumonia seen.",
    spans=(Span(0, 15, "Anatomy", id="T1"), Span(0, 25, "Problem", id="T2")),
)
IN_PIECES = Document(
    "d13",
    "Pain in left and right knee.",
    spans=(
        Span(8, 27, "Anatomy", ((8, 12), (23, 27)), "T1"),
        Span(17, 22, "Problem", id="T2"),
    ),
)


def named(document, spec):
    scheme = registry.build(spec, labels=LABELS)
    tags, flats = scheme.encode(document, words(document.text))
    names = [[scheme.tags.names[k][t] for k, t in enumerate(row)] for row in tags.tolist()]
    return names, flats


def test_flat_keeps_the_longest_and_says_what_it_drops():
    names, flats = named(NESTED, FlatScheme())
    assert [n for (n,) in names] == ["B-Problem", *["I-Problem"] * 3, "O", "O"]
    (note,) = flat_notes([("d14", f) for f in flats])
    assert "1 span" in note and "T1" in note and "T2" not in note


def test_layers_hold_both():
    names, flats = named(NESTED, LayeredScheme())
    assert names[0] == ["B-Anatomy", "B-Problem"] and names[3] == ["O", "I-Problem"]
    assert not flat_notes([("d14", f) for f in flats])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fragments", ["O", "O", "B-Anatomy", "O", "B-Problem", "B-Anatomy", "O"]),
        ("cover", ["O", "O", "B-Anatomy", *["I-Anatomy"] * 3, "O"]),
        ("drop", ["O", "O", "O", "O", "B-Problem", "O", "O"]),
    ],
)
def test_spans_in_pieces_follow_the_policy(policy, expected):
    names, flats = named(IN_PIECES, FlatScheme(discontinuous=policy))
    assert [n for (n,) in names] == expected
    assert any("T1" in note for note in flat_notes([("d13", f) for f in flats]))


def test_io_has_no_first_tag():
    names, _ = named(NESTED, FlatScheme(tags="io"))
    assert [n for (n,) in names] == [*["I-Problem"] * 4, "O", "O"]


def test_a_border_within_a_word_takes_the_word_in():
    document = Document("d", "leftsided pain", spans=(Span(0, 4, "Anatomy", id="T1"),))
    names, flats = named(document, FlatScheme())
    assert [n for (n,) in names] == ["B-Anatomy", "O"]
    assert "widened" in " ".join(flat_notes([("d", f) for f in flats]))


def test_types_that_are_not_tagged_leave_no_tag():
    document = Document("d", "left lobe", spans=(Span(0, 4, "Other"),))
    names, _ = named(document, FlatScheme())
    assert np.ravel(names).tolist() == ["O", "O"]
