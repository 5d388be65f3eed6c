"""Who may ask, and how much: everything that is settled before a body is read, and the body."""

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping
from contextlib import nullcontext
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attending.serve.keys import Keys
from attending.serve.problems import Refused
from attending.serve.settings import Settings

LOCAL = "local"
"""Who asks where nobody is asked for a name: someone on this machine."""
OPEN = frozenset({"/v1/health", "/v1/ready"})
"""Paths that a load balancer asks without a key."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_USER = re.compile(r"[\w.@+\\/:=,-]{1,128}")
_UPLOADS = ("/v1/fhir", "/cds-services/")
_LARGE_AT_ONCE = 4
_OPEN_AT_ONCE = 4
"""Times the queue: requests beyond would wait for their place in it only to be refused."""
_FORM = "multipart/form-data"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class Guard:
    """Lets a request in, or refuses it.

    Args:
        app: What answers.
        settings: What is allowed.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._keys = Keys(settings.keys) if settings.keys is not None else None
        self._proxies = frozenset(settings.proxies)
        self._uploads = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._open, self._most = 0, _OPEN_AT_ONCE * settings.queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            Refused: If it is not let in.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        if self._open >= self._most:
            raise Refused(503, "too many requests are open.", {"Retry-After": "1"})
        self._open += 1
        try:
            await self._admitted(scope, receive, send)
        finally:
            self._open -= 1

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._require_host(headers)
        self._require_own_page(scope["method"], headers)
        scope["state"]["who"] = self._who(scope, headers)
        limit = self._limit(scope["path"], headers)
        async with self._uploads if self._may_be_large(headers) else nullcontext():
            body = await read_body(receive, headers, limit, self._settings.body_seconds)
            await self._app(scope, _replayed(body, receive), send)

    def _require_host(self, headers: Headers) -> None:
        """Refuse names that aren't ours, by which a foreign page would reach a local service."""
        allowed = self._settings.answers_to
        if allowed and host_name(headers.get("host", "")) not in allowed:
            raise Refused(421, "this service does not answer to that host name: see --allow-host.")

    def _require_own_page(self, method: str, headers: Headers) -> None:
        """Refuse what another site's page sends through a reader's browser."""
        if method in _SAFE:
            return
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if foreign or (origin and not _is_of(origin, headers.get("host"))):
            raise Refused(403, "requests from pages of other sites are refused.")

    def _who(self, scope: Scope, headers: Headers) -> str:
        settings = self._settings
        if not settings.knows_users:
            if any(name in headers for name in _FORWARDED):
                raise Refused(
                    403,
                    "this request came through a proxy, so anyone may have sent it: start the "
                    "service with --keys or --user-header.",
                )
            return LOCAL
        peer = scope.get("client")
        if settings.user_header and (peer is None or peer[0] in self._proxies):
            user = headers.get(settings.user_header, "")
            if _USER.fullmatch(user):
                return user
        who = self._keys.who(_secret(headers)) if self._keys is not None else None
        if who is None:
            raise Refused(401, "a key is needed, as Authorization: Bearer KEY.", _challenge(self))
        return who

    @property
    def asks_for_keys(self) -> bool:
        """Whether a key lets one in."""
        return self._keys is not None

    def _may_be_large(self, headers: Headers) -> bool:
        told = headers.get("content-length", "")
        if told.isdigit():
            return int(told[:20]) > self._settings.body_bytes
        return "transfer-encoding" in headers

    def _limit(self, path: str, headers: Headers) -> int:
        large = path.startswith(_UPLOADS) or headers.get("content-type", "").startswith(_FORM)
        return self._settings.upload_bytes if large else self._settings.body_bytes


async def read_body(receive: Receive, headers: Headers, limit: int, seconds: float) -> bytes:
    """Return the body of a request, of which no more than allowed is ever kept.

    Raises:
        Refused: 413 if it is too large, from its header where that says so; 408 if it takes too
            long; 400 if the caller went away.
    """
    told = headers.get("content-length", "")
    if told.isdigit() and int(told[:20]) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the caller went away.")
                part = message.get("body", b"")
                more = message.get("more_body", False)
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
                parts.append(part)
    except TimeoutError:
        raise Refused(408, "the body took too long to arrive.", {"Connection": "close"}) from None
    return b"".join(parts)


def host_name(host: str) -> str:
    """Return the name in a ``Host`` header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_of(origin: str, host: str | None) -> bool:
    """Say whether an ``Origin`` header names a host; what is no address names none."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _too_large(limit: int) -> Refused:
    # The rest is not read, so the connection can't be used again.
    return Refused(413, f"the body is larger than {limit:,} bytes.", {"Connection": "close"})


def _challenge(guard: Guard) -> Mapping[str, str]:
    """Return what makes a browser ask for a key (as the password; the name doesn't matter)."""
    if not guard.asks_for_keys:
        return {}
    return {"WWW-Authenticate": 'Basic realm="Attending: key as password", charset="UTF-8"'}


def _secret(headers: Headers) -> str:
    """Return the key that was sent: bearer token, ``X-API-Key``, or password of basic."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(given, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return headers.get("x-api-key", "")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a channel that gives a body once, and then whether the caller is still there."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
