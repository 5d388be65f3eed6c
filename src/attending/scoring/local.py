"""Scoring on this machine: one process a core, each with a model and one thread of its own.

Messages are short, and much of the work (tokenizing, word counts, JSON) is not matrix products, so
one process with several threads leaves cores idle that several processes with one thread use. They
take seconds to start, though: little work is done by the first process alone.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path

from attending.errors import ModelError
from attending.models.base import Model
from attending.scoring.chunks import Chunk, Scored, score_chunk, write_part
from attending.scoring.job import cores

_AHEAD = 2
"""Chunks a worker may have waiting: enough to keep it busy, few enough for memory."""
_WORTH_STARTING = 20.0
"""Seconds of work for one process from which on it is worth starting several."""
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ATTENDING_THREADS")
Loading = Callable[[], Model]
"""What loads the model, in whichever process."""
_model: Model | None = None
_manner: tuple[Path, bool] = (Path(), False)


def run_here(
    load: Loading,
    todo: Iterator[Chunk],
    parts: Path,
    evidence: bool,
    workers: int | None,
    done: Callable[[Scored], None],
    left: Callable[[], int],
) -> None:
    """Score chunks and write their parts; ``done`` is called for each, in any order.

    Args:
        load: Loads the model.
        todo: The chunks to score; read only a few ahead.
        parts: Where parts are written.
        evidence: Whether words behind each label are wanted.
        workers: How many processes; 1: this one, with all threads. Unset: this one scores the first
            chunk, and goes on alone if what is left would be done before others have started.
        done: Told of each finished chunk, without its lines.
        left: Says how many rows are left.

    Raises:
        ModelError: If the model can't be loaded, or a worker was killed.
    """
    if workers == 1 or workers is None:
        model = load()
        for chunk in todo:
            started = time.monotonic()
            scored = score_chunk(model, chunk, evidence)
            write_part(parts, scored)
            done(scored)
            seconds = (time.monotonic() - started) / scored.rows * left()
            if workers is None and seconds > _WORTH_STARTING:
                break
        else:
            return
        del model
    _run_processes(load, todo, parts, evidence, workers or cores(), done)


def _run_processes(
    load: Loading,
    todo: Iterator[Chunk],
    parts: Path,
    evidence: bool,
    workers: int,
    done: Callable[[Scored], None],
) -> None:
    with _one_thread_each():
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (load, parts, evidence))
        try:
            _feed(pool, todo, workers * _AHEAD, done)
        except BrokenProcessPool:
            raise ModelError(
                "a worker process ended unasked; the system may have been short of memory",
                step="Run the same command again to go on, with fewer --workers.",
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _feed(
    pool: ProcessPoolExecutor, todo: Iterator[Chunk], most: int, done: Callable[[Scored], None]
) -> None:
    waiting: set[Future[Scored]] = set()
    for chunk in todo:
        waiting.add(pool.submit(_score, chunk))
        while len(waiting) >= most:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                done(future.result())
    for future in waiting:
        done(future.result())


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started have one thread for numbers each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ |= dict.fromkeys(_ONE_THREAD, "1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start(load: Loading, parts: Path, evidence: bool) -> None:
    """Set a worker up: its model, and an eye on the process that started it."""
    global _model, _manner
    # Ctrl-C reaches every process of a terminal; the first one says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _model, _manner = load(), (parts, evidence)


def _end_with_parent() -> None:
    """End this process when its parent is gone, however it went."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _score(chunk: Chunk) -> Scored:
    parts, evidence = _manner
    if _model is None:
        raise ModelError("the worker has no model")
    scored = score_chunk(_model, chunk, evidence)
    write_part(parts, scored)
    # The lines stay on disk: only what is counted goes back.
    return Scored(scored.number, b"", scored.errors, scored.counts)
