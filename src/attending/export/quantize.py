"""Weights rounded to int8, as finely as a model needs it.

- Whole: a scale for each output channel; activations are rounded over all tokens at once. Fastest.
- Blocks: a scale for each 256 weights of a channel; activations are rounded token by token, so
  that a few large ones don't spoil the rest. Takes 1.6 times as long as whole, float 3 times.
- Float: as it was.

x86 processors without VNNI instructions (before 2019 at Intel, before Zen 4 at AMD) add two
products in 16 bits, which may overflow: a model scores otherwise there than where it was checked.
Weights of 7 bits don't overflow, but round twice as coarsely. So 8 bits are the rule, a probe in
the folder refuses processors that overflow, and 7 bits are for those.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attending.errors import ModelError

# Convolutions have no int8 kernel for processors that takes such weights.
_KINDS = ("MatMul", "Gather", "LSTM")
_PLACE = {"MatMul": 1, "Gather": 0, "LSTM": 1}
"""Which input of an operator holds its weights."""
_LEAST = 1024
"""Weights that are worth rounding."""
_BLOCK = 256
_IN_INT8 = 4
"""How blocks are multiplied: activations in int8 too."""

Passes = Callable[[], bool]
Damage = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Layer:
    """A node with weights that can be rounded, and how many numbers they are."""

    node: str
    kind: str
    weights: str
    numbers: int


def layers_of(path: Path) -> list[Layer]:
    """Return the nodes of a float graph whose weights can be rounded, in the order of the graph."""
    import onnx

    graph = onnx.load(path).graph
    sizes = {i.name: _numbers(i.dims) for i in graph.initializer if len(i.dims) > 1}
    return [
        Layer(node.name, node.op_type, weights, sizes[weights])
        for node in graph.node
        if node.op_type in _KINDS
        and (weights := node.input[_PLACE[node.op_type]]) in sizes
        and sizes[weights] >= _LEAST
    ]


def _numbers(dims: Sequence[int]) -> int:
    total = 1
    for size in dims:
        total *= size
    return total


@dataclass(frozen=True, slots=True)
class Plan:
    """Which layers are rounded how."""

    whole: tuple[Layer, ...] = ()
    blocks: tuple[Layer, ...] = ()
    floats: tuple[Layer, ...] = ()

    @classmethod
    def sparing(cls, layers: Sequence[Layer], spared: Sequence[Layer], portable: bool) -> "Plan":
        """Return a plan that rounds some layers more finely: in blocks where that can be."""
        finer = set(spared)
        blocks = () if portable else tuple(x for x in layers if x in finer and x.kind == "MatMul")
        return cls(
            whole=tuple(x for x in layers if x not in finer),
            blocks=blocks,
            floats=tuple(x for x in layers if x in finer and x not in blocks),
        )

    @property
    def rounded(self) -> bool:
        """Whether any layer is in int8."""
        return bool(self.whole or self.blocks)


def quantize(source: Path, target: Path, plan: Plan, portable: bool = False) -> None:
    """Write a graph with weights as a plan says; ``portable`` uses 7 of the 8 bits."""
    import onnx

    with _quiet():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        graph = onnx.load(source)
        if plan.blocks:
            graph = _in_blocks(graph, {layer.node for layer in plan.blocks})
        if not plan.whole:
            onnx.save(graph, target)
            return
        quantize_dynamic(
            graph,
            target,
            op_types_to_quantize=sorted({layer.kind for layer in plan.whole}),
            per_channel=True,
            reduce_range=portable,
            weight_type=QuantType.QInt8,
            nodes_to_quantize=[layer.node for layer in plan.whole],
        )


def _in_blocks(graph: Any, nodes: set[str]) -> Any:
    """Return an ONNX model with the products at some nodes rounded in blocks."""
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )

    settings = DefaultWeightOnlyQuantConfig(
        block_size=_BLOCK, is_symmetric=True, accuracy_level=_IN_INT8, bits=8
    )
    others = [node.name for node in graph.graph.node if node.name not in nodes]
    rounding = MatMulNBitsQuantizer(graph, nodes_to_exclude=others, algo_config=settings)
    rounding.process()
    return rounding.model.model


def choose(
    source: Path,
    target: Path,
    passes: Passes,
    damage: Damage,
    tell: Callable[[str], None] = lambda _: None,
    *,
    portable: bool = False,
) -> Plan:
    """Write the graph with its layers rounded as coarsely as passes; return how they are.

    All are rounded whole first. If that doesn't pass, each is rounded alone to see what damage it
    does, and the worst are spared, in blocks or in float: as few as a binary search finds.

    Args:
        source: The float graph.
        target: Where to write.
        passes: Says whether the graph as it is written is within tolerance.
        damage: How far its scores are from the model's.
        tell: Told what is being done.
        portable: Use 7 bits, and no blocks.

    Raises:
        ModelError: If there is nothing to round, or nothing passes.
    """
    layers = layers_of(source)
    if not layers:
        raise ModelError(
            "has no weights that int8 would make faster", step="Export it without --int8."
        )

    def write(spared: Sequence[Layer]) -> Plan:
        plan = Plan.sparing(layers, spared, portable)
        quantize(source, target, plan, portable)
        return plan

    plan = write(())
    if passes():
        return plan
    tell(f"looking at {len(layers)} layers one by one")
    found = {}
    for layer in layers:
        quantize(source, target, Plan(whole=(layer,)), portable)
        found[layer] = damage()
    worst = sorted(layers, key=found.__getitem__, reverse=True)
    fewest, most = 0, len(worst)
    while most - fewest > 1:
        middle = (fewest + most) // 2
        write(worst[:middle])
        fewest, most = (fewest, middle) if passes() else (middle, most)
    plan = write(worst[:most])
    if plan.rounded and (most < len(worst) or passes()):
        return plan
    raise ModelError(
        "int8 is beyond tolerance, whichever layers are spared",
        step="Export it without --int8, or allow more with --tolerance.",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's advice and progress to itself, and the log's settings as they were."""
    root: Any = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    root.setLevel(logging.ERROR)
    logger = logging.getLogger("onnxruntime.quantization.matmul_nbits_quantizer")
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers  # the library adds one of its own when it is imported
