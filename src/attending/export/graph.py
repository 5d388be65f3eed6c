"""From a network to one ONNX graph: encoder, label attention, head and the weights to show.

Letters: W windows, T tokens, B documents, S columns of a document, L labels, l labels asked for,
H width.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attending.errors import AttendingError, MissingExtra, ModelError
from attending.export.lean import OPSET, lean_encoder, whole_masks
from attending.export.recurrent import recurrent_operators
from attending.export.signature import Signature
from attending.models.attribution import methods_of
from attending.models.layouts import join, laid_out
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.parts.planting.planted import token_by_token
from attending.tensors import AttentionTrace, LabelStates, LexicalMatches, TokenStates

METHODS = ("label-weights", "attention")
"""Attribution methods that are part of the forward pass, so that a graph can give them."""
LABELS_AT_ONCE = 1024
"""Labels that attend at a time: more of them take turns, so that memory stays flat."""
_LARGEST = 2**31 - 2**20
"""Bytes that fit in one ONNX file."""


class Graph(nn.Module):
    """A network as an exporter wants it: tensors in, tensors out, labels' vectors constant.

    Args:
        network: The network, fitted.
        signature: What goes in and comes out.
        words: ``silent`` and ``counts`` (1, L) of a network that listens to words.
    """

    silent: Tensor
    counts: Tensor

    def __init__(
        self, network: Network, signature: Signature, words: Mapping[str, Tensor] | None = None
    ) -> None:
        super().__init__()
        self.network, self.signature = network, signature
        for name, value in (words or {}).items():
            self.register_buffer(name, value)
        self.states: LabelStates | None = None
        if network.label_states is not None:
            with torch.no_grad():
                found = network.label_states()
            self.states = LabelStates(
                found.states.detach().clone(),
                None if found.tokens is None else found.tokens.detach().clone(),
                None if found.mask is None else found.mask.detach().clone(),
            )

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Score the inputs that the signature names.

        ids (W, T) int64; mask (W, T) bool; layout (B, S) int64 as of ``Batch``; labels (l,) int64,
        those whose weights are asked for; match_document, match_label (Z,) int64 and match_score
        (Z,): what words say; words (W, T) int64: the word under each token. Returns logits
        (W or B, L), pooled (W or B, H) and the weights.
        """
        more = dict(zip(self.signature.inputs, inputs, strict=True))
        ids, mask = more.pop("ids"), more.pop("mask")
        if self.network.label_wise:
            logits, pooled, weights = self._label_wise(ids, mask, more)
        else:
            logits, pooled, weights = self._whole(ids, mask, more)
        if self.signature.listens:
            logits = self._listen(logits, more)
        return (logits, pooled) if weights is None else (logits, pooled, weights)

    def _whole(
        self, ids: Tensor, mask: Tensor, more: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        trace = AttentionTrace() if self.signature.method else None
        network, bias = self.network, self._bias(more, slice(None))
        attended = network.label_attention(network.encoder, ids, mask, self.states, trace, **bias)
        pooled = attended.context
        logits = network.head(pooled)
        if trace is None:
            return logits, pooled, None
        return logits, pooled, trace.of_text(torch.stack(trace.cls).mean(dim=(0, 2)))

    def _label_wise(
        self, ids: Tensor, mask: Tensor, more: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        assert self.states is not None
        network, attend = self.network, self.network.label_attention
        tokens: TokenStates = network.encoder(ids, mask)
        if self.signature.joins:
            tokens = join(tokens, more["layout"])
        prepared = attend.prepare(tokens)
        pieces = []
        for start in range(0, len(self.states.states), LABELS_AT_ONCE):
            which = slice(start, start + LABELS_AT_ONCE)
            some, bias = self.states.rows(which), self._bias(more, which)
            found = attend(prepared, some, weights=False, **bias)
            logits = network.head(found.context, some, which)
            if network.planting is not None:
                logits = network.planting.voted(logits, self._words(more), which)
            pieces.append(logits)
        pooled = (tokens.states * tokens.mask.unsqueeze(-1)).sum(dim=1)
        pooled = pooled / tokens.mask.sum(dim=1, keepdim=True).clamp(min=1)
        weights = None
        if self.signature.method:
            asked = more["labels"]
            bias = self._bias(more, asked)
            weights = attend(prepared, self.states.rows(asked), **bias).weights
        return torch.cat(pieces, dim=1), pooled, weights

    def _bias(self, more: Mapping[str, Tensor], which: slice | Tensor) -> dict[str, Tensor]:
        """Return what is planted on the tokens for some labels, if anything is."""
        if not self.signature.plants:
            return {}
        assert self.network.planting is not None
        return {"bias": self.network.planting(self._words(more), which)}

    def _words(self, more: Mapping[str, Tensor]) -> Tensor:
        """Return the words under the tokens that labels attend to."""
        return laid_out(more["words"], more["layout"]) if self.signature.joins else more["words"]

    def _listen(self, logits: Tensor, more: Mapping[str, Tensor]) -> Tensor:
        assert self.network.lexical is not None
        said = LexicalMatches(
            document=more["match_document"],
            label=more["match_label"],
            score=more["match_score"],
            view=torch.zeros(logits.shape[0], dtype=torch.int64),
            silent=self.silent,
            counts=self.counts,
        )
        mixed: Tensor = self.network.lexical(logits, said)
        return mixed


def signature_of(model: NeuralModel) -> Signature:
    """Return what a model's graph takes and gives.

    Raises:
        ModelError: If the model can't be a graph.
    """
    network = model.network
    listens = network.lexical is not None and model.words is not None
    if listens and not network.joins:
        raise ModelError(
            "listens to words and scores windows by themselves, which a graph can't bring together",
            where=f'recipe "{model.recipe.name}"',
            step='Train it with --set windows.join="tokens", or with --set lexical.weight=0.',
        )
    if model.shortlist is not None:
        raise ModelError(
            "scores the labels of a shortlist, and the graph all labels",
            where=f'recipe "{model.recipe.name}"',
            step="Use the model folder itself: every verb takes it.",
        )
    method = next((m for m in METHODS if m in methods_of(network)), None)
    return Signature(
        joins=network.joins,
        pool=network.pool,
        pad=model.pad,
        limit=model.windower.limit,
        method=method,
        by_label=method == "label-weights",
        listens=listens,
        plants=network.planting is not None,
    )


def write_graph(model: NeuralModel, path: Path) -> Signature:
    """Write a model as one ONNX graph, in float32, and return what it takes and gives.

    Raises:
        MissingExtra: If onnx, onnxscript or onnxruntime isn't installed.
        ModelError: If the model can't be a graph, or needs more than one file can hold.
    """
    require_onnx("onnx", "onnxscript", "onnxruntime")
    signature = signature_of(model)
    network = model.network
    size = sum(p.numel() * p.element_size() for p in network.parameters())
    if size > _LARGEST:
        raise ModelError(
            f"its weights take {size / 1e9:.1f} GB, and an ONNX file holds 2",
            where=f'recipe "{model.recipe.name}"',
            step="Distil it to a smaller encoder first: attending distil.",
        )
    network.encoder.train_all()
    network.eval()
    words = None
    if model.words is not None and signature.listens:
        found = model.words.scores([])
        words = {"silent": torch.from_numpy(found.silent), "counts": torch.from_numpy(found.counts)}
    graph = Graph(network, signature, words).eval()
    try:
        with _quiet(), torch.no_grad(), _as_exported(network):
            program: Any = torch.onnx.export(
                graph,
                _examples(signature),
                input_names=list(signature.inputs),
                output_names=list(signature.outputs),
                dynamic_shapes=(_dimensions(signature),),
                dynamo=True,
                opset_version=OPSET,
                verbose=False,
            )
    except AttendingError:
        raise
    except Exception as error:  # whatever a part of a third party does in the exporter
        raise ModelError(*_why(error), where=f'recipe "{model.recipe.name}"') from error
    program.save(str(path), external_data=False)
    _settle(path)
    return signature


def _why(error: Exception) -> tuple[str]:
    """Return why a network can't be traced: the first line of what stands behind the error."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    line = next(iter(str(error).strip().splitlines()), "")
    return (f"one of its parts can't be a graph: {type(error).__name__}: {line[:200]}",)


def require_onnx(*packages: str) -> None:
    """Make sure that packages of the extra are there.

    Raises:
        MissingExtra: If one isn't.
    """
    from importlib.util import find_spec

    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, "onnx", "export to ONNX")


def _examples(signature: Signature) -> tuple[Tensor, ...]:
    """Return inputs to trace with; all sizes differ, so that none is taken for another."""
    windows, tokens = 3, min(8, signature.limit)
    mask = torch.ones(windows, tokens, dtype=torch.bool)
    mask[1, tokens - 2 :] = False
    values = {
        "ids": torch.randint(0, 5, (windows, tokens)),
        "mask": mask,
        "layout": torch.arange(4 * (tokens + 1)).reshape(4, -1) % tokens,
        "labels": torch.zeros(2, dtype=torch.int64),
        "match_document": torch.zeros(5, dtype=torch.int64),
        "match_label": torch.zeros(5, dtype=torch.int64),
        "match_score": torch.zeros(5),
        "words": torch.randint(0, 2, (windows, tokens)),
    }
    return tuple(values[name] for name in signature.inputs)


def _dimensions(signature: Signature) -> tuple[Any, ...]:
    """Return which axes of the inputs may have any size."""
    from torch.export import Dim

    windows, tokens = Dim("windows"), Dim("tokens", min=2, max=signature.limit)
    documents, columns, matches = Dim("documents"), Dim("columns"), Dim("matches")
    shapes = {
        "ids": {0: windows, 1: tokens},
        "mask": {0: windows, 1: tokens},
        "layout": {0: documents, 1: columns},
        "labels": {0: Dim("labels")},
        "match_document": {0: matches},
        "match_label": {0: matches},
        "match_score": {0: matches},
        "words": {0: windows, 1: tokens},
    }
    return tuple(shapes[name] for name in signature.inputs)


def _settle(path: Path) -> None:
    """Fold what is constant, such as labels' queries, and drop names of source files."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    model = onnx.load(path)
    _require_any_size(model)
    model.producer_name = "attending"
    del model.metadata_props[:]
    graph = model.graph
    for part in (*graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        part.doc_string = ""
        del part.metadata_props[:]
    del graph.metadata_props[:]
    onnx.save(model, path)


def _require_any_size(model: Any) -> None:
    """Make sure that no size of the example is left in the inputs of an ONNX model.

    Raises:
        ModelError: If one is: the exporter gives up on an axis rather than fail.
    """
    for given in model.graph.input:
        fixed = [axis.dim_value for axis in given.type.tensor_type.shape.dim if axis.dim_value]
        if fixed:
            raise ModelError(
                "one of its parts can't be a graph: it takes one size of input only",
                found=f'input "{given.name}" of size {fixed[0]}',
                step="Parts must take sizes from a tensor's shape, not from len().",
            )


@contextmanager
def _as_exported(network: Network) -> Iterator[None]:
    """Let a network compute in the way that suits a graph."""
    with (
        lean_encoder(network),
        recurrent_operators(network),
        whole_masks(),
        token_by_token(network.planting),
    ):
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks on its own progress to itself."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
