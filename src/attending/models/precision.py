"""Number types by what the processor can do, and models that answer in one of them.

Models without a network need no torch, so it is imported where it is used.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from attending.errors import ModelError

if TYPE_CHECKING:
    import torch

PRECISIONS = ("auto", "float32", "bfloat16")


def resolve(wanted: str) -> str:
    """Return ``bfloat16`` or ``float32``.

    ``auto`` takes bfloat16 where the processor multiplies it natively; elsewhere emulation makes
    it slower than float32.

    Raises:
        ModelError: If there is no such precision.
    """
    if wanted not in PRECISIONS:
        raise ModelError(f'there is no precision "{wanted}"', allowed=", ".join(PRECISIONS))
    if wanted != "auto":
        return wanted
    return "bfloat16" if has_native_bfloat16() else "float32"


def has_native_bfloat16() -> bool:
    """Say whether matrix products in bfloat16 run in hardware; not where torch is left out."""
    try:
        import torch
    except ImportError:
        return False
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    probe = getattr(torch.cpu, "get_capabilities", None)  # since torch 2.11
    capabilities = probe() if probe is not None else {}
    return any(capabilities.get(k, False) for k in ("avx512_bf16", "amx_bf16", "amx_tile", "bf16"))


def computing_in(precision: str, device: "torch.device") -> AbstractContextManager[Any]:
    """Let matrix products be in a precision; ``float32`` leaves them as they are."""
    if precision != "bfloat16":
        return nullcontext()
    import torch

    return torch.autocast(device.type, torch.bfloat16)


def answer_in(model: Any, wanted: str) -> None:
    """Let a model answer in a precision, as far as a network is in it.

    In ``bfloat16`` the matrix products of the encoder and the head have 8 bits of a number instead
    of 24. It takes a part of the time where the processor multiplies it natively (``auto`` asks),
    and moves scores by a little, so that what stands on a threshold may fall to the other side.
    Models without a network, and exported ones, answer as ever.

    Raises:
        ModelError: If there is no such precision.
    """
    precision = resolve(wanted)
    parts = getattr(model, "parts", None)
    members = list(parts.values()) if isinstance(parts, Mapping) else []
    for one in (*members, getattr(model, "scorer", model)):
        if hasattr(one, "precision"):
            one.precision = precision
