"""Running the service: listening, logging, stopping."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from attending.errors import ServeError
from attending.serve.audit import Audit
from attending.serve.predictor import Predictor
from attending.serve.settings import Settings

_log = logging.getLogger("attending.serve")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that says when the model can answer, and ends if it can't be loaded at first.

    Args:
        config: As of uvicorn.
        predictor: The model.
        ready: Called once, when the model can answer.
    """

    def __init__(
        self, config: uvicorn.Config, predictor: Predictor, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._predictor, self._ready = predictor, ready
        self._told = False

    async def on_tick(self, counter: int) -> bool:
        """Look after the model, ten times a second."""
        if not self._told:
            if self._predictor.state == "ready":
                self._told = True
                self._ready()
            elif self._predictor.state == "failed":
                self.should_exit = True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT: open requests are answered first, then the process ends.

        uvicorn raises the signal again when all is done, which would end the process before its
        files are closed, with a code that says it was killed.
        """
        before = {sig: signal.signal(sig, self._stop) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        self.handle_exit(sig, frame)


class PlainFormatter(logging.Formatter):
    """One line an event. Of an exception its kind alone: its message may hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event."""
        kind = record.exc_info[0] if record.exc_info else None
        record.exc_info = record.exc_text = record.stack_info = None
        line = " ".join(super().format(record).split())
        return f"{line} ({kind.__name__})" if kind else line


def run(app: FastAPI, predictor: Predictor, settings: Settings, ready: Callable[[], None]) -> None:
    """Serve until told to stop.

    Raises:
        ServeError: If the address can't be listened on.
        AttendingError: If the model can't be loaded.
    """
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        uds=str(settings.socket) if settings.socket else None,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    server = Server(config, predictor, ready)
    try:
        asyncio.run(server.serve())
    except SystemExit:
        where = settings.socket or f"{settings.host}:{settings.port}"
        raise ServeError(
            "can't listen there",
            where=str(where),
            step="Is another service running? Choose another --port or --host.",
        ) from None
    if predictor.failure is not None:
        raise predictor.failure


def log_to_stderr(requests: bool) -> None:
    """Log to standard error: events, and a line a request if wanted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("attending.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers[:] = [handler]
        log.propagate = False
        log.setLevel(level)
    logging.getLogger("attending.serve.requests").setLevel(
        logging.INFO if requests else logging.WARNING
    )


@contextmanager
def opened_audit(settings: Settings) -> Iterator[Audit]:
    """Open the audit of a service, for as long as it runs.

    Raises:
        ServeError: As ``Audit``.
    """
    audit = Audit(settings.audit_file)
    try:
        audit.record("start", "service")
        _log.info("audit head %s", audit.head)
        yield audit
        audit.record("stop", "service")
        _log.info("audit head %s", audit.head)
    finally:
        audit.close()
