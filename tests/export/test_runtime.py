"""An exported model answers as its model does, without torch, whatever it is made of."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import onnx
import pytest

from attending.errors import ModelError
from attending.explain.evidence import explain
from attending.export.folder import export_model
from attending.export.graph import write_graph
from attending.export.quantize import Plan, layers_of, quantize
from attending.export.runtime import THREADS, ExportedModel, merge
from attending.export.signature import GRAPH, PROBE, TOKENIZER
from attending.export.signature import PLANTED as WORDS_PLANTED
from attending.models.cascade import CascadeModel
from attending.models.linear import fit_linear
from attending.models.store import load_model, save_model
from attending.recipe import Recipe, shipped
from attending.records import Document, Unreadable
from attending.training.fit import fit

NEURAL = tuple(
    name
    for name in shipped()
    if (recipe := Recipe.load(name)).family == "neural" and recipe.task != "spans"
)
PLANTED = tuple(name for name in NEURAL if name.startswith("plant"))
ONE_OF_EACH = ("joint-laat", "bigru")
"""Beside lesa-bert and lame: word vectors, both kinds of recurrent layers, no evidence."""


def logits_of(model, rows):
    return [s.logits for s in model.scores(rows)]


def gap(some, others):
    assert [a is None for a in some] == [b is None for b in others]
    return max(
        float(np.abs(a - b).max()) for a, b in zip(some, others, strict=True) if a is not None
    )


def assert_same(model, exported, mixed):
    """Scores, what was read, token scores and pooled vectors are those of the model."""
    assert gap(logits_of(model, mixed), logits_of(exported, mixed)) <= 1e-4
    assert [s.read for s in model.scores(mixed)] == [s.read for s in exported.scores(mixed)]
    readable = mixed[:-1]
    assert float(np.abs(model.pooled(readable) - exported.pooled(readable)).max()) <= 1e-4
    for method in exported.methods:
        mine = model.token_scores(mixed, method=method)
        other = exported.token_scores(mixed, method=method)
        for first, second in zip(mine, other, strict=True):
            assert first.offsets == second.offsets
            assert first.scores.keys() == second.scores.keys()
            for label, row in first.scores.items():
                assert np.allclose(row, second.scores[label], atol=1e-5)


def graph_of(model, folder):
    """Write the graph alone, without the parity gate, and open it."""
    folder.mkdir()
    signature = write_graph(model, folder / GRAPH)
    model.network.encoder.tokenizer.backend_tokenizer.save(str(folder / TOKENIZER))
    if model.index is not None:
        model.index.save(folder / WORDS_PLANTED)
    facts = {"graph": signature.to_dict()}
    return ExportedModel(folder, model.recipe, model.labels, model.decision, facts, threads=1)


def test_the_sweep_sees_every_neural_recipe():
    assert len(NEURAL) >= 26
    assert {"lesa-bert", "lame", "lame-evidence", "plm-icd", *ONE_OF_EACH} < set(NEURAL)


def test_lesa_and_lame_are_as_before(lesa, lesa_folder, lame, lame_folder, mixed):
    assert_same(lesa, load_model(lesa_folder), mixed)
    assert_same(lame, load_model(lame_folder), mixed)
    assert load_model(lesa_folder).methods == ("attention",)
    assert load_model(lame_folder).methods == ("label-weights",)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_recurrent_encoders_are_as_before(name, untrained, tmp_path, mixed):
    model = untrained(name)
    assert_same(model, graph_of(model, tmp_path / "graph"), mixed)


@pytest.mark.parametrize(
    "settings",
    [
        {"planting__vote": 6.0},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"planting__tokens": 3}, marks=pytest.mark.slow),
        pytest.param({"planting__vote": 6.0, "windows__join": "logits"}, marks=pytest.mark.slow),
    ],
)
def test_planted_attention_is_as_before(settings, untrained, tmp_path, mixed):
    model = untrained("plant", **settings)
    exported = graph_of(model, tmp_path / "graph")
    assert exported.methods == ("label-weights",)
    assert_same(model, exported, mixed)
    bare = replace_index(exported, None)
    assert gap(logits_of(model, mixed), logits_of(bare, mixed)) > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lesa-bert", "lesa-bert-as-coded"])
def test_lesa_with_planted_words_is_as_before(name, untrained, tmp_path, mixed):
    model = untrained(name, planting__kind="ranked")
    exported = graph_of(model, tmp_path / "graph")
    assert_same(model, exported, mixed)
    before = logits_of(model, mixed)
    assert gap(before, logits_of(replace_index(exported, None), mixed)) > 1e-3


def replace_index(exported, index):
    exported.windower.index = index
    return exported


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_recipe_is_as_before(name, untrained, tmp_path, mixed):
    model = untrained(name)
    assert_same(model, graph_of(model, tmp_path / "graph"), mixed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(set(NEURAL) - {"lesa-bert", "lame", *PLANTED, *ONE_OF_EACH})
)
def test_every_other_recipe_is_as_before(name, untrained, tmp_path, mixed):
    model = untrained(name)
    assert_same(model, graph_of(model, tmp_path / "graph"), mixed)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["roberta", "electra", "distilbert"])
@pytest.mark.parametrize("name", ["lesa-bert", "bert-mean"])
def test_every_family_of_encoders_is_as_before(name, family, make_tiny, untrained, tmp_path, mixed):
    model = untrained(name, encoder__name=str(make_tiny(family)))
    assert_same(model, graph_of(model, tmp_path / "graph"), mixed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lesa-bert", "lesa-bert-as-coded"])
@pytest.mark.parametrize("layer", [0, -1])
def test_labels_in_one_layer_only_are_as_before(name, layer, untrained, tmp_path, mixed):
    model = untrained(name, label_attention__layers=[layer])
    assert_same(model, graph_of(model, tmp_path / "graph"), mixed)


@pytest.mark.slow
def test_a_graph_has_no_more_operators_than_it_needs(untrained, tmp_path):
    graph_of(untrained("lesa-bert"), tmp_path / "graph")
    found = Counter(n.op_type for n in onnx.load(tmp_path / "graph" / GRAPH).graph.node)
    # One attention for all tokens in the first of two layers; the last attends from [CLS] alone.
    assert found["Attention"] == 1 and found["Softmax"] == 2
    assert sum(found.values()) < 100


@pytest.mark.slow
def test_words_beside_a_network_are_heard(tiny_recipe, untrained, tmp_path, mixed):
    recipe = tiny_recipe("lame-evidence", training__epochs=1)
    rows = [replace(d, id=f"{d.id}-{k}") for d in mixed[:-1] for k in range(3)]
    labels = untrained("lame").labels
    model = fit(recipe, rows, labels, development=(), seed=1).model
    parity = export_model(model, tmp_path / "exported", mixed)
    exported = load_model(tmp_path / "exported")
    assert exported.methods == ("matches", "label-weights") == model.methods[:2]
    assert_same(model, exported, mixed)
    assert (
        gap(logits_of(exported, mixed[4:]), [logits_of(exported, [d])[0] for d in mixed[4:]]) < 1e-5
    )
    assert parity.score <= 1e-4
    again = load_model(save_model(exported, tmp_path / "again"))
    assert gap(logits_of(exported, mixed), logits_of(again, mixed)) == 0


def test_batch_mates_and_padding_move_no_score(lesa_folder, lame_folder, mixed):
    for folder in (lesa_folder, lame_folder):
        model = load_model(folder)
        alone = [logits_of(model, [d])[0] for d in mixed]
        assert gap(logits_of(model, mixed), alone) <= 1e-5


def test_an_int8_graph_scores_every_document_by_itself(lesa_folder, copied, mixed):
    folder = copied(lesa_folder)
    layers = tuple(layers_of(lesa_folder / GRAPH))
    plan = Plan(whole=layers[:-2], blocks=layers[-2:])
    quantize(lesa_folder / GRAPH, folder / GRAPH, plan)
    manifest = json.loads((folder / "attending.json").read_text())
    manifest["graph"]["int8"] = True
    (folder / "attending.json").write_text(json.dumps(manifest))
    model = load_model(folder)
    alone = [logits_of(model, [d])[0] for d in mixed]
    assert gap(logits_of(model, mixed), alone) == 0
    assert 0 < gap(logits_of(load_model(lesa_folder), mixed), alone) < 1
    # With several threads, each scores a document.
    several = ExportedModel.load(
        folder, model.recipe, model.labels, model.decision, model.facts, threads=3
    )
    told = []
    many = several.scores([*mixed, *mixed], progress=lambda done, of: told.append((done, of)))
    assert gap([s.logits for s in many], [*alone, *alone]) <= 1e-5
    assert [s.status for s in many] == [s.status for s in model.scores([*mixed, *mixed])]
    assert told == sorted(told) and told[-1] == (2 * len(mixed),) * 2


def test_a_graph_has_any_number_of_labels_asked_for(lame, lame_folder, mixed):
    exported = load_model(lame_folder)
    for labels in (("urgent",), ("urgent", "routine")):
        found = exported.token_scores(mixed, labels=labels)
        mine = lame.token_scores(mixed, method="label-weights", labels=labels)
        assert [set(f.scores) for f in found[:-1]] == [set(labels)] * len(mixed[:-1])
        for first, second in zip(mine, found, strict=True):
            for label in first.scores:
                assert np.allclose(first.scores[label], second.scores[label], atol=1e-5)
    assert all(not f.scores for f in exported.token_scores(mixed, labels=()))


def test_a_planted_model_takes_its_words_along(untrained, plant_folder, tmp_path, mixed):
    exported = load_model(plant_folder)
    assert (plant_folder / WORDS_PLANTED / TOKENIZER).is_file()
    assert_same(untrained("plant"), exported, mixed)
    again = load_model(save_model(exported, tmp_path / "again"))
    assert gap(logits_of(again, mixed), logits_of(exported, mixed)) == 0


def test_an_export_of_before_there_were_planted_words_still_opens(lesa_folder, tmp_path, mixed):
    folder = tmp_path / "old"
    shutil.copytree(lesa_folder, folder)
    facts = json.loads((folder / "attending.json").read_text())
    del facts["graph"]["plants"]
    (folder / "attending.json").write_text(json.dumps(facts))
    old = load_model(folder)
    assert gap(logits_of(old, mixed), logits_of(load_model(lesa_folder), mixed)) == 0


def test_predicting_needs_no_torch(lesa_folder, lame_folder, plant_folder):
    code = """
