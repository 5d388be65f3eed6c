"""What a training will take, before it begins: its longest batch is tried, and a usual one timed.

Nothing of the training changes by that: weights, random numbers and whatever the network counts are
put back.
"""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from attending.errors import TrainingError
from attending.machine import machine_bytes
from attending.training.progress import Event
from attending.training.trainer import Example, NeuralTrainer

FEWEST_STEPS = 50
"""Shorter trainings are over before an estimate would be of use."""
_ADAM = 2
"""Numbers that the optimiser keeps for each weight that is trained."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training will take.

    seconds: of all steps, scoring of development rows left out. memory: the most bytes that the
    process will hold. machine: the bytes of the machine, or of the accelerator; ``None`` where
    they aren't known. documents, tokens: of the longest batch, padding counted.
    """

    seconds: float
    memory: int
    machine: int | None
    documents: int
    tokens: int


def rehearse(trainer: NeuralTrainer) -> Estimate | None:
    """Try the longest batch of a training, time a usual one, and tell the plan's listener.

    Returns ``None`` for a training of few steps, or one without documents.

    Raises:
        TrainingError: If the longest batch needs more memory than there is.
    """
    plan = trainer.plan
    if plan.total_steps < FEWEST_STEPS or not all(isinstance(e, Example) for e in plan.examples):
        return None
    ordered: list[Any] = sorted(plan.examples, key=lambda e: e.document.length)
    size = min(plan.spec.batch_size, len(ordered))
    longest = ordered[-size:]
    start = max(0, (len(ordered) - size) // 2)
    usual = ordered[start : start + size]
    with _as_it_was(trainer):
        tokens = _try(trainer, longest)
        trainer.attempt(usual)  # the first one of a shape pays for what is set up once
        batches = plan.total_steps * plan.spec.accumulate
        seconds = _seconds(trainer, usual)
        whole = seconds * batches
        if getattr(trainer.model.encoder, "remembers", False):  # in the first epoch, all is new
            new = _seconds(trainer, ordered[max(0, start - size) : start])
            whole += max(0.0, new - seconds) * min(batches, len(plan.sampler))
    weights = sum(p.numel() * p.element_size() for p in _trained(trainer))
    memory, machine = _memory(trainer.model)
    estimate = Estimate(whole, memory + _ADAM * weights, machine, size, tokens)
    plan.listener(Event("estimate", 0, plan.total_steps, facts=asdict(estimate)))
    return estimate


def _seconds(trainer: NeuralTrainer, examples: Sequence[Any]) -> float:
    """Time a step, if there are examples for it."""
    began = time.perf_counter()
    if examples:
        trainer.attempt(examples)
    return time.perf_counter() - began


def _try(trainer: NeuralTrainer, examples: Sequence[Any]) -> int:
    """Run a step on the longest batch; returns its tokens.

    Raises:
        TrainingError: If there isn't enough memory.
    """
    try:
        return trainer.attempt(examples)
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _too_much(len(examples)) from error
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise _too_much(len(examples)) from error


def _too_much(documents: int) -> TrainingError:
    return TrainingError(
        f"the longest batch, {documents} documents, needs more memory than there is",
        step="Lower training.batch_size, with training.accumulate to make up for it, or "
        "windows.max_tokens.",
    )


def _trained(trainer: NeuralTrainer) -> Iterator[torch.nn.Parameter]:
    return (p for p in trainer.model.parameters() if p.requires_grad)


@contextmanager
def _as_it_was(trainer: NeuralTrainer) -> Iterator[None]:
    """Put back random numbers and buffers, such as encodings of labels and what counts steps."""
    kept = {name: value.clone() for name, value in trainer.model.named_buffers()}
    python, numbers = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=list(devices)):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
        for name, value in trainer.model.named_buffers():
            value.copy_(kept[name])


def _memory(model: torch.nn.Module) -> tuple[int, int | None]:
    """Return the most bytes that were held so far, and those of the machine."""
    device = next(model.parameters()).device
    if device.type == "cuda":
        whole = torch.cuda.get_device_properties(device).total_memory
        return int(torch.cuda.max_memory_allocated(device)), int(whole)
    try:
        import resource
    except ImportError:  # on Windows
        return 0, None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, machine_bytes()
