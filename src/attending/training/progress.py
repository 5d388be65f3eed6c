"""What training tells the outside: events for a screen, lines for a log. No document text."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Event:
    """A step forward: ``step`` of ``total``; ``seconds_left`` is an estimate or ``None``.

    kind: ``estimate`` (what it will take, in ``facts``, see ``Estimate``; only of longer trainings
    that begin), ``start`` (what the run settled on in ``facts``), ``step`` (its training loss in
    ``loss``, ``None`` if the step was left out), ``epoch`` (development figures in ``metrics``)
    or ``end``.
    """

    kind: Literal["estimate", "start", "step", "epoch", "end"]
    step: int
    total: int
    epoch: float = 0.0
    loss: float | None = None
    seconds: float = 0.0
    seconds_left: float | None = None
    metrics: dict[str, float] | None = None
    facts: dict[str, Any] | None = None


Listener = Callable[[Event], None]


class Journal:
    """Appends events to a JSON-lines file as they happen, and passes them on.

    Args:
        path: The log, or ``None`` for none.
        listener: Whom to pass events on to.
        every: Log each so many steps (``start``, ``epoch`` and ``end`` always).
    """

    def __init__(self, path: Path | None, listener: Listener | None, every: int = 10) -> None:
        self.path, self.listener, self.every = path, listener, every

    def __call__(self, event: Event) -> None:
        """Take an event."""
        wanted = event.kind != "step" or event.step % self.every == 0
        if self.path is not None and wanted:
            row = {"time": round(time.time(), 3), **asdict(event)}
            row = {k: v for k, v in row.items() if v is not None}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if self.listener is not None:
            self.listener(event)
