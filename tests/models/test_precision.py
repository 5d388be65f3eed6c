"""What a network answers in is asked for when it is loaded, and moves scores by a little only."""

import sys

import numpy as np
import pytest
import torch

from attending import Classifier
from attending.errors import ModelError
from attending.models import precision
from attending.models.cascade import CascadeModel
from attending.models.store import load_any, load_model, save_model
from attending.tagger import Tagger
from attending.training.tagging import fit_tagger


def logits(model, rows):
    return np.stack([s.logits for s in model.scores(rows)])


def test_bfloat16_moves_scores_a_little_and_float32_not_at_all(neural, messages, tmp_path):
    folder = save_model(neural, tmp_path / "m")
    plain = logits(neural, messages)
    assert np.array_equal(logits(load_model(folder), messages), plain)
    quick = load_model(folder, precision="bfloat16")
    moved = np.abs(logits(quick, messages) - plain).max()
    assert 0 < moved < 0.05 * np.abs(plain).max()
    assert Classifier.load(folder, precision="bfloat16").predict(["chest pain"])


def test_a_tagger_takes_it_too(tiny_tagger, annotated, tmp_path):
    recipe = tiny_tagger("lame-ner", training__epochs=2)
    tagger = fit_tagger(recipe, annotated, development=(), seed=2).model
    folder = save_model(tagger, tmp_path / "m")
    plain = np.concatenate([s.logits for s in tagger.scores(annotated)])
    quick = load_any(folder, precision="bfloat16")
    found = np.concatenate([s.logits for s in quick.scores(annotated)])
    assert 0 < np.abs(found - plain).max() < 0.05 * np.abs(plain).max()
    assert len(Tagger.load(folder, precision="bfloat16").predict(["chest pain"])) == 1


@pytest.mark.parametrize("wanted", precision.PRECISIONS)
def test_every_network_of_a_cascade_and_no_word_counts(linear, neural, wanted, tmp_path):
    folder = save_model(CascadeModel(linear, neural, 0.2), tmp_path / "c")
    cascade = load_model(folder, precision=wanted)
    assert cascade.second.precision == precision.resolve(wanted)
    assert not hasattr(cascade.first, "precision")


def test_an_unknown_precision_is_refused(linear, tmp_path):
    folder = save_model(linear, tmp_path / "m")
    with pytest.raises(ModelError, match="no precision") as error:
        load_model(folder, precision="float16")
    assert "auto, float32, bfloat16" in str(error.value)


@pytest.mark.parametrize("wanted", ["float32", "bfloat16"])
def test_what_is_asked_for_is_taken(wanted, monkeypatch):
    for native in (True, False):
        monkeypatch.setattr(precision, "has_native_bfloat16", lambda native=native: native)
        assert precision.resolve(wanted) == wanted


def test_auto_asks_the_processor(monkeypatch):
    monkeypatch.setattr(precision, "has_native_bfloat16", lambda: True)
    assert precision.resolve("auto") == "bfloat16"
    monkeypatch.setattr(precision, "has_native_bfloat16", lambda: False)
    assert precision.resolve("auto") == "float32"


@pytest.mark.parametrize(
    ("capabilities", "native"),
    [
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True}, True),
        ({"bf16": True, "avx2": False}, True),
        ({"avx2": True, "avx512_f": True, "avx512_bf16": False}, False),
        ({}, False),
    ],
)
def test_processors(capabilities, native, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert precision.has_native_bfloat16() is native


def test_a_torch_that_can_t_tell_gets_the_safe_type(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert precision.has_native_bfloat16() is False


@pytest.mark.parametrize("native", [True, False])
def test_an_accelerator_is_asked_instead(native, monkeypatch):
    def supported(including_emulation):
        assert not including_emulation
        return native

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert precision.has_native_bfloat16() is native


def test_without_torch_there_is_nothing_to_ask(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert precision.resolve("auto") == "float32"
