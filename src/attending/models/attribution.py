"""Which tokens drove a neural model's scores.

- ``attention-gradient``: weights of the [CLS] row times the gradient of a label's logit with
  respect to them, positive part, mean over heads, summed over layers. Source: Chefer, Gur, Wolf
  2021, equation 5, without the propagation between layers, since only [CLS] is read.
- ``state-gradient``: last state of a token times the gradient of a label's logit with respect
  to it; for mean pooling, whose head reads every state.
- ``gradient``: word embedding times the gradient of a label's logit with respect to it. Kept for
  comparison: on the bundled corpus it removed no more than random words did.
- ``attention``: weights of the [CLS] row, mean over heads and layers; belongs to no label.
- ``label-weights``: a label's attention over the tokens, where labels attend one by one.
- ``planted``: what planted attention says of each token's word for a label, whatever stands around
  it; the positive part.
- ``label-attention``: the labels' own attention, mean over heads and layers. A label vector is
  told apart from the others by its start and its training only, since the maximum treats all
  labels alike; read it as what each query looks for, not as what decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attending.data.batches import collate
from attending.data.layout import by_length, over_tokens
from attending.data.windows import Windowed
from attending.models.base import TokenScores
from attending.tensors import AttentionTrace, Batch, LabelTrace, TokenStates

if TYPE_CHECKING:
    from attending.models.network import Network

_BATCH = 16
_Rows = Mapping[str | None, Tensor]


@dataclass(frozen=True, slots=True)
class Method:
    """What a method needs of a network, and whether overlapping windows add up.

    reads: how the head must read the tokens: ``cls``, ``states`` (all of them) or ``any``.
    """

    reads: str = "any"
    needs_labels: bool = False
    needs_weights: bool = False
    needs_planting: bool = False
    adds_up: bool = False


METHODS: Mapping[str, Method] = {
    "label-weights": Method(needs_weights=True),
    "planted": Method(needs_planting=True),
    "attention-gradient": Method(reads="cls", adds_up=True),
    "state-gradient": Method(reads="states", adds_up=True),
    "attention": Method(reads="cls"),
    "label-attention": Method(reads="cls", needs_labels=True),
    "gradient": Method(adds_up=True),
}


def methods_of(network: "Network") -> tuple[str, ...]:
    """Return the methods that a network can give, best first."""
    attention = network.label_attention
    reads = "cls" if attention.reads_cls else getattr(attention, "reads", "states")
    labelled = network.label_states is not None
    weights = network.label_wise and getattr(attention, "has_weights", True)
    return tuple(
        name
        for name, method in METHODS.items()
        if method.reads in ("any", reads)
        and (labelled or not method.needs_labels)
        and (weights or not method.needs_weights)
        and (network.planting is not None or not method.needs_planting)
    )


def attribute(
    network: "Network",
    documents: Sequence[Windowed],
    pad: int,
    method: str,
    positions: Mapping[str, int],
) -> list[TokenScores]:
    """Score the tokens of windowed documents; ``positions`` are the labels asked for."""
    network.eval()
    results = [TokenScores(d.offsets, {}) for d in documents]
    readable = [i for i, d in enumerate(documents) if d.windows]
    for group in by_length([documents[i].length for i in readable], _BATCH):
        members = [readable[i] for i in group]
        batch = collate([documents[i] for i in members], pad, join=network.joins)
        rows = _columns(network, batch, method, positions)
        for place, i in enumerate(members):
            windows = torch.nonzero(batch.document == place).flatten().tolist()
            scores = {
                label: over_tokens(documents[i], table[windows].numpy(), METHODS[method].adds_up)
                if table.shape == batch.ids.shape
                else _of_document(documents[i], batch, table, place)
                for label, table in rows.items()
            }
            results[i] = TokenScores(documents[i].offsets, scores)
    return results


def _columns(
    network: "Network", batch: Batch, method: str, positions: Mapping[str, int]
) -> dict[str | None, Tensor]:
    """Return scores per label: (W, T) of windows, or (B, S) of whole documents."""
    if method == "label-weights":
        wanted = LabelTrace(torch.tensor(list(positions.values()), dtype=torch.int64))
        with torch.no_grad():
            network(batch, label_trace=wanted)
        assert wanted.weights is not None
        return {label: wanted.weights[:, k] for k, label in enumerate(positions)}
    if method == "planted":
        with torch.no_grad():
            found = network.planted(batch, torch.tensor(list(positions.values())))
        return {label: found[:, k].clamp(min=0) for k, label in enumerate(positions)}
    if method in ("attention", "label-attention"):
        trace = AttentionTrace()
        with torch.no_grad():
            network(batch, trace)
        if method == "attention":
            return {None: trace.of_text(torch.stack(trace.cls).mean(dim=(0, 2)))}
        layers = torch.stack([x for x in trace.labels if x.shape[2]]).mean(dim=(0, 2))
        layers = trace.of_text(layers)
        return {label: layers[:, i] for label, i in positions.items()}
    if method == "attention-gradient":
        return _attention_gradient(network, batch, positions)
    if method == "state-gradient":
        return _times_gradient(network, batch, positions, network.encoder)
    return _times_gradient(network, batch, positions, network.encoder.word_embeddings)


def _attention_gradient(
    network: "Network", batch: Batch, positions: Mapping[str, int]
) -> dict[str | None, Tensor]:
    trace = AttentionTrace()
    # Attention of a frozen encoder has a gradient only if what it reads wants one.
    handle = network.encoder.word_embeddings.register_forward_hook(
        lambda _, __, vectors: vectors if vectors.requires_grad else vectors.requires_grad_()
    )
    try:
        logits = network(batch, trace).logits
    finally:
        handle.remove()
    out: dict[str | None, Tensor] = {}
    for label, i in positions.items():
        gradients = torch.autograd.grad(
            logits[:, i].sum(), trace.cls, retain_graph=True, allow_unused=True
        )
        parts = [
            (weights * gradient).clamp(min=0).mean(dim=1)
            for weights, gradient in zip(trace.cls, gradients, strict=True)
            if gradient is not None
        ]
        out[label] = trace.of_text(torch.stack(parts).sum(dim=0).detach())
    return out


def _times_gradient(
    network: "Network", batch: Batch, positions: Mapping[str, int], module: nn.Module
) -> dict[str | None, Tensor]:
    """Multiply a module's vectors of each token, (W, T, E), with their gradient; (W, T)."""
    caught: list[Tensor] = []

    def watch(_: object, inputs: object, output: Any) -> Any:
        vectors = output.states if isinstance(output, TokenStates) else output
        if vectors.shape[:2] != batch.ids.shape:
            return output
        caught.append(vectors.detach().requires_grad_())
        return replace(output, states=caught[-1]) if output is not vectors else caught[-1]

    handle = module.register_forward_hook(watch)
    try:
        logits = network(batch).logits
    finally:
        handle.remove()
    (vectors,) = caught
    out: dict[str | None, Tensor] = {}
    for label, i in positions.items():
        (gradient,) = torch.autograd.grad(logits[:, i].sum(), vectors, retain_graph=True)
        out[label] = (gradient * vectors).sum(dim=-1).detach()
    return out


def _of_document(document: Windowed, batch: Batch, table: Tensor, place: int) -> tuple[float, ...]:
    """Return the columns (B, S) of one document that are tokens of its text."""
    assert batch.positions is not None
    read = table[place][batch.positions[place] >= 0].tolist()
    return (*read, *([0.0] * (len(document.offsets) - len(read))))
