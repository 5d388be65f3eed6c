"""A threshold from few rows with many of a simpler system: exact, and better than either alone."""

import numpy as np
import pytest
from scipy.special import expit, logit

from attending.evaluation.steadied import steadied_threshold
from attending.evaluation.thresholds import best_threshold


def table(rng, rows, labels=40, share=0.1):
    """Draw truth and log-odds that say something of it, (rows, labels)."""
    truth = rng.random((rows, labels)) < share
    return truth, rng.normal(size=truth.shape) + np.where(truth, 1.5, -2.0)


def slowly(own, simpler, truth, more, more_truth, seed, weight):
    """Do the same cell by cell, threshold by threshold, draw by draw."""
    p, q = np.concatenate([simpler, more]), np.concatenate([truth, more_truth])
    given = int((simpler >= best_threshold(p, q).value).sum())
    ordered = sorted(own.ravel(), reverse=True)
    matched = (ordered[given - 1] + ordered[given]) / 2
    n, cuts = len(own), []
    for drawn in np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=200):
        best, cut = -1.0, None
        for t in sorted(own[truth]):
            given = sum(k * (own[i] >= t).sum() for i, k in enumerate(drawn))
            right = sum(k * ((own[i] >= t) & truth[i]).sum() for i, k in enumerate(drawn))
            f1 = 2 * right / (given + sum(k * truth[i].sum() for i, k in enumerate(drawn)))
            if f1 >= best - 1e-12:
                best, cut = max(best, f1), t
        under = own[own < cut]
        cuts.append((cut + under.max()) / 2 if under.size else cut / 2)
    return expit((n * logit(cuts).mean() + weight * logit(matched)) / (n + weight))


def test_it_is_what_a_slow_count_finds():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth, simpler = table(rng, 4, 8, 0.4)
        truth[:, 0] = True
        more_truth, more = table(rng, 9, 8, 0.3)
        own = simpler + rng.normal(size=simpler.shape)
        given = (expit(own), expit(simpler), truth, expit(more), more_truth)
        found = steadied_threshold(*given, seed=seed, weight=7.0)
        assert found == pytest.approx(slowly(*given, seed, 7.0))


def test_it_goes_from_as_many_labels_as_the_simpler_system_gives_to_the_rows_own_best():
    rng = np.random.default_rng(0)
    truth, own = table(rng, 8, 10)
    more_truth, more = table(rng, 30, 10)
    p, q = expit(0.5 * own - 1), expit(0.5 * more - 1)
    cut = best_threshold(np.concatenate([p, q]), np.concatenate([truth, more_truth])).value
    given = (expit(own), p, truth, q, more_truth)
    follows = steadied_threshold(*given, seed=3, weight=1e12)
    assert (expit(own) >= follows).sum() == (p >= cut).sum()
    alone = steadied_threshold(*given, seed=3, weight=0.0)
    between = steadied_threshold(*given, seed=3)
    assert min(follows, alone) < between < max(follows, alone)


def test_ties_empty_answers_and_certain_ones_give_a_threshold():
    truth = np.array([[True, False], [False, True]])
    flat, none = np.full((2, 2), 0.3), np.zeros((0, 2))
    for own in (flat, np.zeros((2, 2)), np.ones((2, 2)), truth.astype(float)):
        for simpler in (flat, truth.astype(float)):
            cut = steadied_threshold(own, simpler, truth, none, none.astype(bool), seed=0)
            assert 0 < cut < 1


def known(rng, rows, share):
    """Draw truth, and log-odds of words that know a share of the true labels; 600 labels."""
    truth = rng.random((rows, 600)) < 0.012
    quiet = rng.random(truth.shape) < 0.985
    said = np.where(quiet, -6.0, rng.normal(size=truth.shape) * 1.3 - 2.2)
    found = rng.normal(size=truth.shape) * 1.6 + 0.8
    return truth, np.where(truth & (rng.random(truth.shape) < share), found, said)


def test_eleven_easy_rows_choose_more_steadily_with_three_hundred_of_words_alone():
    """The model is the words with noise, on a scale of its own, cut elsewhere; 12 trials."""
    cuts, figures = {"steadied": [], "few": []}, {"steadied": [], "few": []}
    for trial in range(12):
        rng = np.random.default_rng(trial)
        truth, words = known(rng, 11, 0.85)
        more_truth, more = known(rng, 300, 0.7)
        new_truth, new = known(rng, 500, 0.7)
        own, new = (expit(x + 0.5 * rng.normal(size=x.shape)) for x in (words, new))
        words, more = expit(0.6 * words - 0.6), expit(0.6 * more - 0.6)
        chosen = {
            "steadied": steadied_threshold(own, words, truth, more, more_truth, seed=trial),
            "few": best_threshold(own, truth).value,
        }
        for name, cut in chosen.items():
            given = new >= cut
            right = 2 * (given & new_truth).sum() / (given.sum() + new_truth.sum())
            cuts[name].append(logit(cut)), figures[name].append(right)
    assert np.std(cuts["steadied"]) < 0.7 * np.std(cuts["few"])
    assert np.mean(figures["steadied"]) > np.mean(figures["few"])
    assert min(figures["steadied"]) > min(figures["few"])
