from itertools import pairwise, product

import numpy as np
import pytest
import torch

from attending.parts.tagging.chains import Chain, best_tags, marginals
from attending.parts.tagging.crf import FORBIDDEN, ChainLoss
from attending.tags import TagSet

TAGS = TagSet(("a", "b"))


@pytest.fixture
def loss():
    torch.manual_seed(3)
    made = ChainLoss(TAGS)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def all_scores(loss, logits):
    """Score every sequence of tags of one text, (n, C), by going through them all."""
    moves = loss.moves[0]
    found = {}
    for tags in product(range(logits.shape[1]), repeat=len(logits)):
        score = loss.starts[0, tags[0]] + loss.ends[0, tags[-1]]
        score = score + sum(logits[i, t] for i, t in enumerate(tags))
        found[tags] = score + sum(moves[a, b] for a, b in pairwise(tags))
    return found


@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_likelihood_equals_brute_force(loss, length):
    logits = torch.randn(length, 1, 5)
    gold = torch.tensor([0, 1, 2, 3][:length]).unsqueeze(1)
    every = all_scores(loss, logits[:, 0])
    total = torch.stack(list(every.values())).logsumexp(0)
    expected = (total - every[tuple(gold.flatten().tolist())]) / length
    assert loss(logits, gold, torch.tensor([length])).item() == pytest.approx(
        expected.item(), rel=1e-5
    )


def test_texts_of_any_length_go_together(loss):
    logits = torch.randn(7, 1, 5)
    gold = torch.tensor([1, 2, 0, 3, 0, 1, 1]).unsqueeze(1)
    lengths = torch.tensor([3, 1, 3])
    apart = [
        loss(x, t, torch.tensor([len(x)])) * len(x)
        for x, t in zip(logits.split([3, 1, 3]), gold.split([3, 1, 3]), strict=True)
    ]
    together = loss(logits, gold, lengths)
    assert together.item() == pytest.approx((sum(apart) / 7).item(), rel=1e-5)


def test_layers_are_chains_of_their_own():
    tags = TagSet(("a", "b"), layered=True)
    loss = ChainLoss(tags)
    logits, gold = torch.randn(4, 2, 3), torch.tensor([[0, 1], [1, 2], [2, 0], [0, 1]])
    single = ChainLoss(TagSet(("a",)))
    apart = [single(logits[:, [k]], gold[:, [k]], torch.tensor([4])) for k in range(2)]
    assert loss(logits, gold, torch.tensor([4])).item() == pytest.approx(
        (sum(apart) / 2).item(), rel=1e-5
    )


def test_what_is_forbidden_is_not_learned(loss):
    assert (loss.moves[0][~torch.from_numpy(TAGS.can_follow[0])] == FORBIDDEN).all()
    loss(torch.randn(4, 1, 5), torch.tensor([[0], [1], [2], [0]]), torch.tensor([4])).backward()
    forbidden = ~torch.from_numpy(TAGS.can_follow)
    assert (loss.transitions.grad[forbidden] == 0).all()
    assert (loss.transitions.grad[~forbidden] != 0).any()


@pytest.mark.parametrize("length", [1, 3, 4])
def test_decoding_and_marginals_equal_brute_force(loss, length):
    logits = torch.randn(length, 1, 5)
    every = all_scores(loss, logits[:, 0])
    found = (loss.moves, loss.starts, loss.ends)
    chain = Chain(*(t.detach().double().numpy() for t in found))
    scores = logits.double().numpy()
    best = max(every, key=lambda tags: every[tags].item())
    assert best_tags(scores, [length], chain).ravel().tolist() == list(best)
    total = torch.stack(list(every.values())).logsumexp(0)
    expected = np.zeros((length, 5))
    for tags, score in every.items():
        for place, tag in enumerate(tags):
            expected[place, tag] += (score - total).exp().item()
    likely = np.exp(marginals(scores, [length], chain))[:, 0]
    assert likely == pytest.approx(expected, abs=1e-5)
