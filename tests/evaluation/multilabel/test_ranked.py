"""Rankings: against scikit-learn and a slow reference, in one block and in many."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from attending.evaluation.multilabel import outcome as outcomes
from attending.evaluation.multilabel.ranked import rank_documents, ranking_values


def mean(values):
    return float(np.nanmean(values))


@pytest.mark.parametrize("seed", [0, 1])
def test_rankings_agree_with_scikit_learn(random_case, outcome_of, seed):
    truth, assigned, scores = random_case(seed)
    truth[:3] = 0
    found = ranking_values(rank_documents(outcome_of(truth, assigned, scores), (1, 3, 12)))
    some = truth.sum(axis=1) > 0
    assert mean(found["map"]) == pytest.approx(
        label_ranking_average_precision_score(truth[some], scores[some])
    )
    for k in (1, 3, 12):
        assert mean(found[f"ndcg_at_{k}"]) == pytest.approx(
            ndcg_score(truth[some], scores[some], k=k)
        )
    assert np.isnan(found["map"][~some]).all()


def slow(truth, scores, k):
    """Rank with plain loops; equal scores in the order of the labels."""
    rows = []
    for true, row in zip(truth, scores, strict=True):
        order = sorted(range(len(row)), key=lambda j: (-row[j], j))
        hits = [int(true[j]) for j in order]
        n = sum(hits)
        if not n:
            rows.append([np.nan] * 4)
            continue
        at = [sum(hits[: i + 1]) / (i + 1) for i in range(len(hits)) if hits[i]]
        rows.append([sum(at) / n, sum(hits[:k]) / k, sum(hits[:k]) / n, sum(hits[:n]) / n])
    return np.array(rows).T


@pytest.mark.parametrize("cells", [1, 40, 10**6])
def test_ties_go_to_the_first_label_however_documents_are_cut(
    random_case, outcome_of, monkeypatch, cells
):
    monkeypatch.setattr(outcomes, "CELLS_AT_ONCE", cells)
    truth, assigned, scores = random_case(3, documents=25, ties=True)
    found = ranking_values(rank_documents(outcome_of(truth, assigned, scores), (4,)))
    for key, expected in zip(
        ("map", "p_at_4", "r_at_4", "r_precision"), slow(truth, scores, 4), strict=True
    ):
        np.testing.assert_allclose(found[key], expected, err_msg=key)


def test_what_is_not_stored_is_not_found(outcome_of):
    from scipy.sparse import csr_array

    truth = np.array([[1, 1, 0, 0], [1, 0, 0, 1]])
    scores = csr_array(([0.0, -1.0, 5.0], ([0, 0, 1], [1, 2, 3])), shape=(2, 4))
    found = rank_documents(outcome_of(truth, np.zeros((2, 4)), scores), (1, 2))
    assert found.listed.tolist() == [2, 1]
    assert found.hits.tolist() == [[1, 1], [1, 1]]
    assert found.average_precision.tolist() == [0.5, 0.5]
    assert found.label_hits[0].tolist() == [0, 1, 0, 1]


def test_assigned_labels_alone_and_labels_left_out(outcome_of):
    truth = np.array([[1, 1, 0, 1]])
    assigned = np.array([[0, 1, 1, 1]])
    scores = np.array([[0.9, 0.2, 0.8, 0.7]])
    outcome = outcome_of(truth, assigned, scores)
    alone = rank_documents(outcome, (2,), assigned_only=True)
    assert alone.average_precision[0] == pytest.approx((1 / 2 + 2 / 3) / 3)
    keep = np.array([True, True, False, False])
    cut = rank_documents(outcome, (2,), keep=keep)
    assert cut.true.tolist() == [2] and cut.average_precision[0] == 1.0
