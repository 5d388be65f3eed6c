"""Nearest neighbours on logits: training words with scores like a word's vote for its tag.

Source: Rehman, Zhang, Yang 2024, arXiv:2409.03238: "a latent KNN classifier (17 neighbours) to
predict the final entity label using the raw logits". Exact search, Euclidean distance.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attending.parts.tagging.search import ExactSearch, TreeSearch, few_of_each, search_among
from attending.specs import LogitNeighbours

_FLOOR = 1e-6
"""Probability of a tag that no neighbour has, so that its logarithm is finite."""


class Neighbours:
    """Training words and their tags.

    Letters: M training words, N words, K layers, C tags.

    Args:
        spec: How many vote and how much that weighs.
        logits: (M, K, C) float32, of training words alone; of a CRF, log probabilities.
        tags: (M, K), their true tags.
    """

    def __init__(
        self, spec: LogitNeighbours, logits: NDArray[np.float32], tags: NDArray[np.int64]
    ) -> None:
        self.spec, self.logits, self.tags = spec, logits, tags

    @cached_property
    def _search(self) -> tuple[NDArray[np.int64], ExactSearch | TreeSearch]:
        """The numbers of the training words that are searched, and the search among them."""
        points = self.logits.reshape(len(self.logits), -1)
        kept = few_of_each(points, self.spec.k)
        return kept, search_among(points[kept].astype(np.float64))

    def nearest(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the nearest training words of words (N, K, C), (N, k)."""
        kept, search = self._search
        return kept[search.nearest(logits.reshape(len(logits), -1), self.spec.k)]

    def mixed(
        self, logits: NDArray[np.float64], likely: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Mix the neighbours' votes into log probabilities (N, K, C) of words."""
        weight = self.spec.weight
        if not weight or not len(logits):
            return likely
        mixture = self.votes(logits)
        if weight < 1:
            mixture = weight * mixture + (1 - weight) * np.exp(likely)
        mixture += _FLOOR
        found: NDArray[np.float64] = np.log(mixture / mixture.sum(axis=-1, keepdims=True))
        return found

    def votes(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the nearest training words that have each tag, (N, K, C)."""
        nearest = self.nearest(logits)
        votes = self.tags[nearest]  # (N, k, K)
        words, layers, count = logits.shape
        shares = np.zeros(logits.shape)
        rows = np.arange(words)[:, None]
        for layer in range(layers):
            cells = (rows * count + votes[:, :, layer]).ravel()
            tally = np.bincount(cells, minlength=words * count)
            shares[:, layer] = tally.reshape(words, count)
        found: NDArray[np.float64] = shares / nearest.shape[1]
        return found


def build_neighbours(
    spec: LogitNeighbours,
    *,
    logits: NDArray[np.float32],
    tags: NDArray[np.int64],
    **_: object,
) -> Neighbours:
    """Build the vote of training words."""
    return Neighbours(spec, logits, tags)
