import numpy as np
import pytest
from scipy import sparse
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from attending.errors import ModelError, ShapeError
from attending.parts.planting.grades import gains, grades
from attending.parts.planting.mutual_information import mutual_information, presence
from attending.parts.planting.relevance import Relevance, relevance


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    words = rng.random((40, 25)) < rng.random(25)
    labels = rng.random((40, 6)) < rng.random(6) * 0.6
    labels[:, 0] = words[:, 3]
    labels[:, 5] = False
    return words, labels


def test_presence_counts_a_word_once():
    found = presence([[3, 1, 3], [], [0]], 4).toarray()
    assert found.tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_agrees_with_scikit_learn(small):
    words, labels = small
    found = mutual_information(sparse.csr_matrix(words), sparse.csr_matrix(labels))
    wanted = [[mutual_info_score(w, x) for x in labels.T] for w in words.T]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_normalised_by_the_joint_entropy(small):
    words, labels = small
    found = mutual_information(sparse.csr_matrix(words), sparse.csr_matrix(labels), normalised=True)
    for v, word in enumerate(words.T):
        for k, label in enumerate(labels.T):
            joint = np.histogram2d(word, label, bins=2, range=((0, 1), (0, 1)))[0].ravel()
            both = entropy(joint)
            wanted = mutual_info_score(word, label) / both if both > 1e-12 else 0.0
            assert found[v, k] == pytest.approx(wanted, abs=1e-9)
    assert found[3, 0] == pytest.approx(1.0)


def test_relevance_ranks_the_words_that_attract(small):
    words, labels = small
    sparse_words, sparse_labels = sparse.csr_matrix(words), sparse.csr_matrix(labels)
    information = mutual_information(sparse_words, sparse_labels, normalised=True)
    found = relevance(sparse_words, sparse_labels, keep=8, threads=2)
    assert len(found) == 6
    assert found.of(0)[0][0] == 3
    assert len(found.of(5)[0]) == 0
    for k in range(5):
        chosen, scores = found.of(k)
        lift = words[labels[:, k]].mean(axis=0) > words.mean(axis=0)
        ranked = [v for v in np.argsort(-information[:, k], kind="stable") if lift[v]][:8]
        np.testing.assert_allclose(scores, information[ranked, k], rtol=1e-6)
        np.testing.assert_allclose(information[chosen, k], scores, rtol=1e-6)


def test_relevance_does_not_depend_on_chunks_or_threads(small, monkeypatch):
    words, labels = (sparse.csr_matrix(x) for x in small)
    whole = relevance(words, labels)
    monkeypatch.setattr("attending.parts.planting.relevance._CELLS", 25)
    parts = relevance(words, labels, threads=2)
    assert (whole.indices == parts.indices).all() and (whole.scores == parts.scores).all()


def test_relevance_survives_its_file(small, tmp_path):
    found = relevance(*(sparse.csr_matrix(x) for x in small))
    found.save(tmp_path / "r.safetensors")
    again = Relevance.load(tmp_path / "r.safetensors", 25)
    assert (found.matrix() != again.matrix()).nnz == 0
    with pytest.raises(ModelError, match="another vocabulary"):
        Relevance.load(tmp_path / "r.safetensors", 3)
    (tmp_path / "r.safetensors").write_bytes(b"no")
    with pytest.raises(ModelError, match="can't be read"):
        Relevance.load(tmp_path / "r.safetensors", 25)


def test_other_documents_are_refused(small):
    words, labels = (sparse.csr_matrix(x) for x in small)
    with pytest.raises(ShapeError, match="same documents"):
        relevance(words[:5], labels)


def test_published_grades():
    # 57,376 words, 100 levels: the best word 101, ranks 1 to 5 grade 100, the last grade 1.
    found = grades(np.arange(57_376), 57_376, levels=100)
    assert found[0] == 101 and set(found[1:6]) == {100} and found[6] == 99
    assert found[-1] == 1 and (np.diff(found) <= 0).all()


def test_default_grades_have_bearable_gains():
    found = grades(np.arange(10_000), 10_000)
    assert (found[0], found[1], found[2], found[21], found[22], found[-1]) == (5, 4, 3, 3, 2, 1)
    assert gains(np.array([0, 1, 5, 101])).tolist() == [0, 1, 31, 31]
    with pytest.raises(ValueError, match="ranks"):
        grades(np.array([10]), 10)
    with pytest.raises(ValueError, match="levels"):
        grades(np.array([1]), 10, levels=0)