import sys
from attending.explain.evidence import explain
from attending.models.store import load_model
from attending.records import Document
for folder in sys.argv[1:]:
    model = load_model(folder)
    documents = [Document("a", "chest pain now, bleeding"), Document("b", "please refill")]
    predictions = explain(model, documents, model.predict(documents))
    assert all(p.status == "ok" for p in predictions)
    assert len(model.pooled(documents)) == 2
print(*sorted({"torch", "transformers", "onnxscript", "sklearn"} & set(sys.modules)), "none")
import attending
assert len(attending.Classifier.load(sys.argv[1]).predict(["chest pain now"])) == 1
print(*sorted({"torch", "transformers", "onnxscript"} & set(sys.modules)), "none")
"""
    run = subprocess.run(
        [sys.executable, "-c", code, str(lesa_folder), str(lame_folder), str(plant_folder)],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert run.stdout.split() == ["none", "none"]


def test_a_cascade_with_an_exported_model_needs_no_torch(lesa_folder, tmp_path):
    second = load_model(lesa_folder)
    rows = [Document(str(i), x, (second.labels.ids[i % 3],)) for i, x in enumerate("abc" * 3)]
    rows = [replace(r, text=f"word{r.text} and") for r in rows]
    first = fit_linear(Recipe.load("tfidf-logistic"), rows, second.labels, 0)
    save_model(CascadeModel(first, second, 0.2), tmp_path / "both")
    code = """
