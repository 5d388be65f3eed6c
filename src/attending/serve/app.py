"""The service as one ASGI application."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from attending.errors import AttendingError
from attending.serve import api, exchange, reference
from attending.serve.audit import Audit
from attending.serve.frame import Frame
from attending.serve.guard import Guard
from attending.serve.metrics import Metrics
from attending.serve.predictor import Predictor
from attending.serve.problems import MEDIA_TYPE, Fault, Problem, Refused, answer, faults, refusal
from attending.serve.schemas import field_names
from attending.serve.service import NOTICE, Service
from attending.serve.settings import Settings

if TYPE_CHECKING:
    from attending.serve.store import Store

_HOUR = 3600
_JSON = "application/json"
_log = logging.getLogger("attending.serve")
_FIELDS = field_names()
_SAID = {
    400: "the request can't be read.",
    404: "there is nothing at this address: /v1/docs lists what there is.",
    405: "this address takes another method.",
}
_ABOUT = (
    "Labels, priorities and evidence for clinical messages, by one model.\n\n"
    "Texts are sent in bodies only, never in an address, and are never logged. Offsets count "
    "Unicode code points. Errors are RFC 9457 problem details; `request_id` and the header "
    "`X-Request-ID` name a request in log and audit. 503 has `Retry-After`.\n\n" + NOTICE
)


def create_app(
    predictor: Predictor,
    settings: Settings,
    store: "Store | None" = None,
    audit: Audit | None = None,
) -> FastAPI:
    """Make the service.

    The model begins to load when the application starts; requests wait for it.

    Args:
        predictor: The model; closed with the application.
        settings: How it runs.
        store: The inbox; without one there are no pages.
        audit: Where it is recorded who did what.
    """
    metrics = Metrics(predictor)
    service = Service(predictor, settings, metrics, audit, store)
    predictor.require = lambda model: service.settle(model.labels)
    app = FastAPI(
        title=settings.title,
        version=version("attending"),
        description=_ABOUT,
        openapi_url="/v1/openapi.json",
        # The usual pages load scripts from elsewhere; /v1/docs needs none.
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        middleware=[Middleware(Frame, metrics=metrics), Middleware(Guard, settings=settings)],
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(exchange.router)
    app.include_router(reference.router)
    app.add_api_route("/metrics", api.metrics, include_in_schema=False)
    app.add_api_route("/", _start, include_in_schema=False)
    if store is not None:
        from attending.serve.web import create_inbox

        app.include_router(api.inbox)
        app.include_router(create_inbox(predictor, store, settings), include_in_schema=False)
        _answer_lost_database(app)
    _answer_errors(app)
    _describe_problems(app)
    return app


async def _start(request: Request) -> Response:
    """Lead to the inbox, or to the page of the API."""
    there = request.app.state.service.store is not None
    return RedirectResponse("inbox" if there else "v1/docs")


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.predictor.start()
    cleaning = asyncio.create_task(_expire(service))
    try:
        yield
    finally:
        service.stopping = True
        cleaning.cancel()
        with suppress(asyncio.CancelledError):
            await cleaning
        await run_in_threadpool(service.predictor.close, service.settings.stop_seconds)


async def _expire(service: Service) -> None:
    """Delete what is older than allowed, once an hour."""
    store, days = service.store, service.settings.retention_days
    if store is None or days is None:
        return
    while True:
        before = datetime.now(UTC) - timedelta(days=days)
        try:
            gone = await run_in_threadpool(store.expire, before, who="retention")
            if gone:
                _log.info("deleted %d messages older than %d days", len(gone), days)
        except Exception as error:  # one failure must not end all further deletion
            _log.error("messages could not be deleted (%s)", type(error).__name__)
        await asyncio.sleep(_HOUR)


def _answer_errors(app: FastAPI) -> None:
    """Answer errors as problems, without what was sent."""

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = faults(error.errors(), _FIELDS)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _JSON and any(f.field == "body" for f in found):
            found = [Fault(field="body", reason=f"send JSON, with Content-Type: {_JSON}")]
        broken = any(e["type"] == "json_invalid" for e in error.errors())
        said = "the body is no JSON." if broken else "the request is not as described: see faults."
        refused = Refused(400 if broken else 422, said, faults=found)
        return answer(refused, request.state.request_id)

    async def usual(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = _SAID.get(error.status_code, "the request can't be answered.")
        return answer(Refused(error.status_code, said, error.headers), request.state.request_id)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return answer(error, request.state.request_id)

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, AttendingError)
        if (told := refusal(error)).status >= 500:
            _log.warning("%s %s", type(error).__name__, request.state.request_id)
        return answer(told, request.state.request_id)

    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, usual)
    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(AttendingError, ours)


def _answer_lost_database(app: FastAPI) -> None:
    """Answer what the database could not do now as a problem that passes.

    What it refuses for good (a value, a constraint, a statement) is a fault of ours, and stays one.
    """
    from sqlalchemy.exc import DatabaseError, InterfaceError, OperationalError, TimeoutError

    async def lost(request: Request, error: Exception) -> Response:
        passes = isinstance(error, (OperationalError, InterfaceError, TimeoutError))
        if not passes and type(error) is not DatabaseError:
            raise error
        # Its message would quote the statement's values, which are messages' texts.
        _log.error("database: %s %s", type(error).__name__, request.state.request_id)
        said = "the inbox's database does not answer now: send the request again later."
        return answer(Refused(503, said, {"Retry-After": "30"}), request.state.request_id)

    for kind in (DatabaseError, InterfaceError, TimeoutError):
        app.add_exception_handler(kind, lost)


def _describe_problems(app: FastAPI) -> None:
    """Make OpenAPI describe problems as they are answered."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            parts = schema.setdefault("components", {}).setdefault("schemas", {})
            made = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts |= made.pop("$defs", {}) | {"Problem": made}
            for unused in ("HTTPValidationError", "ValidationError"):
                parts.pop(unused, None)
            content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
            for path in schema["paths"].values():
                for operation in path.values():
                    for status, said in operation["responses"].items():
                        if status == "422":
                            said["content"] = content
        return app.openapi_schema or {}

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to change it
