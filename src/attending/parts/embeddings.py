"""A word-embedding matrix of which only the rows in use are trained.

In a small encoder the word embeddings are half of all parameters, and each optimiser step clips
and updates every one of them although a small corpus touches a fifth. Rows that never occur have
no gradient, so leaving them out changes no result as long as they get no weight decay (ours
don't); it saves their share of the time.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class UsedRowsEmbedding(nn.Module):
    """An embedding whose trained parameters are some rows of a larger, fixed matrix.

    Args:
        full: The embedding to take over, (V, H).
        rows: (R,) int64, distinct row numbers to train, sorted.
    """

    base: Tensor
    rows: Tensor
    place: Tensor

    def __init__(self, full: nn.Embedding, rows: Tensor) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = full.num_embeddings, full.embedding_dim
        self.padding_idx = full.padding_idx
        self.register_buffer("base", full.weight.detach().clone())
        self.register_buffer("rows", rows.clone())
        place = torch.full((full.num_embeddings,), -1, dtype=torch.int64)
        place[rows] = torch.arange(len(rows))
        self.register_buffer("place", place)
        self.weight = nn.Parameter(full.weight.detach()[rows].clone())

    def forward(self, ids: Tensor) -> Tensor:
        """Embed token ids of any shape; adds an axis of H. Unused rows give fixed vectors."""
        place = self.place[ids]
        used = functional.embedding(place.clamp(min=0), self.weight)
        known = place >= 0
        if bool(known.all()):
            return used
        return torch.where(known.unsqueeze(-1), used, functional.embedding(ids, self.base))

    def merged(self) -> nn.Embedding:
        """Return an ordinary embedding with the trained rows written back."""
        weight = self.base.clone()
        weight[self.rows] = self.weight.detach()
        return nn.Embedding(
            self.num_embeddings, self.embedding_dim, self.padding_idx, _weight=weight
        )
