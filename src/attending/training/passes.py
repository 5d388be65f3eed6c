"""How long a training lasts: passes over its rows, and optimiser steps at least."""

import math
from dataclasses import dataclass

from attending.specs import Training


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes of a training over its rows.

    Attributes:
        epochs: Passes over the rows.
        every: Steps between two scores and checkpoints; ``None``: once an epoch.
    """

    epochs: float
    every: int | None


def passes(spec: Training, batches: int) -> Passes:
    """Return the passes over ``batches`` batches.

    Where the epochs of a recipe make fewer than ``min_steps`` steps, as with the 25 documents of a
    few-shot curve, there are more passes, in as many equal parts as there were epochs: development
    rows choose among as many checkpoints. Few rows want more passes than many (Mosbach,
    Andriushchenko, Klakow 2021, section 6): in steps that are counted by epochs alone, a network
    may not have moved from where it started.
    """
    per_epoch = math.ceil(batches / spec.accumulate)
    if math.ceil(per_epoch * spec.epochs) >= spec.min_steps:
        return Passes(spec.epochs, None)
    parts = math.ceil(spec.epochs)
    every = math.ceil(spec.min_steps / parts)
    # Half a step less than wanted is rounded up to it, whatever the division leaves.
    return Passes((every * parts - 0.5) / per_epoch, every)
