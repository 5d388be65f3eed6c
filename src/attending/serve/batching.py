"""Many callers, one model: jobs wait in a bounded queue and are answered together."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from attending.errors import QueueFull
from attending.records import Prediction, Row


@dataclass(frozen=True, slots=True)
class Explaining:
    """What is to be explained: by which method, and for which labels (those given if empty)."""

    method: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Job:
    """Rows of one caller, and where the answers go."""

    rows: Sequence[Row]
    how: Explaining | None = None
    answer: "Future[list[Prediction]]" = field(default_factory=Future)


class Batcher:
    """One thread that takes jobs off a queue, several at a time.

    While it works, jobs gather; they are taken together next. It waits for more only where the
    last batch was of several callers, so one caller alone never waits.

    Args:
        handle: Answers jobs; must answer every one and raise nothing.
        batch: Most rows at once; a larger job comes by itself.
        wait: Seconds to wait for more.
        bound: Most rows in the queue.
    """

    def __init__(
        self, handle: Callable[[Sequence[Job]], None], batch: int, wait: float, bound: int
    ) -> None:
        self._handle, self._batch, self._wait, self._bound = handle, batch, wait, bound
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._callers = 1
        self._rate = 0.0
        self._thread: threading.Thread | None = None
        self.waiting = 0
        """Rows in the queue."""

    def put(self, job: Job, *, bounded: bool = True) -> None:
        """Add a job.

        Raises:
            QueueFull: If there is no place for its rows, or the service is stopping.
        """
        with self._changed:
            if self._closed:
                raise QueueFull("the service is stopping", seconds=5)
            over = self.waiting and self.waiting + len(job.rows) > self._bound
            if bounded and over:
                raise QueueFull("too many texts are waiting", seconds=self._seconds())
            self._jobs.append(job)
            self.waiting += len(job.rows)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="predictor", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self) -> list[Job]:
        """Take every job off the queue."""
        with self._changed:
            found = list(self._jobs)
            self._jobs.clear()
            self.waiting = 0
        return found

    def close(self, timeout: float | None = None) -> None:
        """Take no more jobs, answer those in the queue, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        while jobs := self._gather():
            started = time.perf_counter()
            live = [job for job in jobs if job.answer.set_running_or_notify_cancel()]
            self._callers = len(live)
            if not live:
                continue
            self._handle(live)
            taken = time.perf_counter() - started
            self._rate = sum(len(job.rows) for job in live) / max(taken, 1e-6)

    def _gather(self) -> list[Job]:
        """Wait for jobs and take as many as are read at once; none when closed."""
        with self._changed:
            while not self._jobs:
                if self._closed:
                    return []
                self._changed.wait()
            taken = [self._take()]
            size = len(taken[0].rows)
            until = time.monotonic() + (self._wait if self._callers > 1 else 0)
            while size < self._batch:
                if self._jobs:
                    if size + len(self._jobs[0].rows) > self._batch:
                        break
                    taken.append(self._take())
                    size += len(taken[-1].rows)
                    continue
                left = until - time.monotonic()
                if left <= 0 or len(taken) >= self._callers or self._closed:
                    break
                self._changed.wait(left)
        return taken

    def _take(self) -> Job:
        job = self._jobs.popleft()
        self.waiting -= len(job.rows)
        return job

    def _seconds(self) -> int:
        """Guess how long the queue takes, from how fast the last batch was."""
        return min(60, 1 + int(self.waiting / self._rate)) if self._rate else 5
