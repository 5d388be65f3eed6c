import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.errors import DataError
from attending.explain.evidence import explained_words
from attending.explain.faithfulness import SHARES, faithfulness, without_words
from attending.explain.words import word_spans
from attending.records import Document, Evidence


def logistic(x):
    return 1 / (1 + math.exp(-x))


def measured(model, texts, **options):
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    predictions = model.predict(documents)
    words = explained_words(model, documents, predictions)
    model.asked.clear()
    return faithfulness(model, documents, predictions, words, **options)


def test_worked_by_hand(model):
    result = measured(model, ["My chest is in pain"], shares=[0.2, 0.4])
    full = logistic(3.5)
    assert result.explained.comprehensiveness == pytest.approx((full - logistic(1.5), full - 0.5))
    assert result.explained.sufficiency == pytest.approx((full - logistic(2.0), 0.0))
    area = (2 * full - logistic(1.5) - 0.5) / 2
    assert result.explained.comprehensiveness_area == pytest.approx(area)
    assert result.explained.sufficiency_area == pytest.approx((full - logistic(2.0)) / 2)
    assert (result.documents, result.skipped) == (1, 0)


def test_true_weights_beat_random_words_and_false_ones_don_t(model):
    rng = random.Random(0)
    filler = "we went home after lunch and sat by the old window for some time today"
    texts = []
    for _ in range(30):
        words = [*filler.split(), "chest", "pain", "bleeding"]
        rng.shuffle(words)
        texts.append(" ".join(words))
    result = measured(model, texts)
    assert result.shares == SHARES
    assert result.explained.comprehensiveness_area > result.random.comprehensiveness_area + 0.1
    assert result.explained.sufficiency_area < result.random.sufficiency_area - 0.1
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    predictions = model.predict(documents)
    upside_down = [
        {None: [Evidence(w.start, w.end, -w.score, None, "m") for w in by_label["urgent"]]}
        for by_label in explained_words(model, documents, predictions)
    ]
    worse = faithfulness(model, documents, predictions, upside_down)
    assert worse.explained.comprehensiveness_area < worse.random.comprehensiveness_area


def test_the_same_seeds_give_the_same_numbers(model):
    texts = ["chest pain since the morning again", "bleeding from the nose, thanks"]
    a, b = (measured(model, texts, seeds=[3, 4]).to_dict() for _ in range(2))
    assert a == b
    assert a != measured(model, texts, seeds=[5, 6]).to_dict()
    assert a["random_seeds"] == [3, 4]


def test_texts_go_to_the_model_in_batches_and_equal_ones_once(model):
    texts = ["chest pain bleeding refill"] * 6
    small = measured(model, texts, batch=1)
    calls = list(model.asked)
    large = measured(model, texts, batch=10_000)
    assert len(calls) == 6 and len(model.asked) == 1
    assert max(calls) <= 2**4, "more texts than there are subsets of the words"
    np.testing.assert_array_equal(small.per_document, large.per_document)


def test_progress_ends_at_all(model):
    seen = []
    texts = ["chest pain"] * 3
    measured(model, texts, batch=1, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_what_can_t_be_measured_is_counted(model, rows):
    rows = [*rows, Document("one", "bleeding")]
    predictions = model.predict(rows)
    words = explained_words(model, rows, predictions)
    result = faithfulness(model, rows, predictions, words)
    assert (result.documents, result.skipped) == (2, 3)
    assert result.per_document.shape == (2, 2, 2)
    with pytest.raises(DataError, match="no document can be measured"):
        faithfulness(model, rows[1:3], predictions[1:3], words[1:3])


def test_mean_areas_are_the_means_over_documents(model):
    result = measured(model, ["chest pain now", "bleeding a lot", "refill please, thanks"])
    explained, chance = (
        result.per_document.mean(axis=0)[:, 0],
        result.per_document.mean(axis=0)[:, 1],
    )
    assert explained[0] == pytest.approx(result.explained.comprehensiveness_area)
    assert explained[1] == pytest.approx(result.explained.sufficiency_area)
    assert chance[0] == pytest.approx(result.random.comprehensiveness_area)
    report = result.to_dict()["comprehensiveness"]
    assert report["difference"] == pytest.approx(report["area"] - report["random_area"])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"shares": []}, "none"), ({"shares": [1.0]}, "1.0"), ({"seeds": []}, "seed")],
)
def test_settings_are_checked(model, options, message):
    with pytest.raises(DataError, match=message):
        measured(model, ["chest pain"], **options)


@settings(max_examples=60, deadline=None)
@given(st.text("ab .,\n😀é", max_size=30), st.data())
def test_a_text_is_the_sum_of_its_words(text, data):
    count = len(word_spans(text))
    removed = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=count))
    rest = set(range(count)) - removed
    kept = without_words(text, removed)
    assert len(word_spans(kept)) <= count
    if count:
        assert len(kept) + len(without_words(text, rest)) == len(text)
        assert without_words(text, set()) == text
    assert without_words(text, set(range(count))) == ""
