"""When each part of a network trains, how fast and until when: stages, cycles, patience.

A run is cut into stages at the shares of ``training.unfreeze``. What is outside the encoder trains
from the start; the encoder's layers join from the top down, an equal part of them at each cut, its
word vectors with the lowest. Every stage is one cycle of the rates.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn
from transformers import TrainerCallback

from attending.specs import Training

_RISE_FROM, _FALL_TO = 1 / 25, 1e-4
_NUMBER = re.compile(r"\.(\d+)\.")


def multiplier(spec: Training, step: int, total: int) -> float:
    """Return what the rates are multiplied by at a step of ``total``, the first being 0.

    ``linear``: up to 1 over ``warmup`` of a stage, then down to 0. ``one-cycle``: half a cosine up
    from 1/25 and half a cosine down to 1e-4 (Smith 2018, as fastai and PyTorch have it).
    """
    start, end = _bounds(spec, step, total)
    length = max(1, end - start)
    rise, at = spec.warmup * length, step - start
    if spec.schedule == "linear":
        return at / max(1.0, rise) if at < rise else max(0.0, (length - at) / max(1, length - rise))
    if at < rise:
        low, high, share = _RISE_FROM, 1.0, at / rise
    else:
        low, high, share = 1.0, _FALL_TO, (at - rise) / max(1.0, length - rise)
    return low + (high - low) * (1 - math.cos(math.pi * min(1.0, share))) / 2


def stage_at(spec: Training, step: int, total: int) -> int:
    """Return how many cuts a step lies behind."""
    return sum(step >= round(cut * total) for cut in spec.unfreeze)


def _bounds(spec: Training, step: int, total: int) -> tuple[int, int]:
    cuts = [0, *(round(cut * total) for cut in spec.unfreeze), total]
    at = stage_at(spec, step, total)
    return cuts[at], cuts[at + 1]


def stages_of(names: Sequence[str], encoder: str, count: int) -> dict[str, int]:
    """Return the stage from which each parameter trains, given ``count`` cuts."""
    depths = {name: _depth(name) for name in names if name.partition(".")[0] == encoder}
    order = sorted(set(depths.values()) - {-1}, reverse=True)
    stage = {depth: 1 + place * count // len(order) for place, depth in enumerate(order)}
    stage[-1] = max(stage.values(), default=1)
    return {name: stage[depths[name]] if name in depths and count else 0 for name in names}


def _depth(name: str) -> int:
    """Return the number of a parameter's layer; -1 for what lies under all of them."""
    found = _NUMBER.search(name)
    return -1 if found is None or "embedding" in name else int(found[1])


class Unfreezing(TrainerCallback):  # type: ignore[misc]
    """Lets each parameter train from its stage on; before, it gets no gradient and costs none.

    It looks at nothing but the step, so that a resumed run goes on as it would have.
    """

    def __init__(self, network: nn.Module, spec: Training, encoder: str) -> None:
        named = {n: p for n, p in network.named_parameters() if p.requires_grad}
        stages = stages_of(list(named), encoder, len(spec.unfreeze))
        self.spec = spec
        self.members = [(named[name], stage) for name, stage in stages.items()]

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Set what trains at this step."""
        now = stage_at(self.spec, state.global_step, state.max_steps)
        for parameter, stage in self.members:
            parameter.requires_grad_(stage <= now)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Leave everything as it was."""
        for parameter, _stage in self.members:
            parameter.requires_grad_(True)


class Patience(TrainerCallback):  # type: ignore[misc]
    """Stops when the chosen figure has not become better for some epochs.

    All that it knows is the log of the run, which is part of a checkpoint, so that a resumed run
    stops where the uninterrupted one would. (The library's own callback counts from 0 again.)
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop, if the figures so far say so."""
        name = f"eval_{args.metric_for_best_model}"
        figures = [row[name] for row in state.log_history if name in row]
        best = figures.index(max(figures) if args.greater_is_better else min(figures))
        if len(figures) - 1 - best >= self.patience:
            control.should_training_stop = True


def rates(spec: Training, total: int) -> Callable[[int], float]:
    """Return the multiplier as a function of the step."""
    return lambda step: multiplier(spec, min(step, total - 1), total)
