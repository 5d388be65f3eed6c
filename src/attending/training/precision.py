"""Number types by what the processor can do."""

import torch


def resolve(wanted: str) -> str:
    """Return ``bfloat16`` or ``float32``.

    ``auto`` takes bfloat16 where the processor multiplies it natively; elsewhere emulation makes
    it slower than float32.
    """
    if wanted != "auto":
        return wanted
    return "bfloat16" if has_native_bfloat16() else "float32"


def has_native_bfloat16() -> bool:
    """Say whether matrix products in bfloat16 run in hardware."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    probe = getattr(torch.cpu, "get_capabilities", None)  # since torch 2.11
    capabilities = probe() if probe is not None else {}
    return any(capabilities.get(k, False) for k in ("avx512_bf16", "amx_bf16", "amx_tile", "bf16"))
