"""Tags and the entities that they spell."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.spans.schemes import (
    Chunk,
    detect_scheme,
    parse_tag,
    read_tags,
    write_tags,
)
from attending.errors import DataError

SCHEMES = ["iob1", "iob2", "bioes", "bilou"]


@st.composite
def chunked(draw):
    chunks, place = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = place + draw(st.integers(0, 2))
        place = start + draw(st.integers(1, 3))
        chunks.append(Chunk(start, place, draw(st.sampled_from(["A", "B-cell", "Ö"]))))
    return chunks, place + draw(st.integers(0, 2))


@given(chunked(), st.sampled_from(SCHEMES), st.sampled_from(["conlleval", "strict"]))
def test_entities_come_back(drawn, scheme, rule):
    chunks, length = drawn
    tags = write_tags(chunks, length, scheme)
    assert len(tags) == length
    assert read_tags(tags, scheme, rule) == (chunks, [])


@given(chunked())
def test_the_scheme_is_found(drawn):
    chunks, length = drawn
    for scheme in SCHEMES:
        tags = write_tags(chunks, length, scheme)
        found = detect_scheme([tags])
        assert read_tags(tags, found)[0] == chunks
        assert write_tags(chunks, length, found) == tags


def test_the_case_without_b(case):
    values = json.loads((case("D11") / "expected.json").read_text())["values"]
    tags = json.loads((case("D11") / "tags.json").read_text())
    gold, _ = read_tags(tags["gold"][0], "iob2")
    for rule, name in (("conlleval", "lenient"), ("strict", "strict_iob2")):
        found, odd = read_tags(tags["pred"][0], "iob2", rule)
        assert len(set(gold) & set(found)) == values[name]["tp"]
        assert len(set(found) - set(gold)) == values[name]["fp"]
        assert len(set(gold) - set(found)) == values[name]["fn"]
        assert odd == [0]


any_tags = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), min_size=1, max_size=12)


@given(any_tags)
def test_both_rules_are_those_of_seqeval(tags):
    pytest.importorskip("seqeval")
    from seqeval.metrics.sequence_labeling import get_entities
    from seqeval.scheme import IOB2, Entities

    lenient = [(label, a, b + 1) for label, a, b in get_entities(tags)]
    assert [(c.label, c.start, c.end) for c in read_tags(tags, "iob2")[0]] == lenient
    strict = [e.to_tuple()[1:] for e in Entities([tags], IOB2).entities[0]]
    ours = read_tags(tags, "iob2", "strict")[0]
    assert [(c.label, c.start, c.end) for c in ours] == strict


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["I-X", "I-X", "O", "I-Y"], "iob1"),
        (["I-X", "B-X", "O"], "iob1"),
        (["B-X", "I-X", "O", "I-Y"], "iob2"),
        (["B-X", "O"], "iob2"),
        (["O", "O"], "iob2"),
        (["B-X", "E-X"], "bioes"),
        (["O", "S-X"], "bioes"),
        (["B-X", "L-X"], "bilou"),
        (["Disease", "O"], "iob1"),
    ],
)
def test_which_scheme_it_is(tags, scheme):
    assert detect_scheme([tags]) == scheme


@pytest.mark.parametrize(
    ("tags", "scheme", "chunks", "odd"),
    [
        (["B-X", "I-X"], "bioes", [(0, 2, "X")], [1]),
        (["I-X", "E-X"], "bioes", [(0, 2, "X")], [0]),
        (["B-X", "M-X", "E-X"], "bioes", [(0, 3, "X")], []),
        (["S-X", "S-X"], "bioes", [(0, 1, "X"), (1, 2, "X")], []),
        (["E-X", "I-X"], "bioes", [(0, 1, "X"), (1, 2, "X")], [0, 1]),
        (["O", "B-X"], "iob1", [(1, 2, "X")], [1]),
        (["B", "I", "O", "B"], "iob2", [(0, 2, "entity"), (3, 4, "entity")], []),
    ],
)
def test_broken_tags_by_the_lenient_rule(tags, scheme, chunks, odd):
    assert read_tags(tags, scheme) == ([Chunk(*c) for c in chunks], odd)


def test_tags_are_taken_apart():
    assert parse_tag("B-T-cell") == ("B", "T-cell")
    assert parse_tag("Disease") == ("I", "Disease")
    assert parse_tag("O") == ("O", "")
    assert write_tags([Chunk(0, 2, "entity")], 3, bare=True) == ["B", "I", "O"]


def test_entities_that_share_a_word_have_no_tags():
    with pytest.raises(DataError, match="share a word"):
        write_tags([Chunk(0, 2, "X"), Chunk(1, 3, "Y")], 3)
    with pytest.raises(DataError, match="there is no scheme"):
        write_tags([], 3, "iob3")
