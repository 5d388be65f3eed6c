"""Linear models: scikit-learn's own scores, and words that add up to them."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier

from attending.errors import LabelError, ModelError
from attending.models.base import Scored
from attending.records import Coverage, Document, LabelSet, Unreadable
from attending.training.fit import fit

BINARY = LabelSet.from_ids(["routine", "urgent"])


def fitted(recipe, rows, labels, seed=5):
    return fit(recipe, rows, labels, development=(), seed=seed).model


def logits_of(model, rows):
    return np.stack([s.logits for s in model.scores(rows)])


@pytest.fixture
def two(messages):
    """The messages with two labels: urgent, and the rest as routine."""
    return [
        Document(d.id, d.text, ("urgent" if d.label == "urgent" else "routine",)) for d in messages
    ]


def test_the_svm_gives_scikit_learn_s_decision_function(messages, urgency, tiny_recipe):
    model = fitted(tiny_recipe("tfidf-svm"), messages, urgency)
    texts = [d.text for d in messages]
    vectoriser = TfidfVectorizer()
    matrix = vectoriser.fit_transform(texts)
    own = SGDClassifier(loss="hinge", alpha=6e-4, max_iter=1000, tol=1e-3, random_state=5)
    own.fit(matrix, [urgency.position(d.label) for d in messages])
    unseen = [Document("x", "severe chest pain and a refill"), Document("y", "nothing known zzz")]
    expected = own.decision_function(vectoriser.transform([d.text for d in unseen]))
    np.testing.assert_allclose(logits_of(model, unseen), expected, atol=1e-12)
    guessed = own.predict(vectoriser.transform([d.text for d in unseen]))
    assert [p.labels for p in model.predict(unseen)] == [(urgency.ids[i],) for i in guessed]


def test_logistic_regression_gives_scikit_learn_s_probabilities(messages, urgency, tiny_recipe):
    model = fitted(tiny_recipe("tfidf-logistic"), messages, urgency)
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    matrix = vectoriser.fit_transform([d.text for d in messages])
    own = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000, random_state=5)
    own.fit(matrix, [urgency.position(d.label) for d in messages])
    expected = own.predict_proba(vectoriser.transform(["chest pain now"]))[0]
    (found,) = model.predict([Document("x", "chest pain now")])
    assert list(found.scores.values()) == pytest.approx(expected.tolist(), abs=1e-12)


def test_two_labels_give_the_binary_model_s_own_numbers(two, tiny_recipe):
    texts, targets = [d.text for d in two], [BINARY.position(d.label) for d in two]
    model = fitted(tiny_recipe("tfidf-logistic"), two, BINARY)
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    own = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000, random_state=5)
    own.fit(vectoriser.fit_transform(texts), targets)
    found = [list(p.scores.values()) for p in model.predict(two)]
    np.testing.assert_allclose(found, own.predict_proba(vectoriser.transform(texts)), atol=1e-12)
    model = fitted(tiny_recipe("tfidf-svm"), two, BINARY)
    vectoriser = TfidfVectorizer()
    own = SGDClassifier(loss="hinge", alpha=6e-4, max_iter=1000, tol=1e-3, random_state=5)
    own.fit(vectoriser.fit_transform(texts), targets)
    difference = np.diff(logits_of(model, two), axis=1)[:, 0]
    np.testing.assert_allclose(
        difference, own.decision_function(vectoriser.transform(texts)), atol=1e-12
    )


def test_the_frequency_model_gives_shares(messages, urgency, tiny_recipe):
    model = fitted(tiny_recipe("frequency"), messages, urgency)
    shares = {"non-urgent": 20 / 48, "medium": 20 / 48, "urgent": 8 / 48}
    for prediction in model.predict([Document("x", "anything"), Document("y", "at all")]):
        assert dict(prediction.scores) == pytest.approx(shares)
    assert model.methods == ()


@pytest.mark.parametrize("name", ["tfidf-svm", "tfidf-logistic"])
@pytest.mark.parametrize("stop_words", ["none", "english"])
def test_words_add_up_to_the_score(name, stop_words, messages, urgency, tiny_recipe):
    recipe = tiny_recipe(name, features__stop_words=stop_words, features__ngrams=3)
    model = fitted(recipe, messages, urgency)
    raw = logits_of(model, messages) - model.weights.intercepts
    for scores, row in zip(model.token_scores(messages), raw, strict=True):
        sums = [sum(scores.scores[label]) for label in urgency.ids]
        np.testing.assert_allclose(sums, row, atol=1e-9)


def test_words_of_two_labels_add_up_too(two, tiny_recipe):
    model = fitted(tiny_recipe("tfidf-logistic"), two, BINARY)
    raw = logits_of(model, two) - model.weights.intercepts
    for scores, row in zip(model.token_scores(two, labels=["urgent"]), raw, strict=True):
        assert list(scores.scores) == ["urgent"]
        assert sum(scores.scores["urgent"]) == pytest.approx(row[1], abs=1e-9)


def test_a_repeated_word_shares_and_a_pair_splits(two, tiny_recipe):
    recipe = tiny_recipe("tfidf-logistic", features__min_documents=1)
    extra = [Document("x", "chest pain, pain", ("urgent",)), Document("y", "zebra", ("urgent",))]
    model = fitted(recipe, [*two, *extra], BINARY)
    text = "Zebra! CHEST pain, pain"
    (scores,) = model.token_scores([Document("x", text)])
    assert [text[a:b] for a, b in scores.offsets] == ["Zebra", "CHEST", "pain", "pain"]
    vector = model.vectoriser.transform([text])
    known = model.vectoriser.vocabulary_

    def share(words):
        return float(model.weights.coefficients[1, known[words]] * vector[0, known[words]])

    assert "zebra chest" not in known
    chest_pain, pain_pain = share("chest pain"), share("pain pain")
    assert min(abs(x) for x in (chest_pain, pain_pain, share("pain"))) > 0.01
    pain = share("pain") / 2
    assert scores.scores["urgent"] == pytest.approx(
        [
            share("zebra"),
            share("chest") + chest_pain / 2,
            pain + chest_pain / 2 + pain_pain / 2,
            pain + pain_pain / 2,
        ]
    )


def test_offsets_are_words_of_the_unaltered_text(linear):
    text = "\U0001f614 S\u00c3O cafe\u0301 PAIN"
    (scores,) = linear.token_scores([Document("x", text)])
    assert [text[a:b] for a, b in scores.offsets][-1] == "PAIN"


def test_an_unknown_method_or_label_is_refused(linear, messages):
    with pytest.raises(ModelError, match=r'no evidence method "attention".*allowed: weights'):
        linear.token_scores(messages[:1], method="attention")
    with pytest.raises(LabelError, match='"urgnt"'):
        linear.token_scores(messages[:1], labels=["urgnt"])
    with pytest.raises(ModelError, match="no document vectors"):
        linear.pooled(messages[:1])


def test_statuses_and_order(linear):
    rows = [
        Document("a", ""),
        Unreadable("b", "not text but int"),
        Document("c", "chest pain"),
        Document("d", "\u200b"),
    ]
    calls = []
    found = linear.predict(rows, progress=lambda *done: calls.append(done))
    assert [(p.id, p.status) for p in found] == [
        ("a", "empty_text"),
        ("b", "failed"),
        ("c", "ok"),
        ("d", "empty_text"),
    ]
    assert [bool(p.labels) for p in found] == [False, False, True, False]
    assert found[1].reason == "not text but int"
    assert found[2].read == Coverage(2, 2, 1)
    assert calls[-1] == (4, 4)
    assert linear.predict([]) == []
    assert linear.scores([]) == []


def test_a_row_that_was_not_read_has_no_numbers(linear):
    (scored,) = linear.scores([Document("a", " ")])
    assert scored == Scored("empty_text", Coverage(0, 0, 0), None, "empty_text")
