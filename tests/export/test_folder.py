"""Exporting: nothing is written that answers otherwise, and what can't be exported says why."""

import shutil
from dataclasses import replace

import onnx
import pytest

from attending.errors import ModelError, OutputError
from attending.export import graph
from attending.export.folder import export_model
from attending.export.parity import Tolerance
from attending.export.signature import GRAPH
from attending.models.store import load_model
from attending.records import Document
from attending.serve.maker import Maker
from attending.training.fit import fit

LOOSE = Tolerance(score=1, changed=1, macro_f1=1, rarest_recall=1, evidence=1)
STRICT = Tolerance(score=0, changed=0, macro_f1=0, rarest_recall=0, evidence=0)


@pytest.fixture
def traced(lesa_folder, monkeypatch):
    """The graph of lesa, which takes seconds to trace, is taken from its export."""
    signature = load_model(lesa_folder).signature

    def copy(model, path):
        shutil.copyfile(lesa_folder / GRAPH, path)
        return signature

    monkeypatch.setattr(graph, "write_graph", copy)


def test_int8_is_smaller_and_says_what_it_cost(traced, lesa, lesa_folder, mixed, tmp_path):
    said = []
    parity = export_model(
        lesa, tmp_path / "int8", mixed, int8=True, tolerance=LOOSE, tell=said.append
    )
    size = (tmp_path / "int8" / GRAPH).stat().st_size
    assert size < 0.6 * (lesa_folder / GRAPH).stat().st_size
    assert parity.int8_layers > 10 and parity.float_layers == parity.block_layers == ()
    assert parity.weights == f"{parity.int8_layers} of {parity.int8_layers} layers in int8"
    assert 0 < parity.score < 0.5
    assert said == ["tracing the network", "asking the model about 7 rows",
                    "rounding weights to int8", "within tolerance"]  # fmt: skip
    exported = load_model(tmp_path / "int8")
    assert exported.signature.int8
    assert Maker.of(exported).version != Maker.of(load_model(lesa_folder)).version
    assert "layers in int8" in (tmp_path / "int8" / "README.md").read_text(encoding="utf-8")


def test_layers_that_lose_too_much_are_spared(traced, lesa, mixed, tmp_path):
    every = export_model(lesa, tmp_path / "all", mixed, int8=True, portable=True, tolerance=LOOSE)
    less = replace(LOOSE, score=0.5 * every.score)
    some = export_model(lesa, tmp_path / "some", mixed, int8=True, portable=True, tolerance=less)
    assert some.float_layers and some.int8_layers
    assert some.int8_layers + len(some.float_layers) == every.int8_layers
    assert some.score <= less.score < every.score
    assert some.weights == f"{some.int8_layers} of {every.int8_layers} layers in int8"


@pytest.mark.parametrize("int8", [False, True])
def test_without_a_row_that_can_be_read_nothing_is_written(traced, lesa, tmp_path, int8):
    blank = [Document("1", " "), Document("2", "")]
    with pytest.raises(ModelError, match=r"the model reads none .*2 rows without a text"):
        export_model(lesa, tmp_path / "out", blank, int8=int8, tolerance=LOOSE)
    assert list(tmp_path.iterdir()) == []


def test_beyond_tolerance_nothing_is_written(traced, lesa, mixed, tmp_path):
    with pytest.raises(ModelError, match=r"Nothing was written") as caught:
        export_model(lesa, tmp_path / "out", mixed, tolerance=STRICT)
    assert "a score moved by" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="whichever layers are spared"):
        export_model(lesa, tmp_path / "out", mixed, int8=True, tolerance=STRICT)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_replaced_only_by_force(
    traced, lesa, mixed, tmp_path, linear, lesa_folder
):
    out = tmp_path / "out"
    export_model(lesa, out, mixed)
    with pytest.raises(OutputError, match="--force"):
        export_model(lesa, out, mixed)
    with pytest.raises(ModelError):
        export_model(lesa, out, mixed, tolerance=STRICT, force=True)
    assert load_model(out).scores(mixed)[0].status == "ok"
    export_model(lesa, out, mixed, force=True)


@pytest.fixture(scope="module")
def linear(tiny_recipe, lesa, mixed):
    return fit(tiny_recipe("tfidf-logistic"), mixed[:-1], lesa.labels, development=()).model


def test_what_has_no_network_is_refused(linear, lesa, lesa_folder, mixed, tmp_path):
    with pytest.raises(ModelError, match='a "tfidf-logistic" model has no network to export'):
        export_model(linear, tmp_path / "out", mixed)
    with pytest.raises(ModelError, match="is exported already"):
        export_model(load_model(lesa_folder), tmp_path / "out", mixed)
    with pytest.raises(ModelError, match="there are none"):
        export_model(lesa, tmp_path / "out", [])
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_this_machine_is_in_the_graph(lesa_folder):
    body = (lesa_folder / GRAPH).read_bytes()
    for trace in (b"/attending/", b'.py"', b"line ", b"stack_trace", b"site-packages"):
        assert trace not in body


def test_a_network_that_listens_to_words_in_windows_is_refused(tiny_recipe, lesa, mixed, tmp_path):
    recipe = tiny_recipe("bert", training__epochs=1).for_task("multi")
    recipe = recipe.override({"lexical.kind": "surfaces"})
    model = fit(recipe, mixed[:-1], lesa.labels, development=()).model
    with pytest.raises(ModelError, match="listens to words and scores windows by themselves"):
        export_model(model, tmp_path / "out", mixed)


@pytest.mark.slow
def test_a_part_that_is_no_graph_is_named(untrained, mixed, tmp_path, monkeypatch):
    model = untrained("bert")
    monkeypatch.setattr(
        type(model.network.head), "forward", lambda self, x: x.new_tensor(x.tolist())
    )
    with pytest.raises(ModelError, match=r'recipe "bert": one of its parts can.t be a graph: \w+'):
        export_model(model, tmp_path / "out", mixed)


def test_a_graph_of_one_size_only_is_refused():
    sizes = {"ids": ["windows", "tokens"], "layout": [4, "columns"]}
    given = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, shape)
        for name, shape in sizes.items()
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", given, []))
    with pytest.raises(ModelError, match=r'one size of input only .*input "layout" of size 4'):
        graph._require_any_size(model)
