"""From a view to a page: templates, headers, and errors that people can read."""

import hashlib
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from attending.errors import AttendingError, QueueFull, ServeError
from attending.serve.predictor import NotReady
from attending.serve.problems import refusal
from attending.serve.web.wording import SURE_IN_WORDS

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    # With "no-referrer" browsers send forms with the origin "null", which no service can check.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
}
FILES = {"inbox.css": "text/css", "inbox.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("attending.serve.web"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


@cache
def file_bytes(name: str) -> bytes:
    """Return one of the files that the pages use."""
    return resources.files("attending.serve.web").joinpath("static", name).read_bytes()


@cache
def _stamp() -> str:
    """Return what changes when a file of the pages does, so that browsers may keep them."""
    return hashlib.sha256(b"".join(file_bytes(name) for name in FILES)).hexdigest()[:12]


def page(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    title: str,
    base: str,
    status: int = 200,
) -> HTMLResponse:
    """Return a page.

    Args:
        request: What asked for it.
        template: Its template.
        values: What it shows.
        title: The service's name.
        base: The inbox's address, without a slash at its end.
        status: The status of the response.
    """
    body = (
        _environment()
        .get_template(template)
        .render(
            service=title,
            base=base,
            stamp=_stamp(),
            who=getattr(request.state, "who", "local"),
            sure_in_words=SURE_IN_WORDS,
            **values,
        )
    )
    content = body.encode("utf-8", "replace")
    return HTMLResponse(content, status_code=status, headers=HEADERS)


def safe_route(title: str, prefix: str) -> type[APIRoute]:
    """Return a kind of route whose errors are pages; they hold no text of a message."""

    class PageRoute(APIRoute):
        def get_route_handler(
            self,
        ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def guarded(request: Request) -> Response:
                try:
                    return await handle(request)
                except (NotReady, ServeError) as error:  # may name files of the server
                    passes = isinstance(error, NotReady | QueueFull)
                    return _failed(request, refusal(error).detail, 503, again=passes)
                except AttendingError as error:
                    return _failed(request, str(error), 422)

            return guarded

    def _failed(request: Request, said: str, status: int, again: bool = False) -> Response:
        base = base_of(request, prefix)
        values = {"error": said, "again": again}
        return page(request, "error.html.j2", values, title=title, base=base, status=status)

    return PageRoute


def base_of(request: Request, prefix: str) -> str:
    """Return the inbox's address as the browser knows it, behind a proxy too."""
    return f"{request.scope.get('root_path', '')}{prefix}"
