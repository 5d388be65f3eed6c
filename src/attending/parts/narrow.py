"""Feed-forward layers with fewer units, of a pretrained encoder."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from attending.errors import EncoderError

_SIZES = ("intermediate_size", "hidden_dim")
"""How configurations call the number of units; DistilBERT has a name of its own."""


def narrow(model: Any, units: int, name: str) -> None:
    """Keep so many units of each feed-forward layer of a transformer, in their order.

    They are those with the largest product of the norms of the weights to and from a unit: what
    the others say, nobody hears. Training goes on from there.

    Source: pruning of feed-forward units as in McCarley et al. 2019, arXiv:1910.06360, by the
    weights alone, so that no data is needed.

    Args:
        model: A transformers model of the BERT, RoBERTa, ELECTRA or DistilBERT family.
        units: How many are kept.
        name: What the recipe calls the encoder.

    Raises:
        EncoderError: If it has fewer.
    """
    config = model.config
    size = next(s for s in _SIZES if hasattr(config, s))
    if units > getattr(config, size):
        raise EncoderError(
            f"encoder.ffn = {units} is more than the encoder has",
            where=name,
            found=f"{getattr(config, size)} units a layer",
        )
    for inner, outer in _feed_forwards(model):
        if inner.out_features == units:
            continue
        weight = inner.weight.norm(dim=1) * outer.weight.norm(dim=0)
        kept = weight.topk(units).indices.sort().values
        inner.weight, outer.weight = _cut(inner.weight, kept, 0), _cut(outer.weight, kept, 1)
        if inner.bias is not None:
            inner.bias = _cut(inner.bias, kept, 0)
        inner.out_features = outer.in_features = units
    setattr(config, size, units)


def _feed_forwards(model: Any) -> Iterator[tuple[nn.Linear, nn.Linear]]:
    """Yield the two maps of each feed-forward layer."""
    for module in model.modules():
        if hasattr(module, "intermediate") and hasattr(module, "output"):
            yield module.intermediate.dense, module.output.dense
        elif isinstance(getattr(module, "lin1", None), nn.Linear):
            yield module.lin1, module.lin2


def _cut(values: Tensor, kept: Tensor, axis: int) -> nn.Parameter:
    return nn.Parameter(values.detach().index_select(axis, kept), values.requires_grad)
