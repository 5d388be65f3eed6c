"""Which layers are rounded, and which stay in float."""

import numpy as np
import onnx
import pytest

from attending.errors import ModelError
from attending.export import quantize as module
from attending.export.quantize import choose, layers_of, quantize
from attending.export.signature import GRAPH

NAMES = tuple("abcdefgh")


@pytest.fixture
def fake(monkeypatch):
    """Layers a to h, and a graph that is nothing but the names of its rounded layers."""
    layers = [module.Layer(name, "MatMul", f"w-{name}", 4096) for name in NAMES]
    monkeypatch.setattr(module, "layers_of", lambda path: layers)

    def write(source, target, plan, portable):
        spared = [layer.node.upper() for layer in plan.blocks]
        target.write_text("".join([layer.node for layer in plan.whole] + spared))

    monkeypatch.setattr(module, "quantize", write)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("bad", ["", "c", "ha", "abcdefg"])
def test_no_more_than_the_worst_are_spared(bad, portable, fake, tmp_path):
    target = tmp_path / "graph"
    tried = []

    def passes():
        tried.append(target.read_text())
        return not set(tried[-1]) & set(bad)

    def damage():
        return 9.0 - bad.index(target.read_text()) if target.read_text() in bad else 0.1

    plan = choose(tmp_path / "float", target, passes, damage, portable=portable)
    spared = plan.floats if portable else plan.blocks
    assert {layer.node for layer in spared} == set(bad)
    assert {layer.node for layer in plan.whole} == set(NAMES) - set(bad)
    assert len(plan.whole) + len(plan.blocks) + len(plan.floats) == len(NAMES)
    assert {x for x in target.read_text() if x.islower()} == set(NAMES) - set(bad)
    assert len(tried) <= 4


def test_all_may_be_spared_in_blocks_but_not_in_float(fake, tmp_path):
    target = tmp_path / "graph"

    def passes():
        return not set(target.read_text()) & set(NAMES)

    plan = choose(tmp_path / "float", target, passes, lambda: 1.0)
    assert len(plan.blocks) == len(NAMES) and not plan.whole
    with pytest.raises(ModelError, match="whichever layers are spared"):
        choose(tmp_path / "float", target, passes, lambda: 1.0, portable=True)


def test_if_nothing_passes_it_says_so(fake, tmp_path):
    with pytest.raises(ModelError, match="whichever layers are spared"):
        choose(tmp_path / "float", tmp_path / "graph", lambda: False, lambda: 1.0)


def test_word_tables_are_never_in_blocks():
    layers = [module.Layer("words", "Gather", "w", 9999), module.Layer("x", "MatMul", "v", 9999)]
    plan = module.Plan.sparing(layers, layers, portable=False)
    assert [x.node for x in plan.floats] == ["words"] and [x.node for x in plan.blocks] == ["x"]


def test_a_graph_without_weights_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "layers_of", lambda path: [])
    with pytest.raises(ModelError, match="no weights that int8 would make faster"):
        choose(tmp_path / "float", tmp_path / "graph", lambda: True, lambda: 1.0)


@pytest.mark.parametrize(("bits", "largest"), [(8, 127), (7, 64)])
def test_layers_are_the_encoder_s_products_and_the_word_table(bits, largest, lesa_folder, tmp_path):
    layers = layers_of(lesa_folder / GRAPH)
    kinds = [layer.kind for layer in layers]
    # Two layers of six products each, and the word table.
    assert kinds.count("MatMul") == 12 and kinds.count("Gather") == 1
    assert all(layer.numbers >= 1024 for layer in layers)
    products = [layer for layer in layers if layer.kind == "MatMul"]
    plan = module.Plan(whole=tuple(products[:1]), blocks=tuple(products[1:3]))
    quantize(lesa_folder / GRAPH, tmp_path / "graph", plan, portable=bits == 7)
    graph = onnx.load(tmp_path / "graph").graph
    assert [n.op_type for n in graph.node].count("MatMulInteger") == 1
    assert [n.op_type for n in graph.node].count("MatMulNBits") == 2
    (weights,) = [i for i in graph.initializer if i.name == f"{products[0].weights}_quantized"]
    values = onnx.numpy_helper.to_array(weights)
    assert values.dtype == "int8" and np.abs(values.astype(int)).max() == largest
    scales = [i for i in graph.initializer if i.name.startswith(f"{products[0].weights}_scale")]
    assert list(scales[0].dims) == [values.shape[1]]
