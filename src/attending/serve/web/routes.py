"""The addresses of the inbox. No address ever holds text of a message or what was searched for."""

from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from attending.errors import DataError, LabelError
from attending.serve.entries import Entry, Filters, State
from attending.serve.placing import by_urgency
from attending.serve.predictor import Predictor
from attending.serve.settings import Settings
from attending.serve.store import LOCAL, Store
from attending.serve.web.lists import STATES, groups, label_tabs, query, state_tabs
from attending.serve.web.model_page import model_page
from attending.serve.web.pages import FILES, HEADERS, base_of, file_bytes, page, safe_route
from attending.serve.web.reading import reading
from attending.serve.web.uploads import KINDS, MOST_ROWS, take_upload
from attending.serve.web.wording import names, queue_order

PREFIX = "/inbox"
_SEARCH = 200
_MOST_LABELS = 200
_DONE = {
    "correct": "Label saved: {}.",
    "finish": "Done. It is off the list of open messages.",
    "undo-correct": "Taken back. The label is now: {}.",
    "undo-finish": "Taken back. The message is open again.",
    "undo-nothing": "There is nothing to undo on this message.",
}
Did = Literal["correct", "finish", "undo-correct", "undo-finish", "undo-nothing"]


class Inbox:
    """The pages of one service.

    Args:
        predictor: The model.
        store: The messages.
        settings: The service's settings.
    """

    def __init__(self, predictor: Predictor, store: Store, settings: Settings) -> None:
        self.predictor, self.store, self.settings = predictor, store, settings

    def show(
        self, request: Request, template: str, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Return a page."""
        return page(
            request, template, values,
            title=self.settings.title, base=base_of(request, PREFIX), status=status,
        )  # fmt: skip

    def filters(self, request: Request, search: str = "") -> Filters:
        """Return which messages an address asks for; what it can't mean is passed over."""
        asked = request.query_params
        state: State = next((s for s in STATES if s == asked.get("state")), "open")
        number = asked.get("page", "1")
        return Filters(
            state=state,
            label=asked.get("label"),
            person=asked.get("person") == "1",
            unsure=asked.get("unsure") == "1",
            search=search[:_SEARCH],
            order=queue_order(self.predictor.labels),
            page=int(number) if number.isascii() and number.isdecimal() and len(number) < 7 else 1,
        )

    def listing(
        self, request: Request, filters: Filters, entry: Entry | None = None, status: int = 200
    ) -> HTMLResponse:
        """Return the list, with a message beside it if one is open."""
        found = self.store.inbox(filters, who=who(request))
        labels = self.predictor.labels
        shown = reading(entry, self.predictor) if entry else None
        said = _DONE.get(request.query_params.get("did", ""), "") if entry else ""
        return self.show(
            request,
            "inbox.html.j2",
            status,
            page=found,
            filters=found.filters,
            groups=groups(found, labels, datetime.now(UTC)),
            tabs=label_tabs(found, labels),
            states=state_tabs(found.filters),
            here=query(found.filters),
            links=_links(found.filters, found.pages),
            reading=shown,
            said=said.format(names(entry.labels, labels) if entry else ""),
            missing=status == 404,
        )


def who(request: Request) -> str:
    """Return who asks: whose key it is, the user that a trusted proxy names, or ``local``."""
    return str(getattr(request.state, "who", LOCAL))


def create_inbox(predictor: Predictor, store: Store, settings: Settings) -> APIRouter:
    """Return the pages of the inbox, under ``/inbox``.

    Args:
        predictor: What reads messages and explains them.
        store: Where messages and corrections are kept.
        settings: The title, the largest upload, the zone of times without one.
    """
    router = APIRouter(
        prefix=PREFIX,
        include_in_schema=False,
        route_class=safe_route(settings.title, PREFIX),
        default_response_class=HTMLResponse,
    )
    inbox = Inbox(predictor, store, settings)
    _add_lists(router, inbox)
    _add_actions(router, inbox)
    _add_uploads(router, inbox)

    @router.get("/model")
    def model(request: Request) -> Response:
        asked = request.query_params
        floor = asked.get("floor", "")
        wanted = int(floor) if floor.isascii() and floor.isdecimal() and len(floor) < 4 else None
        shown = model_page(predictor, asked.get("label"), wanted)
        return inbox.show(request, "model.html.j2", model=shown)

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in FILES:
            return Response("not found", 404, HEADERS, "text/plain")
        kept = HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(file_bytes(name), headers=kept, media_type=FILES[name])

    return router


def _add_lists(router: APIRouter, inbox: Inbox) -> None:
    @router.get("")
    def first(request: Request) -> Response:
        return inbox.listing(request, inbox.filters(request))

    @router.post("/search")
    async def search(request: Request) -> Response:
        form = await _form(request)
        filters = inbox.filters(request, str(form.get("q", "")))
        return await run_in_threadpool(inbox.listing, request, filters)

    @router.get("/messages/{message}")
    def one(request: Request, message: str) -> Response:
        number = _number(message)
        entry = inbox.store.message(number, who=who(request)) if number else None
        return inbox.listing(request, inbox.filters(request), entry, 200 if entry else 404)


def _add_actions(router: APIRouter, inbox: Inbox) -> None:
    store = inbox.store

    def back(request: Request, message: int, did: Did, done: bool) -> Response:
        if not done:
            return inbox.listing(request, inbox.filters(request), None, 404)
        asked = [(k, v) for k, v in request.query_params.multi_items() if k != "did"]
        address = f"{base_of(request, PREFIX)}/messages/{message}"
        return RedirectResponse(f"{address}?{urlencode([*asked, ('did', did)])}", 303, HEADERS)

    @router.post("/messages/{message}/label")
    async def label(request: Request, message: str) -> Response:
        form = await _form(request)
        labels = _chosen(form, inbox)
        note = str(form.get("note", ""))
        number = _number(message)
        order = by_urgency(inbox.predictor.labels)
        done = await run_in_threadpool(
            store.correct, number, labels, who(request), note, order=order
        )
        return await run_in_threadpool(back, request, number, "correct", done)

    @router.post("/messages/{message}/done")
    def finish(request: Request, message: str) -> Response:
        number = _number(message)
        return back(request, number, "finish", store.finish(number, who(request)))

    @router.post("/messages/{message}/undo")
    def undo(request: Request, message: str) -> Response:
        number = _number(message)
        order = by_urgency(inbox.predictor.labels)
        undone = store.undo(number, who(request), order=order)
        there = undone is not None or store.message(number, who=who(request)) is not None
        if undone is None:
            return back(request, number, "undo-nothing", there)
        return back(request, number, "undo-finish" if undone == "finish" else "undo-correct", there)


def _add_uploads(router: APIRouter, inbox: Inbox) -> None:
    settings = inbox.settings

    def form_page(
        request: Request, status: int = 200, error: str = "", done: Any = None
    ) -> Response:
        return inbox.show(
            request, "upload.html.j2", status,
            error=error, done=done, largest=settings.upload_bytes, kinds=",".join(KINDS),
            rows=MOST_ROWS,
        )  # fmt: skip

    @router.get("/upload")
    def upload_form(request: Request) -> Response:
        return form_page(request)

    @router.post("/upload")
    async def upload(request: Request) -> Response:
        form = await _form(request)
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            return form_page(request, 422, "No file was chosen.")
        if file.size is not None and file.size > settings.upload_bytes:
            return form_page(
                request, 413, f"The file is larger than {settings.upload_bytes:,} bytes."
            )
        data = await file.read()
        try:
            done = await run_in_threadpool(
                take_upload, data, file.filename, inbox.predictor, inbox.store, who(request),
                settings.zone,
            )  # fmt: skip
        except DataError as error:
            return form_page(request, 422, str(error))
        return form_page(request, done=done)


async def _form(request: Request) -> FormData:
    return await request.form(max_files=1, max_fields=_MOST_LABELS + 10)


def _number(message: str) -> int:
    """Return a message's number; 0, which none has, for what is no number."""
    plain = message.isascii() and message.isdecimal() and len(message) < 10
    return int(message) if plain else 0


def _chosen(form: FormData, inbox: Inbox) -> list[str]:
    """Return the labels of a form: boxes, or ids in a field with commas or blanks between.

    Raises:
        LabelError: If one is not the model's, or a single-label model is given another number.
    """
    labels = inbox.predictor.labels
    given = [str(x) for x in form.getlist("label")]
    typed = str(form.get("labels", "")).replace(",", " ").split()
    chosen = list(dict.fromkeys([*given, *typed]))
    if not set(chosen) <= set(labels.ids):
        raise LabelError("a label is not the model's", step="Go back and choose another.")
    if inbox.predictor.model.recipe.task != "multi" and len(chosen) != 1:
        raise LabelError("choose one label", found=str(len(chosen)))
    return chosen


def _links(filters: Filters, pages: int) -> dict[str, str | None]:
    """Return the addresses of the pages before and after."""
    return {
        "before": query(filters, filters.page - 1) if filters.page > 1 else None,
        "after": query(filters, filters.page + 1) if filters.page < pages else None,
    }
