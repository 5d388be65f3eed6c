"""Ctrl-C while a network trains: a checkpoint and a clean stop."""

import signal
from types import FrameType
from typing import Any

from transformers import TrainerCallback


class Interruption(TrainerCallback):  # type: ignore[misc]
    """Turns the first Ctrl-C into a checkpoint and a clean stop; a second one stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> "Interruption":
        try:
            self._before = signal.signal(signal.SIGINT, self._ask)
        except ValueError:  # not in the main thread: no handler can be set
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Ask for a checkpoint and the end, if the user asked."""
        if self.asked:
            control.should_save = True
            control.should_training_stop = True
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Keep an epoch that was cut short from being scored as if it were a whole one."""
        if self.asked and not float(state.epoch).is_integer():
            control.should_evaluate = control.should_save = False
        return control
