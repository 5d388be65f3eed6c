import math

import numpy as np
import pytest
import torch
from sklearn.metrics import ndcg_score

from attending.parts.planting.ranking_loss import lambda_loss, ndcg, softmax_loss


def reference_lambdas(scores, gains, k, sigma):
    """dL/ds of one list, pair by pair, from the definition."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    place = {i: p for p, i in enumerate(order)}

    def discount(p):
        return 1 / math.log2(p + 2) if p < k else 0.0

    best = sum(g * discount(p) for p, g in enumerate(sorted(gains, reverse=True)))
    found = [0.0] * len(scores)
    for i, own in enumerate(gains):
        for j, other in enumerate(gains):
            if own > other:
                change = abs(own - other) * abs(discount(place[i]) - discount(place[j])) / best
                force = sigma * change / (1 + math.exp(sigma * (scores[i] - scores[j])))
                found[i] -= force
                found[j] += force
    return found


@pytest.mark.parametrize("k", [3, 15])
@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_lambda_gradients_agree_with_the_definition(k, sigma):
    torch.manual_seed(0)
    scores = torch.randn(3, 8, requires_grad=True)
    gains = torch.tensor([0, 1, 3, 7, 15, 31])[torch.randint(6, (3, 8))].double()
    lambda_loss(scores, gains, k=k, sigma=sigma).backward()
    wanted = [
        reference_lambdas(s, g, k, sigma)
        for s, g in zip(scores.tolist(), gains.tolist(), strict=True)
    ]
    np.testing.assert_allclose(scores.grad.numpy() * 3, wanted, atol=1e-6)


def test_lists_without_an_order_add_nothing():
    scores = torch.randn(2, 4, requires_grad=True)
    gains = torch.tensor([[0.0] * 4, [3.0] * 4])
    loss = lambda_loss(scores, gains)
    loss.backward()
    assert loss.item() == 0 and not scores.grad.any()
    assert softmax_loss(torch.randn(1, 4), torch.zeros(1, 4)).item() == 0


def test_softmax_loss_is_cross_entropy_to_the_gains():
    scores, gains = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([[0.0, 3.0, 1.0]])
    logs = scores.log_softmax(1)[0]
    assert softmax_loss(scores, gains).item() == pytest.approx(
        -(0.75 * logs[1] + 0.25 * logs[2]).item()
    )


@pytest.mark.parametrize("k", [3, 15])
def test_ndcg_agrees_with_scikit_learn_on_ties_too(k):
    rng = np.random.default_rng(0)
    gains = rng.choice([0, 1, 3, 7], size=(20, 12)).astype(float)
    gains[:, 0] = 7
    scores = rng.choice([0.0, 0.5, 1.0, 2.0], size=(20, 12))
    found = ndcg(torch.from_numpy(scores), torch.from_numpy(gains), k)
    wanted = [ndcg_score(g[None], s[None], k=k) for g, s in zip(gains, scores, strict=True)]
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)
