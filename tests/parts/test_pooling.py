"""Plain poolings."""

import pytest
import torch

from attending.parts.pooling import build_cls, build_mean
from attending.specs import ClsPooling, MeanPooling
from attending.tensors import AttentionTrace


@pytest.mark.parametrize("kind", ["cls", "mean"])
def test_pools_real_tokens_only(kind, encoder, padded):
    ids, mask = padded(encoder)
    part = build_cls(ClsPooling()) if kind == "cls" else build_mean(MeanPooling())
    assert part.reads_cls == (kind == "cls")
    with torch.no_grad():
        found = part(encoder, ids, mask).context
        for row, (one, real) in enumerate(zip(ids, mask, strict=True)):
            states = encoder(one[real][None], real[real][None]).states[0]
            expected = states[0] if kind == "cls" else states.mean(dim=0)
            torch.testing.assert_close(found[row], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("part", [build_cls(ClsPooling()), build_mean(MeanPooling())])
def test_recording_changes_nothing(part, encoder, padded):
    ids, mask = padded(encoder)
    trace = AttentionTrace()
    with torch.no_grad():
        watched = part(encoder, ids, mask, None, trace).context
        plain = part(encoder, ids, mask).context
    torch.testing.assert_close(watched, plain, atol=1e-6, rtol=0)
    assert len(trace.cls) == encoder.layers
    assert all(x.shape[2] == 0 for x in trace.labels)
