"""The routes of ``/v1``: answers, explanations, the model, and how the service is."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from attending.errors import AttendingError
from attending.explain.wording import caution
from attending.models.store import load_metrics
from attending.records import Document, LabelSet
from attending.serve.answers import Json
from attending.serve.metrics import CONTENT_TYPE
from attending.serve.placing import by_urgency
from attending.serve.problems import Refused
from attending.serve.schemas import (
    CorrectedOut,
    CorrectionIn,
    ExplainIn,
    ExplainOut,
    LabelsOut,
    MessageIn,
    MessagesIn,
    ModelOut,
    PredictIn,
    PredictOut,
    StateOut,
    StoredOut,
)
from attending.serve.service import NOTICE, problems, service_of, who

_PAGE = 1000
_TOLD = (
    "data_fingerprint", "label_counts", "rows", "seed", "versions", "encoder", "export", "cascade",
)  # fmt: skip

router = APIRouter(prefix="/v1")
inbox = APIRouter(prefix="/v1")
"""Only where there is an inbox."""


@router.post(
    "/predict",
    tags=["Answers"],
    response_model=PredictOut,
    responses={**problems(400, 401, 413, 422, 503)},
    summary="Answer texts",
)
async def predict(request: Request, body: PredictIn) -> Response:
    """Answer every text, in order: labels with probabilities, or why there are none.

    Nothing is stored but a line of ids in the audit.
    """
    service = service_of(request)
    service.require_few(body.texts or body.documents or ())
    documents = (
        named(body.documents)
        if body.documents is not None
        else [Document(f"row-{i}", text or "") for i, text in enumerate(body.texts or (), 1)]
    )
    predictions = await service.predictor.ask(documents, explain=body.evidence)
    own = [d.id for d in documents] if body.documents is not None else ()
    await service.record(request, "score", own, texts=len(documents))
    shown = zip(documents, predictions, strict=True)
    return Json(
        {
            "model": service.model(),
            "predictions": [service.shown(d, p, body.top_k) for d, p in shown],
            "request_id": request.state.request_id,
        }
    )


@router.post(
    "/explain",
    tags=["Answers"],
    response_model=ExplainOut,
    responses={**problems(400, 401, 413, 422, 503)},
    summary="Explain one text",
)
async def explain(request: Request, body: ExplainIn) -> Response:
    """Answer one text with the words that spoke for its labels, or for the labels named.

    Where the model gave no label, those of the likeliest are shown.
    """
    service = service_of(request)
    predictor = service.predictor
    if predictor.state != "ready":
        await predictor.ask(())
    how = predictor.explaining(body.method, body.labels)
    document = Document(body.id, body.text or "")
    prediction = await predictor.submit(document, how)
    own = [body.id] if "id" in body.model_fields_set else ()
    await service.record(request, "explain", own, texts=1)
    method = body.method or predictor.model.methods[0]
    return Json(
        {
            "model": service.model(),
            "prediction": service.shown(document, prediction),
            "method": method,
            "caution": caution(method),
            "request_id": request.state.request_id,
        }
    )


@router.get(
    "/labels",
    tags=["The model"],
    response_model=LabelsOut,
    responses={**problems(401, 422, 503)},
    summary="List the labels",
)
async def labels(
    request: Request,
    offset: Annotated[int, Query(ge=0, le=10**7, description="How many to pass over.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_PAGE, description="How many to list.")] = _PAGE,
) -> Response:
    """List the labels in order, with what they mean and their FHIR priority."""
    service = service_of(request)
    known = service.predictor.labels
    of = service.priorities.of if service.priorities is not None else {}
    listed = [
        {
            "id": x.id,
            "name": x.name,
            "description": x.description,
            "keywords": list(x.keywords),
            "synonyms": list(x.synonyms),
            "parent": x.parent,
            "priority": of.get(x.id),
        }
        for x in known.labels[offset : offset + limit]
    ]
    return Json(
        {"name": known.name, "ordered": known.ordered, "count": len(known), "labels": listed}
    )


@router.get(
    "/model",
    tags=["The model"],
    response_model=ModelOut,
    responses={**problems(401, 503)},
    summary="Describe the model",
)
async def model(request: Request) -> Response:
    """Say which model answers, how it decides, how good it was, and what a request may hold."""
    service = service_of(request)
    predictor, settings = service.predictor, service.settings
    loaded = predictor.model
    facts = {k: loaded.facts[k] for k in _TOLD if k in loaded.facts}
    return Json(
        {
            "model": service.model(),
            "software": predictor.maker.software,
            "recipe": loaded.recipe.name,
            "task": loaded.recipe.task,
            "labels": len(loaded.labels),
            "label_set": loaded.labels.hash,
            "methods": list(loaded.methods),
            "decision": _brief(loaded.decision.to_dict()),
            "metrics": await run_in_threadpool(_metrics, predictor.folder),
            "facts": _brief(facts),
            "limits": {
                "texts": settings.texts,
                "text_chars": settings.text_chars,
                "body_bytes": settings.body_bytes,
                "upload_bytes": settings.upload_bytes,
                "queue": settings.queue,
            },
            "notice": NOTICE,
        }
    )


@router.get(
    "/model/card",
    tags=["The model"],
    response_class=PlainTextResponse,
    responses={**problems(401, 404, 503)},
    summary="Show the model card",
)
async def card(request: Request) -> Response:
    """Return the model's card, in Markdown."""
    file = service_of(request).predictor.folder / "README.md"
    try:
        text = await run_in_threadpool(file.read_text, encoding="utf-8")
    except OSError:
        raise Refused(404, "the model has no card.") from None
    return PlainTextResponse(text, media_type="text/markdown")


