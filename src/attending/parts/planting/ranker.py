"""Learning to rank: word and label vectors whose products order the words of each label.

Letters: V words, L labels, d dimension, B labels of a step, n words of a list.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attending.parts.planting.grades import gains, grades
from attending.parts.planting.ranking_loss import lambda_loss, ndcg, softmax_loss
from attending.parts.planting.relevance import Relevance
from attending.specs.planting import Planting

WATCHED = 15
"""The k of the nDCG@k that is optimised and watched, as published."""
_LABELS = 256
_CANDIDATES = 100

Listener = Callable[[dict[str, float]], None]
Ints = NDArray[np.int64]
Watched = tuple[Ints, Ints, Tensor]


class Ranker(nn.Module):
    """Scores s(word, label) = e_word . u_label + b_word (PLANT's dot-product model).

    Its bias of the label is left out: it moves all words of a label alike, so it changes no order
    and no attention.
    """

    def __init__(self, words: int, labels: int, dimension: int, seed: int = 0) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.words = nn.Embedding(words, dimension + 1, sparse=True)
        self.labels = nn.Embedding(labels, dimension, sparse=True)
        with torch.no_grad():
            for table in (self.words.weight[:, :-1], self.labels.weight):
                table.copy_(torch.randn(table.shape, generator=draw) * dimension**-0.25 * 0.1)
            self.words.weight[:, -1] = 0.0

    def forward(self, words: Tensor, labels: Tensor) -> Tensor:
        """Return scores (B, n) of words (B, n) for labels (B,)."""
        found = self.words(words)
        factors = found[..., :-1] @ self.labels(labels)[:, :, None]
        scores: Tensor = factors.squeeze(-1) + found[..., -1]
        return scores

    @torch.no_grad()
    def factors(self, chunk: int = 512) -> tuple[Tensor, Tensor]:
        """Return words (V, d + 1) and labels (L, d + 1) whose products are standard scores.

        Each label's scores have mean 0 and deviation 1 over the vocabulary; raw ones are without
        bound, which makes a softmax over them all but one-hot. The mean goes into no softmax; it
        is taken off so that unknown words, at 0, are as likely as the average word.
        """
        table = self.words.weight.detach().double()
        table = table - table.mean(dim=0)
        spread = table.T @ table / len(table)
        ones = torch.ones(len(self.labels.weight), 1, dtype=torch.double)
        own = torch.cat([self.labels.weight.detach().double(), ones], dim=1)
        deviation = (own @ spread * own).sum(dim=1).clamp(min=1e-24).sqrt()
        return table.float(), (own / deviation[:, None]).float()


@dataclass(frozen=True)
class Lists:
    """Where the lists of a relevance come from.

    ``keys`` (Z,) are label * V + word, rising; ``gain`` (Z,) and ``held`` (Z,) belong to them.
    """

    relevance: Relevance
    keys: Ints
    gain: NDArray[np.float64]
    held: NDArray[np.bool_]

    @classmethod
    def of(cls, relevance: Relevance, levels: int, held_out: float, seed: int) -> "Lists":
        """Grade every kept word of every label, and hold a share of them out."""
        sizes = np.diff(relevance.indptr)
        ranks = np.arange(len(relevance.indices)) - np.repeat(relevance.indptr[:-1], sizes)
        labels = np.repeat(np.arange(len(relevance)), sizes)
        keys = labels * relevance.words + relevance.indices
        order = np.argsort(keys, kind="stable")
        graded = gains(grades(ranks, max(relevance.words, 1), levels))
        held = np.random.default_rng(seed).random(len(keys)) < held_out
        return cls(relevance, keys[order], graded[order], held[order])

    def look_up(self, labels: Ints, words: Ints) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return gain and held-out mark of words (B, n) for labels (B,); unranked words have 0."""
        wanted = labels[:, None] * self.relevance.words + words
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        known = self.keys[at] == wanted
        return np.where(known, self.gain[at], 0.0), known & self.held[at]

    def draw(
        self, labels: Ints, length: int, rng: np.random.Generator
    ) -> tuple[Ints, NDArray[np.float64], NDArray[np.bool_]]:
        """Draw a list a label: half from its ranked words, the best more often, half from all.

        A ranked word is drawn with a chance that falls as 1/rank, so that every step of relevance
        is seen about as often. Returns words (B, length), gains, and marks of those that may
        train (a held-out word may not).
        """
        relevance = self.relevance
        first = relevance.indptr[labels][:, None]
        size = np.diff(relevance.indptr)[labels][:, None]
        ranked = length // 2
        drawn = np.exp(rng.random((len(labels), ranked)) * np.log(size + 1)) - 1
        own = relevance.indices[first + np.minimum(drawn.astype(np.int64), size - 1)]
        any_ = rng.integers(relevance.words, size=(len(labels), length - ranked))
        words = np.concatenate([own, any_], axis=1).astype(np.int64)
        gain, held = self.look_up(labels, words)
        return words, gain, ~held

    def watched(self, rng: np.random.Generator, most: int = 500) -> Watched:
        """Return held-out lists: labels (B,), words (B, n) and gains (B, n).

        Each holds all held-out words of a label (up to n - 100) among 100 words that are not
        ranked for it; labels without a held-out word are left out, and of many, some are drawn.
        """
        held = np.flatnonzero(self.held)
        of = self.keys[held] // self.relevance.words
        labels = np.unique(of)
        if len(labels) > most:
            labels = np.sort(rng.choice(labels, most, replace=False))
        words = rng.integers(self.relevance.words, size=(len(labels), 2 * _CANDIDATES))
        gain, _ = self.look_up(labels, words)
        words[gain > 0] = -1
        for row, label in enumerate(labels):
            own = held[of == label]
            best = own[np.argsort(-self.gain[own], kind="stable")][:_CANDIDATES]
            words[row, : len(best)] = self.keys[best] % self.relevance.words
        found = np.where(words < 0, 0, words)
        gain = np.where(words < 0, 0.0, self.look_up(labels, found)[0])
        return labels, found, torch.from_numpy(gain)


def learn_ranking(
    relevance: Relevance, spec: Planting, seed: int = 0, listener: Listener | None = None
) -> tuple[Ranker, dict[str, float]]:
    """Learn to rank the words of every label; returns the ranker and what is known of it.

    Labels without a ranked word keep their first vectors, which say next to nothing. It is learned
    twice: once with ``held_out`` of the words kept out of the lists, which gives ``ndcg@15`` (of
    held-out words and unranked ones, averaged over labels) and ``ndcg@15 at first``; and once on
    all words, for use, because the best word of a label must not be the one held out.
    """
    if not len(relevance.indices):
        return Ranker(relevance.words, len(relevance), spec.dimension, seed), {}
    facts: dict[str, float] = {}
    if spec.held_out:
        lists = Lists.of(relevance, spec.levels, spec.held_out, seed)
        watched = lists.watched(np.random.default_rng(seed))
        ranker = Ranker(relevance.words, len(relevance), spec.dimension, seed)
        facts[f"ndcg@{WATCHED} at first"] = watch(ranker, watched)
        _learn(ranker, lists, watched, spec, seed, listener)
        facts[f"ndcg@{WATCHED}"] = watch(ranker, watched)
    ranker = Ranker(relevance.words, len(relevance), spec.dimension, seed)
    _learn(ranker, Lists.of(relevance, spec.levels, 0.0, seed), None, spec, seed, listener)
    return ranker, {k: v for k, v in facts.items() if v == v}


def _learn(
    ranker: Ranker,
    lists: Lists,
    watched: Watched | None,
    spec: Planting,
    seed: int,
    listener: Listener | None,
) -> None:
    rng = np.random.default_rng(seed)
    able = np.flatnonzero(np.diff(lists.relevance.indptr))
    steps = spec.ranking_epochs * -(-len(able) // _LABELS)
    optimiser = torch.optim.SparseAdam(list(ranker.parameters()), lr=spec.ranking_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, spec.ranking_rate, total_steps=steps + 1, cycle_momentum=False
    )
    order = np.zeros(0, np.int64)
    for step in range(steps):
        if not len(order):
            order = rng.permutation(able)
        labels, order = order[:_LABELS], order[_LABELS:]
        loss = _loss(ranker, lists, labels, spec, rng)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()  # type: ignore[no-untyped-call]
        schedule.step()
        if listener is not None and (step + 1) % max(1, steps // 10) == 0:
            at = {"step": step + 1, "steps": steps, "loss": loss.item()}
            seen = {} if watched is None else {f"ndcg@{WATCHED}": watch(ranker, watched)}
            listener({**at, **seen})


def _loss(
    ranker: Ranker, lists: Lists, labels: Ints, spec: Planting, rng: np.random.Generator
) -> Tensor:
    words, gain, may = lists.draw(labels, spec.list_length, rng)
    scores = ranker(torch.from_numpy(words), torch.from_numpy(labels))
    # A held-out word is moved out of its list: no gain, and no place to take from others.
    scores = scores.masked_fill(~torch.from_numpy(may), -1e4)
    wanted = torch.from_numpy(np.where(may, gain, 0.0))
    if spec.ranking_loss == "lambda":
        return lambda_loss(scores, wanted, k=WATCHED)
    return softmax_loss(scores, wanted)


@torch.no_grad()
def watch(ranker: Ranker, watched: Watched) -> float:
    """Return the mean nDCG@15 of held-out lists; NaN where there is none."""
    labels, words, gain = watched
    if not len(labels):
        return float("nan")
    scores = ranker(torch.from_numpy(words), torch.from_numpy(labels))
    return float(ndcg(scores, gain, WATCHED).nanmean())
