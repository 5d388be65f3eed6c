"""Number types by what the processor can do."""

import pytest
import torch

from attending.training import precision


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
