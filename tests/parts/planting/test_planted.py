import math

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attending.parts.heads import prior_logits
from attending.parts.planting.planted import Planted, token_by_token
from attending.parts.planting.ranker import learn_ranking
from attending.parts.planting.relevance import collected
from attending.specs.planting import PlantedScores


def planted(**settings):
    spec = PlantedScores(dimension=8, ranking_epochs=100, **settings)
    pairs = [([5, 2], [0.9, 0.3]), ([3], [0.5])]
    relevance = collected([(np.array(w, np.int32), np.array(s, np.float32)) for w, s in pairs], 9)
    part = Planted(spec, 9, 2)
    part.plant(learn_ranking(relevance, spec)[0], relevance, (6, 1), prior_logits((6, 1), 8))
    return part


def test_tokens_of_a_labels_words_score_highest():
    part = planted()
    words = torch.tensor([[0, 5, 4, 3, 2, 0]])
    scores = part(words, slice(0, 2))
    assert scores.shape == (1, 2, 6)
    assert scores[0, 0].argmax() == 1 and scores[0, 1].argmax() == 3
    assert scores[0, :, 0].abs().max() == 0


def test_static_scores_are_looked_up():
    part = planted(weight=0.0, static_weight=2.0)
    scores = part(torch.tensor([[5, 2, 7, 0]]), slice(0, 2))
    torch.testing.assert_close(scores[0], torch.tensor([[1.8, 0.6, 0, 0], [0, 0, 0, 0]]))


def test_chunks_of_labels_equal_all():
    part, words = planted(tokens=2), torch.tensor([[5, 2, 7, 3], [1, 1, 0, 0]])
    whole = part(words, slice(0, 2))
    torch.testing.assert_close(whole[:, 1:], part(words, slice(1, 2)))
    torch.testing.assert_close(whole[:, [1, 0]], part(words, torch.tensor([1, 0])))


def test_only_the_best_tokens_are_kept_whatever_their_sign():
    part = planted(tokens=2)
    with torch.no_grad():
        part.words[:, -1] -= 10.0  # all scores are negative
    words = torch.tensor([[5, 2, 7, 3, 0, 0]])
    scores = part(words, slice(0, 2))
    kept = scores > -1e30
    assert kept.sum(dim=2).tolist() == [[2, 2]]
    assert not kept[..., 4:].any()  # padding outranks nothing


def test_everything_goes_on_training():
    part = planted()
    part(torch.tensor([[5, 3]]), slice(0, 2)).square().sum().backward()
    assert {n for n, p in part.named_parameters() if p.grad is not None} == {
        "words",
        "labels",
        "weight",
        "static_weight",
    }


@pytest.mark.parametrize("which", [slice(0, 2), slice(1, 2), torch.tensor([1, 0])])
@pytest.mark.parametrize("tokens", [0, 2])
def test_scores_of_words_equal_those_of_tokens(which, tokens):
    part, words = planted(tokens=tokens), torch.tensor([[5, 2, 7, 3], [5, 5, 0, 0]])

    def run():
        part.zero_grad()
        found = part(words, which)
        found.clamp(min=-1e3).square().sum().backward()
        return found.detach(), [p.grad.clone() for p in part.parameters() if p.grad is not None]

    by_word = run()
    with token_by_token(part):
        by_token = run()
    torch.testing.assert_close(by_word[0], by_token[0])
    for mine, other in zip(by_word[1], by_token[1], strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
    assert part.by_word


# Votes.


def odds(n, documents):
    return math.log((n + 0.5) / (documents - n + 0.5))


def test_a_label_gets_the_share_of_its_words_that_a_document_holds():
    part, words = planted(vote=4.0), torch.tensor([[5, 5, 7, 0], [2, 3, 5, 0], [7, 7, 0, 0]])
    prior, gate = torch.tensor([odds(6, 8), odds(1, 8)]), torch.tensor([6 / 9, 1 / 4])
    logits = torch.randn(3, 2)
    voted = part.voted(logits, words, slice(0, 2))
    best = 0.81 / (0.81 + 0.09)  # words 5 and 2 have relevance .9 and .3, and count by its square
    vote = torch.tensor([[4 * best, 0.0], [4.0, 4.0], [0.0, 0.0]])
    torch.testing.assert_close(voted, prior + gate * (logits - prior) + vote)
    swapped = part.voted(logits[:, [1, 0]], words, torch.tensor([1, 0]))
    torch.testing.assert_close(swapped[:, [1, 0]], voted)


def test_on_a_label_without_documents_the_words_alone_have_a_say():
    spec = PlantedScores(dimension=4, ranking_epochs=1, vote=2.0)
    relevance = collected([(np.array([3], np.int32), np.array([1.0], np.float32))], 9)
    part = Planted(spec, 9, 1)
    part.plant(learn_ranking(relevance, spec)[0], relevance, (0,), prior_logits((0,), 20))
    logits = torch.tensor([[-50.0], [50.0]], requires_grad=True)
    voted = part.voted(logits, torch.tensor([[3, 0], [4, 0]]), slice(None))
    assert voted.flatten().tolist() == pytest.approx([odds(0, 20) + 2, odds(0, 20)])
    voted.sum().backward()
    assert logits.grad.abs().max() == 0, "nothing is learned from what was never seen"


def test_only_a_labels_ten_best_words_vote():
    spec = PlantedScores(dimension=4, ranking_epochs=1, vote=1.0)
    words, scores = np.arange(2, 14, dtype=np.int32), np.linspace(1, 0.5, 12, dtype=np.float32)
    relevance = collected([(words, scores)], 20)
    part = Planted(spec, 20, 1)
    part.plant(learn_ranking(relevance, spec)[0], relevance, (0,), prior_logits((0,), 1))
    given = torch.tensor([[*range(2, 12)], [12, 13, *[0] * 8]])
    none, voted = odds(0, 1), part.voted(torch.zeros(2, 1), given, slice(None)).flatten()
    assert voted.tolist() == pytest.approx([none + 1, none])


def test_a_label_without_words_gets_no_vote_and_no_fault():
    part = Planted(PlantedScores(dimension=4, vote=1.0), 9, 1)
    voted = part.voted(torch.ones(1, 1), torch.tensor([[3, 0]]), slice(None))
    assert voted.tolist() == [[1.0]]


def test_without_a_vote_logits_are_left_alone():
    part, logits = planted(), torch.zeros(1, 2)
    assert part.voted(logits, torch.tensor([[5, 3]]), slice(0, 2)) is logits


class Largest(TorchDispatchMode):
    """Watches how many cells the largest tensor has that is made."""

    cells = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.cells = max(self.cells, made.numel())
        return made


def test_no_table_holds_all_words_for_all_labels():
    words, labels, documents = 4000, 3000, 2
    part = Planted(PlantedScores(dimension=2, vote=1.0), words, labels)
    part.static_words.random_(1, words)
    part.static_scores.uniform_(0.1, 1.0)
    given = torch.randint(1, words, (documents, 40))
    with Largest() as seen:
        part.voted(torch.zeros(documents, labels), given, slice(None))
        part(given, slice(None))
    assert labels * 40 * documents <= seen.cells < words * labels / 10
