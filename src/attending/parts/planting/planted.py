"""Planted attention: scores of words for labels, added to label attention before its softmax.

Letters: B documents, S tokens, V words, l labels of a chunk of L, d dimension, K words a label.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attending.parts.masking import mask_value
from attending.parts.planting.ranker import Ranker
from attending.parts.planting.relevance import Relevance
from attending.parts.words import PAD_ID
from attending.specs.planting import PlantedScores

_STATIC = 50
"""Words a label whose own relevance is kept beside the learned ranking."""


class Planted(nn.Module):
    """What the ranking says of every token, for some labels at a time.

    score(token, label) = weight * e_word . u_label + static_weight * J(word, label)

    with the word that the token is a piece of (the published code looks up the *predicted next*
    token). Both tables and both weights are trained on, from the planted state. ``keep`` tokens a
    label are left, the others get no attention at all: they are masked before the softmax, where
    the published code sets their score to 0, which outranks every kept token with a negative one.
    """

    static_words: Tensor
    static_scores: Tensor

    def __init__(self, spec: PlantedScores, words: int, labels: int) -> None:
        super().__init__()
        self.keep = spec.tokens
        self.words = nn.Parameter(torch.zeros(words, spec.dimension + 1))
        self.labels = nn.Parameter(torch.zeros(labels, spec.dimension + 1))
        self.weight = nn.Parameter(torch.tensor(float(spec.weight)))
        self.static_weight = nn.Parameter(torch.tensor(float(spec.static_weight)))
        self.register_buffer("static_words", torch.zeros(labels, _STATIC, dtype=torch.int32))
        self.register_buffer("static_scores", torch.zeros(labels, _STATIC))

    def plant(self, ranker: Ranker, relevance: Relevance) -> None:
        """Take over what was learned before: the ranking and each label's best words."""
        words, labels = ranker.factors()
        with torch.no_grad():
            self.words.copy_(words)
            self.words[PAD_ID] = 0.0
            self.labels.copy_(labels)
        for label in range(len(relevance)):
            own, scores = relevance.of(label)
            size = min(len(own), _STATIC)
            self.static_words[label, :size] = torch.from_numpy(own[:size])
            self.static_scores[label, :size] = torch.from_numpy(scores[:size])

    def forward(self, words: Tensor, which: slice | Tensor) -> Tensor:
        """Return scores (B, l, S) of the words under tokens (B, S) for some labels."""
        found = self.weight * (self.labels[which] @ self.words[words].transpose(1, 2))
        found = found + self.static_weight * self._static(words, which)
        return self._kept(found, words) if self.keep else found

    def _kept(self, found: Tensor, words: Tensor) -> Tensor:
        """Mask all but the ``keep`` best known words of each document, for each label."""
        none = mask_value(found.dtype)
        known = torch.where(words.unsqueeze(1) > PAD_ID, found, none)
        # As many columns more: then there are enough of them, however short the documents are.
        enough = nn.functional.pad(known, (0, self.keep), value=none)
        least = enough.topk(self.keep, dim=2).values[..., -1:]
        return found.masked_fill(known < least, none)

    def _static(self, words: Tensor, which: slice | Tensor) -> Tensor:
        """Look words up in the labels' own lists: (B, l, S)."""
        own, scores = self.static_words[which].long(), self.static_scores[which]
        table = scores.new_zeros(own.shape[0], len(self.words)).scatter_add(1, own, scores)
        return table[:, words].transpose(0, 1) * (words != PAD_ID).unsqueeze(1)


def build_planted(spec: PlantedScores, *, words: int, labels: Any, **_: object) -> Planted:
    """Build planted scores for a vocabulary of ``words`` words, nothing planted yet."""
    return Planted(spec, words, len(labels))
