"""Grades of relevance: a pure function of a word's rank for a label.

A grade says how much it costs to rank a word too low; it depends on ranks alone, so that labels
with many and with few examples are learned alike.
"""

import numpy as np
from numpy.typing import NDArray

MOST = 5
"""Grades above it would let one word decide a whole list: the gain of a grade g is 2^g - 1."""


def grades(ranks: NDArray[np.int64], candidates: int, levels: int = MOST - 1) -> NDArray[np.int64]:
    """Return the grade of each rank (0 is the best) among ``candidates`` words.

    The best word has grade ``levels`` + 1; below it, ``levels`` steps of ranks, each wider than
    the one before by the same factor, go down to grade 1. The published setting has 100 levels
    between 1e-4 of all words and all of them; with its gain of 2^grade every list is ruled by its
    single best word, so the default has as few levels as the gain can bear.

    Raises:
        ValueError: If a rank is not below ``candidates``, or there are no levels.
    """
    if levels < 1 or candidates < 1:
        raise ValueError(f"{levels} levels of {candidates} candidates: at least one of each")
    ranks = np.asarray(ranks)
    if len(ranks) and (ranks.min() < 0 or ranks.max() >= candidates):
        raise ValueError(f"ranks must lie between 0 and {candidates - 1}")
    edges = candidates * np.concatenate([[0.0], np.logspace(-4, 0, levels)])
    return levels + 1 - np.searchsorted(edges, ranks).astype(np.int64)


def gains(graded: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the gain of grades, 2^g - 1, with grades above 5 counted as 5."""
    return np.exp2(np.minimum(graded, MOST).astype(np.float64)) - 1.0
