"""Documents with entities, and what was found in them."""

import random

import pytest

from attending.records import Coverage, Document, LabelSet, Prediction, Span

TEXT = "Left lower lobe pneumonia with fever and cough for 3 days , no chest pain ."


@pytest.fixture
def pair():
    """Return a function: gold and found spans as (start, end, type) to rows, predictions, types.

    Each is a list of documents; a found list that is a string is the status of no answer.
    """

    def span(item):
        start, end, label, *pieces = item
        return Span(start, end, label, tuple(pieces))

    def make(gold, found, types=("A", "B", "C"), text="x" * 400, **more):
        documents, predictions = [], []
        for k, (true, given) in enumerate(zip(gold, found, strict=True)):
            documents.append(Document(f"d{k}", text, None, tuple(map(span, true)), **more))
            if isinstance(given, str):
                predictions.append(Prediction(f"d{k}", given, reason=given))
            else:
                predictions.append(
                    Prediction(f"d{k}", "ok", spans=tuple(map(span, given)), read=Coverage(9, 9, 1))
                )
        return documents, predictions, LabelSet.from_ids(list(types), "type")

    return make


@pytest.fixture
def random_tags():
    """Return a function: seed to gold and found IOB2 tags of documents, flat, with all errors."""

    def flat(rng, words, types, rate):
        tags = ["O"] * words
        at = 0
        while at < words:
            if rng.random() < rate:
                length = min(rng.choice((1, 1, 2, 3)), words - at)
                kind = rng.choice(types)
                tags[at : at + length] = [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
                at += length
            else:
                at += 1
        return tags

    def make(seed=0, documents=8, words=30, types=("A", "B", "C")):
        rng = random.Random(seed)
        gold, found = [], []
        for _ in range(documents):
            true = flat(rng, words, types, 0.3)
            given = list(true)
            for _ in range(rng.randrange(5)):
                start = rng.randrange(words)
                stop = min(words, start + rng.randrange(1, 6))
                given[start:stop] = flat(rng, stop - start, types, 0.4)
            gold.append(true)
            found.append(mended(given))
        return gold, found

    return make


def mended(tags):
    """Make an I that follows nothing of its type a B: then every reading of the tags agrees."""
    fixed = []
    for k, tag in enumerate(tags):
        before = fixed[k - 1][2:] if k and fixed[k - 1] != "O" else None
        fixed.append(f"B{tag[1:]}" if tag[0] == "I" and before != tag[2:] else tag)
    return fixed


@pytest.fixture
def from_tags():
    """Return a function: IOB2 tags to spans over words of one letter, "x x x ..."."""

    def spans(tags):
        found, start, kind = [], None, None
        for k, tag in enumerate([*tags, "O"]):
            if start is not None and (tag[0] != "I"):
                found.append((2 * start, 2 * k - 1, kind))
                start = None
            if tag[0] == "B":
                start, kind = k, tag[2:]
        return found

    return spans
