"""Where scores start from: what texts are like a label anyway, measured before training."""

from collections.abc import Sequence

import numpy as np
import torch

from attending.data.batches import collate
from attending.data.layout import by_length
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.records import Document, is_blank

MOST_ROWS = 256
"""So many training rows are read at most: enough for a mean."""
_BATCH = 16


def centre_rows(network: Network, rows: Sequence[Document], seed: int) -> list[Document]:
    """Draw the training rows that a network's head wants to see first; none for most heads."""
    if not hasattr(network.head, "measuring"):
        return []
    readable = [d for d in rows if not is_blank(d.text)]
    drawn = np.random.default_rng(seed).permutation(len(readable))[:MOST_ROWS]
    return [readable[i] for i in sorted(drawn.tolist())]


@torch.no_grad()
def centre(model: NeuralModel, rows: Sequence[Document]) -> None:
    """Let the head of an untrained network measure what it makes of rows, without dropout."""
    if not rows:
        return
    network = model.network
    windowed = [w for w in model.windower([d.text for d in rows]) if w.windows]
    before = network.training
    network.eval()
    with network.head.measuring():
        for group in by_length([w.length for w in windowed], _BATCH):
            batch = collate([windowed[i] for i in group], model.pad, join=network.joins)
            network(batch.to(network.device))
    network.train(before)
