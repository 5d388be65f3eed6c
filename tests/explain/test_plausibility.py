import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from attending.errors import DataError
from attending.explain.plausibility import average_precision, plausibility, words_inside
from attending.explain.words import word_spans
from attending.records import Document, Evidence, Span


def scored(text, scores):
    return [Evidence(*w, s, "x", "m") for w, s in zip(word_spans(text), scores, strict=True)]


def test_worked_by_hand():
    text = "chest pain since noon, thanks"
    document = Document("a", text, spans=(Span(0, 10),))
    words = scored(text, [0.5, 0.1, 0.3, 0.0, -1.0])
    found = [Evidence(0, 5, 0.5, "x", "m"), Evidence(11, 16, 0.3, "x", "m")]
    result = plausibility([document, Document("b", "no one marked this")], [words, []], [found, []])
    assert (result.documents, result.without_spans) == (1, 1)
    assert result.per_document[1] is None
    mean = result.mean
    assert (mean.word_precision, mean.word_recall, mean.word_f1) == (0.5, 0.5, 0.5)
    assert mean.average_precision == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert mean.chance == pytest.approx(2 / 5)
    assert result.to_dict()["mean_over_documents"]["word_f1"] == 0.5


def test_every_document_counts_once():
    long, short = "a b c d e f g h", "x y"
    documents = [
        Document("1", long, spans=(Span(0, 15),)),
        Document("2", short, spans=(Span(0, 1),)),
    ]
    words = [scored(long, [0.0] * 8), scored(short, [0.0, 1.0])]
    spans = [[Evidence(0, 15, 1.0, "x", "m")], [Evidence(2, 3, 1.0, "x", "m")]]
    result = plausibility(documents, words, spans)
    assert result.mean.word_f1 == (1 + 0) / 2
    assert result.mean.average_precision == pytest.approx((1 + 0.5) / 2)


def test_no_evidence_scores_nothing():
    document = Document("1", "a b", spans=(Span(0, 1),))
    mean = plausibility([document], [scored("a b", [0.0, 0.0])], [[]]).mean
    assert (mean.word_precision, mean.word_recall, mean.word_f1) == (0, 0, 0)


def test_nothing_marked_anywhere_has_no_mean():
    result = plausibility([Document("1", "a")], [[]], [[]])
    assert result.mean is None
    assert result.to_dict() == {"documents": 0, "without_spans": 1, "mean_over_documents": None}


def test_a_word_counts_when_a_span_touches_it():
    assert words_inside("chest pain now", [Span(2, 7)]).tolist() == [True, True, False]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30).filter(
        lambda rows: any(relevant for relevant, _ in rows)
    )
)
def test_average_precision_is_scikit_learn_s(rows):
    relevant = np.array([r for r, _ in rows])
    scores = np.array([float(s) for _, s in rows])
    ours = average_precision(relevant, scores)
    assert ours == pytest.approx(average_precision_score(relevant, scores))


def test_average_precision_of_nothing_is_undefined():
    assert math.isnan(average_precision(np.array([False]), np.array([1.0])))


def test_lengths_must_agree():
    with pytest.raises(DataError, match="1, 0 and 1"):
        plausibility([Document("1", "a")], [], [[]])
