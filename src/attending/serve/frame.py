"""What holds for every request: an id, headers, a line in the log, and no words of a message.

Plain ASGI, outermost: whatever happens inside, the answer is made here.
"""

import logging
import re
import secrets
import time
import traceback
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attending.errors import AttendingError
from attending.serve.metrics import Metrics
from attending.serve.problems import Refused, answer, refusal

ID_HEADER = "X-Request-ID"
UNMATCHED = "unmatched"
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_GONE = 499
"""Status of a request whose caller went away, as proxies write it."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_PACKAGE = Path(__file__).parent.parent
_log = logging.getLogger("attending.serve")
_requests = logging.getLogger("attending.serve.requests")


class Frame:
    """Puts every request into its frame.

    Args:
        app: What answers.
        metrics: What is counted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get(ID_HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(MutableHeaders(scope=message), request_id)
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:
            if not status:
                await answer(_refused(error, request_id), request_id)(scope, receive, sent)
            else:  # the answer had begun; its connection is closed
                _fault(error, request_id)
        finally:
            self._note(scope, status or _GONE, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log a request: its route, never its path, which anyone can write into."""
        route = route_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if status == 503:
            self._metrics.refused.inc()
        state = scope["state"]
        _requests.info(
            "%s %s %d %.1f ms %s %s",
            method, route, status, seconds * 1000, state["request_id"], state.get("who", "-"),
        )  # fmt: skip


def route_of(scope: MutableMapping[str, Any]) -> str:
    """Return the template of the route that was taken, such as ``/v1/model``."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else UNMATCHED


def _request_id(given: str | None) -> str:
    """Return a request's id: the caller's, where it is an id, else a new one."""
    return given if given and _ID.fullmatch(given) else secrets.token_hex(8)


def _dress(headers: MutableHeaders, request_id: str) -> None:
    headers[ID_HEADER] = request_id
    for name, value in _HEADERS.items():
        if name not in headers:
            headers[name] = value


def _refused(error: Exception, request_id: str) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, AttendingError):
        return refusal(error)
    _fault(error, request_id)
    return Refused(500, "a fault of the service; its log has the request's id.")


def _fault(error: Exception, request_id: str) -> None:
    """Log a fault by its kind and place; its message may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f"{Path(own[-1].filename).name} line {own[-1].lineno}" if own else "a library"
    _log.error("unexpected %s in %s %s", type(error).__name__, place, request_id)
