"""A model's version: another whenever answers may be others, the same wherever its folder lies."""

import shutil
from dataclasses import replace

import pytest

from attending.classifier import Classifier
from attending.models.store import folder_of, load_model, save_model
from attending.serve.maker import Maker


def version(model):
    return Maker.of(model).version


@pytest.fixture
def folder(model_folder, tmp_path):
    return shutil.copytree(model_folder, tmp_path / "elsewhere" / "copy")


def test_it_is_the_same_wherever_the_model_is(model_folder, folder, tmp_path, messages, urgency):
    loaded = load_model(model_folder)
    assert folder_of(loaded) == model_folder.resolve()
    fitted = Classifier("tfidf-logistic", labels=urgency).fit(messages).model_
    assert folder_of(fitted) is None
    again = save_model(load_model(folder), tmp_path / "again")
    found = {version(m) for m in (loaded, load_model(folder), fitted, load_model(again))}
    assert len(found) == 1


def test_what_is_learned_changes_it(folder):
    before = version(load_model(folder))
    path = folder / "model.safetensors"
    body = bytearray(path.read_bytes())
    body[-1] ^= 1
    path.write_bytes(bytes(body))
    assert version(load_model(folder)) != before


def test_what_lies_beside_it_does_not(folder):
    before = version(load_model(folder))
    (folder / "README.md").write_text("another card")
    (folder / "metrics.json").write_text("{}")
    (folder / "evaluation-1").mkdir()
    (folder / "evaluation-1" / "metrics.json").write_text("{}")
    assert version(load_model(folder)) == before


def test_another_decision_or_kind_of_graph_is_another_version(folder):
    model = load_model(folder)
    before = version(model)
    facts = model.facts
    model.facts = {**facts, "graph": {"int8": True}}
    assert version(model) != before
    model.facts = facts
    model.decision = replace(model.decision, temperature=2.0)
    assert version(model) != before


def test_a_name_of_ones_own(folder):
    made = Maker.of(load_model(folder), "ward 7")
    assert str(made) == f"ward 7 {version(load_model(folder))}"
