"""The network and the words together: one logit a label from what each of them says.

Letters: B documents, L labels, K views, Z pairs with a match.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from attending.errors import ShapeError
from attending.parts.lexical import LexicalScores
from attending.parts.lexical.combiner import UNSEEN
from attending.specs import LexicalSurfaces
from attending.tensors import LexicalMatches

_PACE = 10.0


class LexicalMixture(nn.Module):
    """Mix the network's logits with log-odds of words, by how much is known of a label.

        logit = gate * network + trust * words + offset

    Each of the three is a line in log(0.3 + n), n being the label's training documents, with one
    line for pairs with a match and one for those without: the gate in log-odds (a sigmoid keeps it
    between 0 and 1), the trust in logarithms. At first offset is 0, trust the given weight and the
    gate (0.3 + n) / (0.3 + n + halfway): a rare label is found by its words and a frequent one by
    context as well. With a head that starts silent, the mixture starts as the words alone.

    The words' own scores are fixed before training, on training documents that were scored by
    views that had not seen them. So the mixture has few numbers to learn, and a network that
    knows the training documents by heart can't talk it out of the words.

    Source: Jacobs et al. 1991 (mixture of experts) for the gate, Wolpert 1992 (stacking) for
    scores of rows that were held out.

    Args:
        weight: Trust at first.
        halfway: Documents at which the gate is a half at first; ``None``: it stays 1.
    """

    start: Tensor

    def __init__(self, weight: float = 1.0, halfway: float | None = 3.0) -> None:
        super().__init__()
        # Lines (gate, trust, offset; without a match, with one; height, slope). What is learned
        # lies in tens, so that at a head's learning rate a few hundred steps can move it.
        self.gated = halfway is not None
        self.lines = nn.Parameter(torch.zeros(3, 2, 2))
        start = torch.zeros(3, 2, 2)
        if halfway is not None:
            start[0] = torch.tensor([-math.log(halfway), 1.0])
        start[1, :, 0] = math.log(weight)
        self.register_buffer("start", start, persistent=False)

    def forward(self, logits: Tensor, words: LexicalMatches) -> Tensor:
        """Mix logits (B, L) with what words say of the same documents; (B, L) in float32.

        Raises:
            ShapeError: If they are of other documents or labels.
        """
        if (words.view.shape[0], words.silent.shape[1]) != tuple(logits.shape):
            raise ShapeError(
                "lexical matches don't fit the logits",
                found=str((len(words.view), words.silent.shape[1])),
                allowed=str(tuple(logits.shape)),
            )
        logits, known = logits.float(), torch.log(UNSEEN + words.counts)
        gate, added = self._weigh(known, words.silent, matched=0)
        mixed = gate[words.view] * logits + added[words.view]
        cells = words.document, words.label
        gate, added = self._weigh(known[words.view[cells[0]], cells[1]], words.score, matched=1)
        return mixed.index_put(cells, gate * logits[cells] + added)

    def _weigh(self, known: Tensor, score: Tensor, *, matched: int) -> tuple[Tensor, Tensor]:
        """Return the gate and what is added, both as ``known``, log(0.3 + n), and the score."""
        height, slope = (self.start + _PACE * self.lines)[:, matched].unbind(dim=-1)
        gate, trust, offset = (height[i] + slope[i] * known for i in range(3))
        gate = torch.sigmoid(gate) if self.gated else torch.ones_like(known)
        return gate, trust.exp() * score + offset


def build_mixture(spec: LexicalSurfaces, **_: object) -> LexicalMixture | None:
    """Build the mixture of a recipe; ``None`` if its weight is 0."""
    if not spec.weight:
        return None
    return LexicalMixture(spec.weight, spec.halfway if spec.gate == "count" else None)


def matches_of(scores: LexicalScores, rows: Sequence[int]) -> LexicalMatches:
    """Return what words say of some documents, in their order, as tensors."""
    views, place = np.unique(scores.view[list(rows)], return_inverse=True)
    cells = [np.arange(scores.indptr[i], scores.indptr[i + 1]) for i in rows]
    picked = np.concatenate([np.zeros(0, np.int64), *cells])
    document = np.repeat(np.arange(len(rows)), [len(c) for c in cells])
    return LexicalMatches(
        document=torch.from_numpy(document),
        label=torch.from_numpy(scores.labels[picked].astype(np.int64)),
        score=torch.from_numpy(scores.values[picked]),
        view=torch.from_numpy(place.reshape(-1)),
        silent=torch.from_numpy(scores.silent[views]),
        counts=torch.from_numpy(scores.counts[views]),
    )
