"""Planted attention: scores of words for labels, added to label attention before its softmax.

Letters: B documents, S tokens, V words, l labels of a chunk of L, d dimension, K words a label.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.masking import mask_value
from attending.parts.planting.ranker import Ranker
from attending.parts.planting.relevance import Relevance
from attending.parts.words import PAD_ID
from attending.specs.planting import PlantedScores

_STATIC = 50
"""Words a label whose own relevance is kept beside the learned ranking."""
_VOTERS = 10
"""Words a label that vote for it."""
HALFWAY = 3.0
"""Training documents of a label at which, with votes, the network's own say on it is a half."""


class Planted(nn.Module):
    """What the ranking says of every token, for some labels at a time.

    score(token, label) = weight * e_word . u_label + static_weight * J(word, label)

    with the word that the token is a piece of (the published code looks up the *predicted next*
    token). Both tables and both weights are trained on, from the planted state. ``keep`` tokens a
    label are left, the others get no attention at all: they are masked before the softmax, where
    the published code sets their score to 0, which outranks every kept token with a negative one.

    With a ``vote``, a label's logit is what the network says as far as documents of the label have
    taught it, and what the label's words say:

        logit = prior + gate * (network - prior) + vote * share
        gate = n / (n + 3)
        share(document, label) = sum over words held of J(word, label)^2 / sum over words of J^2

    with n training documents of the label, the log odds of its share of them for a prior, and the
    ten best words of the label, each counted by its squared relevance. A network that has never
    seen a label has only learned to deny it, so it has no say on it; the words of the label's text
    have. The vote is not trained on: training documents hold the words that were picked for them.
    The paper has no such term; the gate is where that of ``LexicalMixture`` starts.

    A word's scores are computed once a batch, however many tokens are pieces or repeats of it; see
    ``token_by_token``.
    """

    static_words: Tensor
    static_scores: Tensor
    gate: Tensor
    prior: Tensor

    def __init__(self, spec: PlantedScores, words: int, labels: int) -> None:
        super().__init__()
        self.keep = spec.tokens
        self.by_word = True
        self.words = nn.Parameter(torch.zeros(words, spec.dimension + 1))
        self.labels = nn.Parameter(torch.zeros(labels, spec.dimension + 1))
        self.weight = nn.Parameter(torch.tensor(float(spec.weight)))
        self.static_weight = nn.Parameter(torch.tensor(float(spec.static_weight)))
        self.vote = spec.vote
        if self.vote:
            self.register_buffer("gate", torch.ones(labels))
            self.register_buffer("prior", torch.zeros(labels))
        self.register_buffer("static_words", torch.zeros(labels, _STATIC, dtype=torch.int32))
        self.register_buffer("static_scores", torch.zeros(labels, _STATIC))

    def plant(
        self, ranker: Ranker, relevance: Relevance, examples: Sequence[int], prior: Tensor
    ) -> None:
        """Take over what was learned before: the ranking and each label's best words.

        examples: training documents of each label, (L,); prior: what a network says of labels
        before it knows anything of a document, (L,).
        """
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
        if self.vote:
            known = torch.tensor(list(examples), dtype=torch.float32)
            self.gate.copy_(known / (known + HALFWAY))
            self.prior.copy_(prior)

    def forward(self, words: Tensor, which: slice | Tensor) -> Tensor:
        """Return scores (B, l, S) of the words under tokens (B, S) for some labels."""
        if self.by_word:
            used, place = torch.unique(words, return_inverse=True)
            found = nn.functional.embedding(place, self._of_words(used, which)).transpose(1, 2)
        else:
            found = self.weight * (self.labels[which] @ self.words[words].transpose(1, 2))
            found = found + self.static_weight * self._static(words, which)
        return self._kept(found, words) if self.keep else found

    def _of_words(self, used: Tensor, which: slice | Tensor) -> Tensor:
        """Return the scores of some distinct words (U,) for some labels, (U, l)."""
        learned = self.words[used] @ self.labels[which].t()
        own, scores = self.static_words[which].long(), self.static_scores[which]
        # Words of a label that no token has land in a row of their own, which is cut off.
        row = torch.full((len(self.words),), len(used), device=used.device)
        row[used] = torch.arange(len(used), device=used.device)
        table = scores.new_zeros(len(used) + 1, own.shape[0]).scatter_add(
            0, row[own].t(), scores.t()
        )
        return self.weight * learned + self.static_weight * table[:-1]

    def voted(self, logits: Tensor, words: Tensor, which: slice | Tensor) -> Tensor:
        """Add to the logits (B, l) of some labels what the words of documents (B, S) say of them.

        Without a vote the logits are returned as they are.
        """
        if not self.vote:
            return logits
        own = self.static_words[which, :_VOTERS].long()
        counted = self.static_scores[which, :_VOTERS].square()
        held = counted.new_zeros(words.shape[0], len(self.words))
        held = held.scatter(1, words, torch.ones_like(words, dtype=held.dtype))
        found = (held[:, own] * counted).sum(dim=2) / counted.sum(dim=1).clamp(min=1e-6)
        prior, gate = self.prior[which], self.gate[which]
        return prior + gate * (logits - prior) + self.vote * found

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


@contextmanager
def token_by_token(planted: Planted | None) -> Iterator[None]:
    """Let planted scores be computed for every token by itself, for as long as a graph is traced.

    How many distinct words a batch has is known only when it is there, which no graph can wait for.
    """
    if planted is None:
        yield
        return
    planted.by_word = False
    try:
        yield
    finally:
        planted.by_word = True


def require_place(
    spec: PlantedScores, attention: nn.Module, kind: str, label_wise: bool, where: str
) -> None:
    """Make sure that there is attention to plant scores in, and logits to add votes to.

    Raises:
        RecipeError: If there isn't.
    """
    if not getattr(attention, "takes_bias", False):
        raise RecipeError(
            f'nothing can be planted in label_attention "{kind}"',
            where=where,
            allowed="softmax, projected, joint, cross, lesa",
        )
    if spec.vote and not label_wise:
        raise RecipeError(
            f'label_attention "{kind}" scores no label by itself, so no words can vote for one',
            where=where,
            step="Set planting.vote = 0.",
        )


def build_planted(spec: PlantedScores, *, words: int, labels: Any, **_: object) -> Planted:
    """Build planted scores for a vocabulary of ``words`` words, nothing planted yet."""
    return Planted(spec, words, len(labels))
