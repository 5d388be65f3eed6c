"""A linear-chain CRF: the likelihood of a whole sequence of tags.

Letters: D sequences, S words of the longest, N words of all, K layers, C tags.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attending.specs import ChainLikelihood
from attending.tags import TagSet

FORBIDDEN = -1e4
"""Score of a transition that can't be: finite, so that no gradient is lost in it."""


class ChainLoss(nn.Module):
    """Negative log likelihood of the right tags, per word.

    A sequence scores the sum of its words' logits, of the transitions between them, and of its
    first and last tag. Transitions that the tags forbid can't be learned. A sequence may begin
    inside a span: windows begin anywhere.
    Source: Lafferty et al. 2001; over neural scores Lample et al. 2016, section 2.2.

    Args:
        tags: The tags; each layer is a chain of its own.
    """

    copies = False
    allowed: Tensor

    def __init__(self, tags: TagSet) -> None:
        super().__init__()
        layers, count = tags.shape
        self.transitions = nn.Parameter(torch.zeros(layers, count, count))
        self.starts = nn.Parameter(torch.zeros(layers, count))
        self.ends = nn.Parameter(torch.zeros(layers, count))
        self.register_buffer("allowed", torch.from_numpy(tags.can_follow), persistent=False)

    @property
    def moves(self) -> Tensor:
        """Scores of transitions, (K, C before, C after)."""
        return self.transitions.masked_fill(~self.allowed, FORBIDDEN)

    def forward(self, logits: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
        """Return the loss of logits (N, K, C), tags (N, K) and lengths (D,) that sum to N."""
        sizes = lengths.tolist()
        scores = pad_sequence(list(torch.split(logits.float(), sizes)), batch_first=True)
        gold = pad_sequence(list(torch.split(targets, sizes)), batch_first=True)
        real = torch.arange(scores.shape[1], device=lengths.device) < lengths.unsqueeze(1)
        likely = self.score(scores, gold, real) - self.partition(scores, real)
        return -likely.sum() / targets.numel()

    def score(self, scores: Tensor, tags: Tensor, real: Tensor) -> Tensor:
        """Return the score of a sequence of tags (D, S, K) under scores (D, S, K, C), (D, K)."""
        layer = torch.arange(tags.shape[2], device=tags.device)
        own = scores.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        total = (own * real.unsqueeze(-1)).sum(dim=1) + self.starts[layer, tags[:, 0]]
        moves = self.moves[layer, tags[:, :-1], tags[:, 1:]]
        total = total + (moves * real[:, 1:].unsqueeze(-1)).sum(dim=1)
        last = (real.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, tags.shape[2])
        return total + self.ends[layer, tags.gather(1, last).squeeze(1)]

    def partition(self, scores: Tensor, real: Tensor) -> Tensor:
        """Return the logarithm of the sum over all sequences, (D, K), by the forward algorithm."""
        reached = scores[:, 0] + self.starts
        for word in range(1, scores.shape[1]):
            onward = (reached.unsqueeze(-1) + self.moves).logsumexp(dim=2) + scores[:, word]
            reached = torch.where(real[:, word].view(-1, 1, 1), onward, reached)
        return (reached + self.ends).logsumexp(dim=-1)


def build_crf(spec: ChainLikelihood, *, tags: TagSet, **_: object) -> ChainLoss:
    """Build the loss."""
    return ChainLoss(tags)
