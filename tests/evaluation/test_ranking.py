"""ROC-AUC and average precision: the case of undefined labels, and scikit-learn's numbers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as sk

from attending.errors import ShapeError
from attending.evaluation.ranking import average_precision_one_vs_rest, roc_auc_one_vs_rest

# Few distinct values, so that ties are common.
truths = arrays(np.int64, (12, 3), elements=st.integers(0, 1))
scores = arrays(np.float64, (12, 3), elements=st.sampled_from([0.0, 0.1, 0.4, 0.5, 0.9]))


def test_labels_of_one_class_have_no_auc(case):
    folder = case("D07-auc-one-class")
    data = json.loads((folder / "y.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())["values"]
    found = roc_auc_one_vs_rest(np.array(data["y_true"]), np.array(data["scores"]))
    assert list(found.per_label) == expected["per_label"]
    assert found.macro == pytest.approx(expected["macro_over_defined"])
    assert (found.defined, found.labels) == (expected["n_defined"], expected["n_labels"])
    assert found.micro == pytest.approx(expected["micro"], abs=1e-6)
    assert set(found.reasons) == {1, 2}
    assert found.reasons[1] != found.reasons[2]


@given(truths, scores)
def test_auc_equals_scikit_learn_where_defined(y, given_):
    found = roc_auc_one_vs_rest(y, given_)
    for column, value in enumerate(found.per_label):
        if y[:, column].min() == y[:, column].max():
            assert value is None and column in found.reasons
        else:
            assert value == pytest.approx(sk.roc_auc_score(y[:, column], given_[:, column]))
    if y.min() != y.max():
        assert found.micro == pytest.approx(sk.roc_auc_score(y.ravel(), given_.ravel()))


@given(truths, scores)
def test_average_precision_equals_scikit_learn_where_defined(y, given_):
    found = average_precision_one_vs_rest(y, given_)
    for column, value in enumerate(found.per_label):
        if y[:, column].min() == y[:, column].max():
            assert value is None and column in found.reasons
        else:
            expected = sk.average_precision_score(y[:, column], given_[:, column])
            assert value == pytest.approx(expected)
    known = [value for value in found.per_label if value is not None]
    assert found.macro == (pytest.approx(np.mean(known)) if known else None)


def test_nothing_defined_gives_no_average():
    found = roc_auc_one_vs_rest(np.zeros((4, 2)), np.random.default_rng(0).random((4, 2)))
    assert found.macro is None and found.micro is None and found.defined == 0


def test_no_documents_gives_reasons():
    found = roc_auc_one_vs_rest(np.zeros((0, 2)), np.zeros((0, 2)))
    assert found.per_label == (None, None) and set(found.reasons) == {0, 1}


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ShapeError):
        roc_auc_one_vs_rest(np.array([[1], [0]]), np.array([[np.nan], [0.1]]))
    with pytest.raises(ShapeError):
        roc_auc_one_vs_rest(np.array([[1], [0]]), np.array([[0.2, 0.3], [0.1, 0.1]]))