import sys
from attending.explain.evidence import explain
from attending.models.store import load_model
from attending.records import Document
model = load_model(sys.argv[1])
documents = [Document("a", "worda and"), Document("b", "please refill")]
predictions = explain(model, documents, model.predict(documents))
assert all(p.status == "ok" and p.evidence for p in predictions)
assert model.settled(model.first_scores(documents)).tolist() == [True, False]
print(*sorted({"torch", "transformers", "onnxscript"} & set(sys.modules)), "none")
"""
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "both")],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert run.stdout.split() == ["none"]


def test_predictions_and_evidence_are_the_model_s(lame, lame_folder, mixed):
    exported = load_model(lame_folder)
    rows = [*mixed, Unreadable("u", "no text column")]
    told = []
    mine, other = lame.predict(rows), exported.predict(rows, progress=lambda *x: told.append(x))
    assert [(p.id, p.status, p.labels) for p in mine] == [(p.id, p.status, p.labels) for p in other]
    assert told[-1] == (len(rows), len(rows))
    assert exported.predict([]) == []
    first = explain(lame, rows, mine, method="label-weights")
    second = explain(exported, rows, other)
    spans = [[(e.start, e.end, e.label) for e in p.evidence] for p in first]
    assert spans == [[(e.start, e.end, e.label) for e in p.evidence] for p in second]
    assert any(spans)


def test_a_method_that_needs_gradients_is_refused(lesa_folder, mixed):
    with pytest.raises(ModelError, match=r'no evidence method "attention-gradient".*attention'):
        load_model(lesa_folder).token_scores(mixed[:-1], method="attention-gradient")


def test_a_document_without_text_has_no_vector(lesa_folder, mixed):
    with pytest.raises(ModelError, match="has no vector"):
        load_model(lesa_folder).pooled(mixed)


def test_saved_again_it_is_the_same(lesa_folder, tmp_path, mixed):
    model = load_model(lesa_folder)
    again = load_model(save_model(model, tmp_path / "again"))
    assert isinstance(again, ExportedModel)
    assert gap(logits_of(model, mixed), logits_of(again, mixed)) == 0
    assert again.facts["family"] == "exported"


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER])
@pytest.mark.parametrize("content", [None, b"\x00\x01"])
def test_a_damaged_folder_is_refused_in_one_line(name, content, lesa_folder, copied):
    folder = copied(lesa_folder)
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=r"can't be (read|opened)") as caught:
        load_model(folder)
    assert name in str(caught.value)


def test_a_manifest_that_says_nothing_of_the_graph_is_refused(lesa_folder, copied):
    folder = copied(lesa_folder)
    manifest = json.loads((folder / "attending.json").read_text())
    del manifest["graph"]["pad"]
    (folder / "attending.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="does not say what its graph takes"):
        load_model(folder)


def test_a_machine_that_scores_otherwise_is_refused(lesa_folder, copied):
    folder = copied(lesa_folder)
    probe = json.loads((folder / PROBE).read_text())
    assert np.shape(probe["ids"]) == (3, 48) and np.shape(probe["logits"]) == (3, 3)
    probe["logits"][2][1] += 0.5
    (folder / PROBE).write_text(json.dumps(probe))
    with pytest.raises(ModelError, match="this machine scores otherwise"):
        load_model(folder)
    (folder / PROBE).write_text("{}")
    with pytest.raises(ModelError, match=r"probe.json: can't be read"):
        load_model(folder)


def test_threads_are_a_setting(lesa_folder, monkeypatch):
    for given in ("0", "many", "-1"):
        monkeypatch.setenv(THREADS, given)
        with pytest.raises(ModelError, match=f'{THREADS} is no number of threads .*"{given}"'):
            load_model(lesa_folder)
    monkeypatch.setenv(THREADS, "2")
    assert load_model(lesa_folder).scores([Document("a", "pain")])[0].status == "ok"


def test_windows_merge_as_in_the_network():
    found = np.array([[1.0, 5], [3, 1], [2, 2], [4, 0]], np.float32)
    document = np.array([0, 0, 1, 2])
    assert merge(found, document, 3, "max").tolist() == [[3, 5], [2, 2], [4, 0]]
    assert merge(found, document, 3, "mean").tolist() == [[2, 3], [2, 2], [4, 0]]
    assert merge(found, np.arange(4), 4, "max") is found
