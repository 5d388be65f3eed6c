"""Samplers: every row once, the same order for the same seed and epoch, nowhere else."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending import registry
from attending.data.samplers import Balanced
from attending.specs import BalancedSampler, BucketedSampler, ShuffledSampler

LENGTHS = tuple((7 * i) % 41 + 3 for i in range(90))
TARGETS = tuple([0] * 60 + [1] * 25 + [2] * 5)
SPECS = (ShuffledSampler(), BucketedSampler(), BucketedSampler(pool=2), BalancedSampler())


def build(spec, *, lengths=LENGTHS, targets=TARGETS, size=6, seed=1):
    return registry.build(spec, lengths=lengths, targets=targets, size=size, seed=seed)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_order_depends_on_seed_and_epoch_only(spec):
    sampler = build(spec)
    first = list(sampler)
    assert first == list(sampler) == list(build(spec))
    sampler.set_epoch(1)
    second = list(sampler)
    assert second != first
    assert second != list(build(spec, seed=2))
    assert list(build(spec, seed=2)) != first
    sampler.set_epoch(0)
    assert list(sampler) == first


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_the_number_of_batches_is_known(spec):
    for size in (1, 6, 7, 90, 200):
        sampler = build(spec, size=size)
        assert len(list(sampler)) == len(sampler)


@given(count=st.integers(1, 60), size=st.integers(1, 20), seed=st.integers(0, 5))
def test_every_row_once_an_epoch(count, size, seed):
    for spec in SPECS[:3]:
        sampler = build(spec, lengths=range(count), targets=[0] * count, size=size, seed=seed)
        batches = list(sampler)
        assert sorted(i for batch in batches for i in batch) == list(range(count))
        assert all(1 <= len(batch) <= size for batch in batches)
        assert len(batches) == len(sampler)
        full = sum(len(batch) == size for batch in batches)
        assert full == count // size or spec.kind == "bucketed"


def test_buckets_hold_like_lengths():
    def spread(spec):
        batches = list(build(spec))
        return sum(max(LENGTHS[i] for i in b) - min(LENGTHS[i] for i in b) for b in batches)

    assert spread(BucketedSampler()) < spread(ShuffledSampler()) / 4


def test_long_and_short_batches_alternate_at_random():
    """Else every epoch would end with its shortest texts."""
    means = [sum(LENGTHS[i] for i in b) / len(b) for b in build(BucketedSampler())]
    assert means != sorted(means) and means != sorted(means, reverse=True)


def test_balanced_batches_by_hand():
    sampler = build(BalancedSampler())
    batches = list(sampler)
    assert len(batches) == 30
    for batch in batches:
        assert Counter(TARGETS[i] for i in batch) == {0: 2, 1: 2, 2: 2}
    times = Counter(i for batch in batches for i in batch)
    assert {times[i] for i in range(60)} == {1}
    assert {times[i] for i in range(60, 85)} == {2, 3}
    assert {times[i] for i in range(85, 90)} == {12}


@given(
    targets=st.lists(st.integers(0, 4), min_size=1, max_size=50),
    size=st.integers(1, 16),
)
def test_balanced_counts(targets, size):
    sampler = Balanced(targets, size, seed=3)
    batches = list(sampler)
    labels = set(targets)
    largest = max(Counter(targets).values())
    drawn = Counter(targets[i] for batch in batches for i in batch)
    assert drawn == dict.fromkeys(labels, largest)
    assert {i for batch in batches for i in batch} == set(range(len(targets)))
    for batch in batches:
        assert len(set(Counter(targets[i] for i in batch).values())) == 1
        assert len(batch) <= max(size, len(labels))


@pytest.mark.parametrize("kind", ["shuffled", "bucketed", "balanced"])
def test_the_order_is_the_same_in_every_process(kind):
    code = (
        "from attending import registry\n"
        f"spec = registry.part('sampler', '{kind}').spec()\n"
        "lengths, targets = list(range(20)), [0] * 14 + [1] * 6\n"
        "print(list(registry.build(spec, lengths=lengths, targets=targets, size=4, seed=7)))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    spec = registry.part("sampler", kind).spec()
    here = registry.build(spec, lengths=list(range(20)), targets=[0] * 14 + [1] * 6, size=4, seed=7)
    assert found == {f"{list(here)}\n"}
