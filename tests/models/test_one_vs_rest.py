"""Multi-label linear models: one binary model a label, against scikit-learn; sparse; saved."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from attending.models.one_vs_rest import fit_one_vs_rest, log_odds, truth_matrix
from attending.models.store import load_model, save_model
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from attending.training.fit import fit

LABELS = LabelSet((Label("a"), Label("b"), Label("all"), Label("none")))
TEXTS = (
    ("red apple", ("a", "all")),
    ("red apple pie", ("a", "all")),
    ("blue berry", ("b", "all")),
    ("blue berry pie", ("b", "all")),
    ("red and blue apple berry", ("a", "b", "all")),
    ("pie", ("all",)),
)
ROWS = tuple(Document(f"d{i}", t, ids) for i, (t, ids) in enumerate(TEXTS))


def test_truth_is_sparse_and_by_the_set(tmp_path):
    truth = truth_matrix(ROWS, LABELS)
    assert sparse.issparse(truth) and truth.toarray()[4].tolist() == [1, 1, 1, 0]


def test_weights_equal_scikit_learns():
    rng = np.random.default_rng(0)
    matrix = sparse.csr_matrix(rng.random((30, 6)) * (rng.random((30, 6)) < 0.5))
    truth = (rng.random((30, 3)) < 0.4).astype(float)
    estimator = LogisticRegression(C=3.0, solver="liblinear", random_state=0)
    weights, intercepts = fit_one_vs_rest(estimator, matrix, sparse.csr_matrix(truth), 0.0)
    theirs = OneVsRestClassifier(estimator).fit(matrix, truth)
    expected = np.stack([e.coef_[0] for e in theirs.estimators_])
    np.testing.assert_allclose(weights.toarray(), expected, atol=1e-9)
    np.testing.assert_allclose(intercepts, [e.intercept_[0] for e in theirs.estimators_], atol=1e-9)


def test_labels_of_all_rows_and_of_none_get_their_log_odds_and_the_lowest_score():
    model = fit(Recipe.load("tfidf-logistic").for_task("multi"), ROWS, LABELS, development=()).model
    logits = np.stack([s.logits for s in model.scores(ROWS)])
    assert logits[:, 2] == pytest.approx(log_odds(np.array([6.0]), 6)[0])
    assert (logits[:, 3] <= logits[:, :3].min()).all()


@pytest.mark.parametrize("name", ["tfidf-logistic", "tfidf-svm", "frequency", "dictionary"])
def test_baselines_give_sets_of_labels(name, tmp_path):
    model = fit(Recipe.load(name).for_task("multi"), ROWS, LABELS, development=ROWS).model
    predictions = model.predict(ROWS)
    assert any(len(p.labels) > 1 for p in predictions)
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").predict(ROWS) == predictions
    if name == "frequency":
        assert predictions[0].scores["a"] == pytest.approx(3.5 / 7, abs=0.2)
