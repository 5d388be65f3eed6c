"""Progress with the time left: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from attending.cli.console import Screen

if TYPE_CHECKING:
    from attending.training.progress import Event

_QUIET_SECONDS = 5.0
_SECONDS_BETWEEN = 15.0
_SHARE_BETWEEN = 0.1
_SECONDS_TO_KNOW = 2.0


class Progress:
    """Tells how far a job is.

    Elsewhere than on a terminal it says nothing in the first five seconds, then a line every
    tenth of the job or every 15 seconds.

    Args:
        screen: Where to tell it; standard error is used.
        task: What is being done: ``predicting``.
        unit: What is counted: ``documents``.
    """

    def __init__(self, screen: Screen, task: str, unit: str = "documents") -> None:
        self.screen, self.task, self.unit = screen, task, unit
        self._started = self._told_at = time.monotonic()
        self._told_share = 0.0
        self._bar: Any = _bar(screen) if screen.err.is_terminal else None
        self._row: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._row is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Tell that ``done`` of ``total`` are done."""
        spent = time.monotonic() - self._started
        known = done > 0 and spent > _SECONDS_TO_KNOW
        self.tell(done, total, spent / done * (total - done) if known else None)

    def tell(self, done: int, total: int, seconds_left: float | None) -> None:
        """Tell how far the job is and what is left of it, if that is known."""
        left = f"{duration(seconds_left)} left" if seconds_left is not None else ""
        if self._bar is not None:
            if self._row is None:
                self._bar.start()
                self._row = self._bar.add_task(self.task, total=total, unit=self.unit, left="")
            self._bar.update(self._row, completed=done, total=total, left=left)
            return
        now, share = time.monotonic(), done / total if total else 1.0
        due = share - self._told_share >= _SHARE_BETWEEN or now - self._told_at >= _SECONDS_BETWEEN
        if due and now - self._started >= _QUIET_SECONDS and 0 < done < total:
            tail = f", {left}" if left else ""
            self.screen.say(f"{self.task}: {done:,} of {total:,} {self.unit}, {share:.0%}{tail}")
            self._told_at, self._told_share = now, share


_NEARLY_ALL = 0.85


class TrainingProgress(Progress):
    """Progress of a training run: steps, and the development figures of every epoch.

    Args:
        screen: Where to tell it.
        epochs: How many epochs there will be at most, if that is known.
    """

    def __init__(self, screen: Screen, epochs: float | None = None) -> None:
        super().__init__(screen, "training", "steps")
        self._epochs = epochs

    def listen(self, event: "Event") -> None:
        """Take an event of the training."""
        if event.kind == "estimate" and event.facts:
            self.screen.say(*estimate_lines(event.facts))
        if event.kind == "start" and event.step:
            self.screen.say(f"Going on after step {event.step:,} of {event.total:,}.")
        if event.kind == "epoch" and event.metrics:
            of = f" of {self._epochs:g}" if self._epochs else ""
            figures = ", ".join(development_figures(event.metrics))
            self.screen.say(f"epoch {event.epoch:g}{of}: {figures} on development rows")
        if event.kind in ("start", "step"):
            self.tell(event.step, event.total, event.seconds_left)


def estimate_lines(facts: Mapping[str, Any]) -> list[str]:
    """Say what a training will take, with advice where it may not fit."""
    held, machine = facts["memory"] / 2**30, facts["machine"]
    of = f" of {machine / 2**30:.1f}" if machine else ""
    lines = [
        f"it will take about {duration(facts['seconds'])} and {held:.1f}{of} GiB of memory "
        f"(longest batch: {facts['documents']:,} documents, {facts['tokens']:,} tokens)"
    ]
    if machine and facts["memory"] > _NEARLY_ALL * machine:
        lines.append(
            "warning: that is nearly all memory. Lower training.batch_size, with "
            "training.accumulate to make up for it, or windows.max_tokens"
        )
    return lines


def development_figures(metrics: Mapping[str, float]) -> list[str]:
    """Return development figures in words: ``macro-F1 0.871``."""
    written: dict[str, Callable[[float], str]] = {
        "micro_f1": lambda v: f"micro-F1 {v:.3f}",
        "macro_f1": lambda v: f"macro-F1 {v:.3f}",
        "accuracy": lambda v: f"accuracy {v:.1%}",
        "log_loss": lambda v: f"log loss {v:.3f}",
    }
    return [write(metrics[key]) for key, write in written.items() if key in metrics]


def duration(seconds: float) -> str:
    """Return a time in words: ``under 1 s``, ``8 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if seconds < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _bar(screen: Screen) -> Any:
    from rich import progress as rich

    return rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(bar_width=None),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[unit]}"),
        rich.TextColumn("{task.fields[left]}", style="dim"),
        console=screen.err,
        transient=True,
        expand=True,
    )
