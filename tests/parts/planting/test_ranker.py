import numpy as np
import pytest
import torch

from attending.parts.planting.ranker import Lists, Ranker, learn_ranking
from attending.parts.planting.relevance import Relevance
from attending.specs.planting import Planting

WORDS, LABELS = 60, 12


@pytest.fixture
def relevance():
    """Labels in three families; each ranks the words of its family, in an order of its own."""
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.arange(20) + 20 * (k % 3))[:15] for k in range(LABELS)]
    rows[5] = rows[5][:0]
    indices = np.concatenate(rows).astype(np.int32)
    indptr = np.cumsum([0, *map(len, rows)])
    scores = np.concatenate([np.linspace(1, 0.1, len(r)) for r in rows]).astype(np.float32)
    return Relevance(WORDS, indptr, indices, scores)


def spec(**settings):
    return Planting(kind="planted", **{"dimension": 16, "ranking_epochs": 200, **settings})


@pytest.mark.parametrize("settings", [{}, {"ranking_loss": "lambda", "ranking_rate": 0.3}])
def test_learns_the_order_of_every_label(relevance, settings):
    ranker, facts = learn_ranking(relevance, spec(**settings))
    words, labels = ranker.factors()
    scores = words @ labels.T
    for k in range(LABELS):
        own, _ = relevance.of(k)
        if len(own):
            assert own[0] in scores[:, k].topk(3).indices
            assert scores[own[:5], k].mean() > scores[:, k].mean() + 0.5
    assert facts["ndcg@15"] > facts["ndcg@15 at first"]


def test_factors_give_standard_scores(relevance):
    ranker, _ = learn_ranking(relevance, spec(ranking_epochs=20))
    words, labels = ranker.factors()
    scores = (words @ labels.T)[:, 0]
    assert scores.mean().abs() < 1e-5
    assert scores.std(unbiased=False) == pytest.approx(1.0, abs=1e-5)
    raw = ranker(torch.arange(WORDS)[None], torch.tensor([0]))[0]
    order = raw.argsort()
    assert (scores[order].diff() > -1e-5).all()


def test_same_seed_same_ranking(relevance):
    first, second = (learn_ranking(relevance, spec(ranking_epochs=3))[0] for _ in range(2))
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )


def test_held_out_words_never_train(relevance):
    lists = Lists.of(relevance, 4, 0.5, 0)
    words, gain, may = lists.draw(np.arange(5), 40, np.random.default_rng(0))
    held = set(lists.keys[lists.held].tolist())
    for row, label in enumerate(range(5)):
        for word, free in zip(words[row], may[row], strict=True):
            assert free == (label * WORDS + word not in held)
    assert gain.max() == 31 and (gain == 0).any()


def test_nothing_to_rank():
    empty = Relevance(9, np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    ranker, facts = learn_ranking(empty, spec())
    assert isinstance(ranker, Ranker) and facts == {}
