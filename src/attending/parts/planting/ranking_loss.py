"""Losses that teach scores to order words by their gains, and nDCG to watch them by.

Letters: B lists (one a label), n words a list.
"""

import torch
from torch import Tensor


def discounts(ranks: Tensor, k: int) -> Tensor:
    """Return 1 / log2(rank + 2) of ranks that count from 0; nothing from rank ``k`` on."""
    return torch.where(ranks < k, 1.0 / torch.log2(ranks.double() + 2.0), 0.0)


def ideal(gains: Tensor, k: int) -> Tensor:
    """Return the DCG@k of the best order of gains (B, n), (B,)."""
    best = gains.double().sort(dim=1, descending=True).values
    return (best * discounts(torch.arange(best.shape[1]), k)).sum(dim=1)


def ndcg(scores: Tensor, gains: Tensor, k: int) -> Tensor:
    """Return nDCG@k of scores (B, n) for gains (B, n), (B,) float64; NaN without any gain.

    Equal scores share their places, so a model that says nothing gets what chance gets.
    """
    order = scores.argsort(dim=1, descending=True, stable=True)
    by_rank = discounts(torch.arange(scores.shape[1]), k).expand(scores.shape)
    sorted_scores = scores.gather(1, order)
    # The mean discount over each run of equal scores.
    run = torch.zeros_like(order)
    run[:, 1:] = (sorted_scores[:, 1:] != sorted_scores[:, :-1]).cumsum(dim=1)
    sums = torch.zeros_like(by_rank).scatter_add(1, run, by_rank)
    sizes = torch.zeros_like(by_rank).scatter_add(1, run, torch.ones_like(by_rank))
    shared = (sums / sizes.clamp(min=1)).gather(1, run)
    return (gains.double().gather(1, order) * shared).sum(dim=1) / ideal(gains, k)


def lambda_loss(scores: Tensor, gains: Tensor, *, k: int = 15, sigma: float = 0.5) -> Tensor:
    """Return a loss () whose gradient by the scores is LambdaRank's.

    For every pair of a list in which i has more gain than j:
    dL/ds_i = -sigma / (1 + exp(sigma (s_i - s_j))) |delta nDCG@k|, and the opposite for j, with
    |delta nDCG@k| = |g_i - g_j| |D(i) - D(j)| / IDCG@k at the present order (Burges 2010, section
    4; PLANT sets sigma to 1/2). The value is the sum over pairs of the weighted logistic loss,
    averaged over lists; |delta nDCG| is held fixed. D and IDCG are both cut at ``k``: the code of
    PLANT cuts the ideal only, so that its weights are those of no metric.

    scores, gains: (B, n). Lists without two different gains add nothing.
    """
    scores = scores.float()
    with torch.no_grad():
        ranks = torch.empty_like(scores, dtype=torch.long)
        order = scores.argsort(dim=1, descending=True, stable=True)
        ranks.scatter_(1, order, torch.arange(scores.shape[1]).expand_as(order))
        discount = discounts(ranks, k).float()
        best = ideal(gains, k).clamp(min=1e-12).float()
        gained = gains.float()
        change = (gained[:, :, None] - gained[:, None, :]).clamp(min=0.0)
        change = change * (discount[:, :, None] - discount[:, None, :]).abs()
        change = change / best[:, None, None]
    apart = scores[:, :, None] - scores[:, None, :]
    pairs = torch.nn.functional.softplus(-sigma * apart) * change
    return pairs.sum() / len(scores)


def softmax_loss(scores: Tensor, gains: Tensor) -> Tensor:
    """Return the listwise softmax loss (): cross-entropy of the scores to each list's gains.

    The modern alternative to LambdaRank (ListNet's top-one form, Cao et al. 2007, with gains in
    place of exponentials, as in Bruch et al. 2019). scores, gains: (B, n); lists without any gain
    add nothing.
    """
    total = gains.float().sum(dim=1, keepdim=True)
    share = gains.float() / total.clamp(min=1e-12)
    logs = scores.float().log_softmax(dim=1)
    return -(share * logs).sum() / (total > 0).sum().clamp(min=1)
