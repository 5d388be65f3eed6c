"""Run a study: cell by cell, beside other processes, to be stopped and gone on with at any time."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attending.errors import AttendingError, TrainingInterrupted
from attending.study.folders import StudyFolder
from attending.study.plan import Cell
from attending.study.price import Clock
from attending.study.train import is_made, make_cell
from attending.training.progress import Event

_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class StudyEvent:
    """A step of a study.

    kind: ``start`` and ``step`` of a cell (``event`` is what its training tells), ``done`` (its
    ``facts``) or ``failed`` (its ``reason``). ``left`` cells are still to be made after it, in
    about ``seconds_left``; ``unknown`` of them by systems that nothing is known of.
    """

    kind: Literal["start", "step", "done", "failed"]
    cell: Cell
    number: int
    total: int
    left: int = 0
    seconds_left: float | None = None
    unknown: int = 0
    event: Event | None = None
    facts: dict[str, Any] | None = None
    reason: str | None = None


StudyListener = Callable[[StudyEvent], None]


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run of a study ended: cells made now, cells that failed, cells in other hands."""

    made: tuple[Cell, ...]
    failed: tuple[Cell, ...]
    elsewhere: tuple[Cell, ...]


def run_study(home: StudyFolder, listener: StudyListener | None = None) -> Finished:
    """Make every cell of a study that isn't made yet.

    Cells that another process works on are left to it. A cell that fails is written down with
    its reason and the next one is made; a later run tries it again.

    Raises:
        TrainingInterrupted: If the user stopped it; the same call goes on.
    """
    return _Run(home, listener or (lambda _: None)).run()


class _Run:
    """State of a run: what is left to do."""

    def __init__(self, home: StudyFolder, listener: StudyListener) -> None:
        self.home, self.listener = home, listener
        self.cells = home.study.cells()
        self.clock = Clock(home)
        self.made: list[Cell] = []
        self.failed: list[Cell] = []
        self.pending = [cell for cell in self.cells if not is_made(home, cell)]

    def run(self) -> Finished:
        going = True
        while going and self.pending:
            going = False
            for cell in list(self.pending):
                if is_made(self.home, cell):  # by another process, in the meantime
                    self.pending.remove(cell)
                elif self._ready(cell):
                    going |= self._take(cell)
        return Finished(tuple(self.made), tuple(self.failed), tuple(self.pending))

    def _ready(self, cell: Cell) -> bool:
        """Say whether a cell's teachers are made; where one has failed, it fails with it."""
        for teacher in self.home.study.teachers(cell):
            if teacher in self.failed:
                self._fail(cell, f"its teacher failed ({teacher})")
                return False
            if not is_made(self.home, teacher):
                return False
        return True

    def _take(self, cell: Cell) -> bool:
        """Make a cell unless another process has it; say whether anything was done."""
        folder = self.home.cell(cell)
        with folder.locked() as mine:
            if not mine:
                return False
            if not is_made(self.home, cell):
                self._make(cell)
        return True

    def _make(self, cell: Cell) -> None:
        self._tell("start", cell)
        try:
            facts = make_cell(self.home, cell, lambda event: self._tell("step", cell, event=event))
        except TrainingInterrupted:
            raise
        except AttendingError as error:
            self._fail(cell, str(error))
        except Exception as error:
            self._fail(cell, _unexpected(error))
        else:
            self.clock.learn(cell, facts)
            self.pending.remove(cell)
            self.made.append(cell)
            self._tell("done", cell, facts=facts)

    def _fail(self, cell: Cell, reason: str) -> None:
        folder = self.home.cell(cell)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_failure(reason)
        self.pending.remove(cell)
        self.failed.append(cell)
        self._tell("failed", cell, reason=reason)

    def _tell(self, kind: Any, cell: Cell, **more: Any) -> None:
        left: Sequence[Cell] = self.pending
        seconds, unknown = self.clock.left(left)
        number = len(self.cells) - len(left) + (kind in ("start", "step"))
        self.listener(
            StudyEvent(kind, cell, number, len(self.cells), len(left), seconds, unknown, **more)
        )


def _unexpected(error: Exception) -> str:
    """Name an error without its message, which may hold the text of a document."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(own[-1].filename).stem} line {own[-1].lineno}" if own else ""
    return f"unexpected {type(error).__name__}{place}"
