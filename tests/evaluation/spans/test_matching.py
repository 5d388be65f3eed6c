"""The schemes against nervaluate and seqeval, and what they say of nested and broken entities."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics import f1_score, precision_score, recall_score

from attending.evaluation.spans.alignment import align
from attending.evaluation.spans.matching import SCHEMES, overlaps, rest_of, tallies, within_types
from attending.evaluation.spans.metrics import evaluate_spans
from attending.evaluation.spans.outcome import Entity

THEIRS = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}
TYPES = ("A", "B", "C")


def entity(start, end, kind=0, *pieces):
    return Entity(start, end, kind, pieces or ((start, end),))


def nervaluate(gold, found, types=TYPES):
    """Score (start, end, type) lists of documents; its ends are inclusive."""

    def rows(documents):
        return [
            [{"label": kind, "start": a, "end": b - 1} for a, b, kind in sorted(spans)]
            for spans in documents
        ]

    # It guesses the kind of its input from the first span, so it can't be handed none.
    return Evaluator(rows(gold), rows(found), tags=list(types), loader="dict").evaluate()


def counts_agree(result, theirs):
    for scheme, name in THEIRS.items():
        own, other = result.schemes[scheme], theirs["overall"][name]
        for key in ("correct", "incorrect", "partial", "missed", "spurious"):
            assert own[key] == getattr(other, key), (scheme, key)
        for key in ("precision", "recall", "f1"):
            value = result.metrics[f"{scheme}_micro_{key}"] or 0.0
            assert value == pytest.approx(getattr(other, key))


def types_agree(result, theirs):
    for kind, own in result.per_label.items():
        of = theirs["entities"][kind]
        assert own["support"] == of["strict"].possible and own["predicted"] == of["strict"].actual
        assert own["f1"] == pytest.approx(of["strict"].f1)
        assert own["partial_f1"] == pytest.approx(of["partial"].f1)
        assert own["type_f1"] == pytest.approx(of["ent_type"].f1)


@pytest.mark.parametrize("seed", range(25))
def test_flat_entities_are_counted_as_nervaluate_and_seqeval_count(
    seed, pair, random_tags, from_tags
):
    gold, found = random_tags(seed)
    true, given_ = [from_tags(t) for t in gold], [from_tags(t) for t in found]
    result = evaluate_spans(*pair(true, given_), resamples=0)
    theirs = nervaluate(true, given_)
    counts_agree(result, theirs)
    types_agree(result, theirs)
    for average in ("micro", "macro", "weighted"):
        own = result.metrics[f"strict_{average}_f1"]
        assert own == pytest.approx(f1_score(gold, found, average=average))
    assert result.metrics["strict_micro_precision"] == precision_score(gold, found)
    assert result.metrics["strict_micro_recall"] == recall_score(gold, found)


spans = st.tuples(st.integers(0, 40), st.integers(1, 15), st.sampled_from(TYPES)).map(
    lambda s: (s[0], s[0] + s[1], s[2])
)


def apart(items):
    kept = []
    for item in sorted(items, key=lambda s: s[1]):
        if not kept or kept[-1][1] <= item[0]:
            kept.append(item)
    return kept


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, max_size=9, unique=True), st.lists(spans, max_size=9).map(apart))
def test_nested_gold_and_flat_answers_are_counted_as_nervaluate_counts(gold, found):
    theirs = nervaluate([gold, [(0, 1, "A")]], [found, [(0, 1, "A")]])["overall"]
    tally = dict(zip(SCHEMES, tallies(rest_of(*sides(gold, found))), strict=True))
    for scheme, name in THEIRS.items():
        own, other = tally[scheme], theirs[name]
        # One more is right: the second document, which keeps both from being empty.
        assert (own.correct + 1, own.incorrect, own.partial) == (
            other.correct,
            other.incorrect,
            other.partial,
        ), scheme


def sides(*both):
    return tuple(
        tuple(sorted(entity(a, b, TYPES.index(kind)) for a, b, kind in set(side))) for side in both
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, max_size=9, unique=True), st.lists(spans, max_size=9, unique=True))
def test_strict_counts_are_those_of_sets_whatever_is_nested(gold, found):
    true, given_ = sides(gold, found)
    rest = rest_of(true, given_)
    strict, exact, partial, typed = tallies(rest)
    assert strict.correct == len(set(gold) & set(found))
    assert strict.correct <= exact.correct == partial.correct
    assert typed.correct >= strict.correct
    for tally in (strict, exact, partial, typed):
        met = tally.correct + tally.incorrect + tally.partial
        assert met <= min(len(true), len(given_))
    theirs = nervaluate([gold, [(0, 1, "A")]], [found, [(0, 1, "A")]])["overall"]["strict"]
    assert strict.correct + 1 >= theirs.correct
    pairs = align(true, given_)
    assert sorted(p.gold for p in pairs if p.gold) == sorted(true)
    assert sorted(p.found for p in pairs if p.found) == sorted(given_)
    assert sum(p.kind == "right" for p in pairs) == strict.correct
    for one in pairs:
        if one.gold and one.found:
            assert (one.gold.type == one.found.type) == (one.kind in ("right", "boundary"))
            assert (one.gold.pieces == one.found.pieces) == (one.kind in ("right", "type"))


def test_an_entity_that_is_there_is_not_taken_by_one_that_overlaps_it():
    """In text order the first found one would take the gold one from its equal."""
    gold, found = (entity(0, 9),), (entity(0, 4), entity(0, 9))
    strict, exact, partial, typed = tallies(rest_of(gold, found))
    assert strict.correct == exact.correct == partial.correct == typed.correct == 1
    theirs = nervaluate([[(0, 9, "A")]], [[(0, 4, "A"), (0, 9, "A")]])["overall"]["strict"]
    assert theirs.correct == 0


def test_an_entity_in_pieces_is_right_only_with_all_of_its_pieces():
    gold = (entity(8, 27, 0, (8, 12), (23, 27)),)
    whole, part, gap = (entity(8, 27),), (entity(23, 27),), (entity(13, 20),)
    kinds = [[t.correct for t in tallies(rest_of(gold, found))] for found in (gold, whole, part)]
    assert kinds == [[1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert tallies(rest_of(gold, part))[2].partial == 1
    assert not overlaps(gold[0], gap[0])
    assert [t.correct + t.incorrect + t.partial for t in tallies(rest_of(gold, gap))] == [0] * 4


def test_a_hundredth_of_the_gold_entity_must_be_shared():
    long = entity(0, 300)
    assert not overlaps(long, entity(298, 400))
    assert overlaps(long, entity(297, 400))
    assert overlaps(entity(298, 400), long)


def test_the_closest_of_the_same_type_counts_for_the_type_scheme():
    gold = (entity(0, 20), entity(2, 10))
    assert within_types(rest_of(gold, (entity(2, 11), entity(0, 19)))) == {0: (2, 2)}
    alone = align(gold, (entity(2, 11),))
    assert [(p.kind, p.shift, p.gold) for p in alone] == [
        ("missed", None, gold[0]),
        ("boundary", "longer", gold[1]),
    ]


@pytest.mark.parametrize(
    ("found", "kind", "shift"),
    [
        (entity(10, 20, 0), "right", None),
        (entity(10, 20, 1), "type", None),
        (entity(10, 18, 0), "boundary", "shorter"),
        (entity(9, 21, 0), "boundary", "longer"),
        (entity(15, 25, 0), "boundary", "moved"),
        (entity(15, 25, 1), "both", "moved"),
    ],
)
def test_errors_have_a_kind(found, kind, shift):
    (pair_,) = align((entity(10, 20, 0),), (found,))
    assert (pair_.kind, pair_.shift) == (kind, shift)


def test_the_same_place_comes_before_an_overlap():
    gold = (entity(0, 5, 1), entity(0, 10, 0))
    kinds = {p.kind: (p.gold, p.found) for p in align(gold, (entity(0, 5, 0), entity(0, 9, 0)))}
    assert kinds["type"] == (gold[0], entity(0, 5, 0))
    assert kinds["boundary"] == (gold[1], entity(0, 9, 0))


def test_candidates_are_those_of_a_slow_search():
    rng = random.Random(3)
    for _ in range(60):
        gold, found = (
            tuple(
                sorted({entity(a, a + rng.randrange(1, 30)) for a in rng.choices(range(60), k=9)})
            )
            for _ in range(2)
        )
        rest = rest_of(gold, found)
        for j, near in enumerate(rest.near):
            slow = [k for k, true in enumerate(rest.gold) if overlaps(true, rest.found[j])]
            assert list(near) == slow
