import numpy as np
import torch

from attending.parts.planting.planted import Planted
from attending.parts.planting.ranker import learn_ranking
from attending.parts.planting.relevance import collected
from attending.specs.planting import PlantedScores


def planted(**settings):
    spec = PlantedScores(dimension=8, ranking_epochs=100, **settings)
    pairs = [([5, 2], [0.9, 0.3]), ([3], [0.5])]
    relevance = collected([(np.array(w, np.int32), np.array(s, np.float32)) for w, s in pairs], 9)
    part = Planted(spec, 9, 2)
    part.plant(learn_ranking(relevance, spec)[0], relevance)
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