@inbox.post(
    "/messages",
    tags=["The inbox"],
    status_code=201,
    response_model=StoredOut,
    responses={**problems(400, 401, 404, 413, 422, 503)},
    summary="Put messages into the inbox",
)
async def messages(request: Request, body: MessagesIn) -> Response:
    """Answer messages and keep them in the inbox, text and all, for people to read.

    A message that is there already, by id and text, is not kept again.
    """
    service = service_of(request)
    store = service.require_store()
    service.require_few(body.documents)
    documents = named(body.documents)
    predictions = await service.predictor.ask(documents, explain=True)
    await service.record(request, "score", [d.id for d in documents], texts=len(documents))
    version = service.version or ""
    order = by_urgency(service.predictor.labels)
    adding = partial(store.add_messages, documents, predictions, "api", model=version, order=order)
    numbers = await run_in_threadpool(adding, who=who(request))
    shown = zip(documents, predictions, strict=True)
    return Json(
        {
            "model": service.model(),
            "messages": numbers,
            "predictions": [service.shown(d, p) for d, p in shown],
            "request_id": request.state.request_id,
        },
        status_code=201,
    )


@inbox.post(
    "/messages/{message}/correction",
    tags=["The inbox"],
    response_model=CorrectedOut,
    responses={**problems(400, 401, 404, 422, 503)},
    summary="Correct the labels of a message",
)
async def correct(
    request: Request,
    message: Annotated[int, Path(ge=1, le=2**31 - 1, description="Its number in the inbox.")],
    body: CorrectionIn,
) -> Response:
    """Keep the labels that a person gives a message; earlier ones stay in its history."""
    service = service_of(request)
    store = service.require_store()
    chosen = chosen_labels(
        body.labels, service.predictor.labels, service.predictor.model.recipe.task
    )
    reviewer, order = who(request), by_urgency(service.predictor.labels)
    correcting = partial(store.correct, message, chosen, reviewer, body.note, order=order)
    if not await run_in_threadpool(correcting):
        raise Refused(404, "there is no such message in the inbox.")
    return Json({"message": message, "labels": chosen, "reviewer": reviewer})


@router.get("/health", tags=["The service"], response_model=StateOut, summary="Say that it runs")
async def health(request: Request) -> Response:
    """Answer as long as the process is alive; needs no key."""
    return Json({"status": "alive", "model": service_of(request).predictor.state})


@router.get(
    "/ready",
    tags=["The service"],
    response_model=StateOut,
    responses={503: {"model": StateOut, "description": "Not now: see Retry-After."}},
    summary="Say whether it can answer",
)
async def ready(request: Request) -> Response:
    """Answer 200 if the model is loaded and the service is not stopping; needs no key."""
    service = service_of(request)
    state = service.predictor.state
    if state == "ready" and not service.stopping:
        return Json({"status": "ready", "model": state})
    status = "stopping" if service.stopping else state
    return Json({"status": status, "model": state}, status_code=503, headers={"Retry-After": "5"})


@router.get(
    "/metrics",
    tags=["The service"],
    response_class=PlainTextResponse,
    responses={**problems(401)},
    summary="Count for Prometheus",
)
async def metrics(request: Request) -> Response:
    """Return counters: requests, texts by status, labels given, queue, memory. No ids."""
    return Response(service_of(request).metrics.page(), media_type=CONTENT_TYPE)


def named(documents: Sequence[MessageIn]) -> list[Document]:
    """Return the documents of a request."""
    return [Document(d.id, d.text or "") for d in documents]


def chosen_labels(given: Sequence[str], known: LabelSet, task: str) -> list[str]:
    """Return the labels of a correction, each once.

    Raises:
        LabelError: If one is not the model's.
        Refused: If there must be exactly one.
    """
    chosen = list(dict.fromkeys(given))
    for label in chosen:
        known.position(label)
    if task == "single" and len(chosen) != 1:
        raise Refused(422, "a message has exactly one label here.")
    return chosen


def _metrics(folder: Any) -> dict[str, Any]:
    try:
        return _brief(load_metrics(folder))
    except AttendingError:
        return {}


def _brief(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what would be a page by itself: a table with an entry for each of many labels."""
    return {k: v for k, v in values.items() if not hasattr(v, "__len__") or len(v) <= _PAGE}
