"""The routes that speak FHIR and CDS Hooks."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from attending.data.corpora import Corpus
from attending.data.fhir.bounds import Bounds
from attending.data.fhir.corpus import read_fhir
from attending.errors import DataError, LabelError
from attending.records import Prediction
from attending.serve.answers import Json
from attending.serve.cds_hooks import SERVICE, cards, cds_services, prefetched
from attending.serve.fhir.writer import fhir_bundle
from attending.serve.problems import Refused
from attending.serve.service import Service, problems, service_of

FHIR_JSON = "application/fhir+json"
_RESOURCES = 2000
_CALL = 50
_NO_MESSAGES = "there are no messages"

router = APIRouter()

_MESSAGE = {
    "resourceType": "Communication",
    "id": "msg-17",
    "status": "completed",
    "sent": "2024-03-11T07:30:00Z",
    "payload": [{"contentString": "Chest pain since this morning and my left arm is numb."}],
}
_BUNDLE = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": _MESSAGE}]}
_CALLED = {
    "hook": "patient-view",
    "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
    "context": {"userId": "Practitioner/1", "patientId": "2"},
    "prefetch": {"messages": _BUNDLE},
}


def _takes(media: str, example: Any) -> dict[str, Any]:
    schema = {"type": "object"}
    content = {media: {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/v1/fhir",
    tags=["Records"],
    summary="Answer FHIR messages in FHIR",
    responses={
        200: {"description": "A transaction Bundle.", "content": {FHIR_JSON: {}}},
        **problems(401, 404, 413, 422, 503),
    },
    openapi_extra=_takes(FHIR_JSON, _BUNDLE),
)
async def fhir(
    request: Request,
    release: Annotated[Literal["R4", "R5"], Query(description="Release of the answer.")] = "R4",
) -> Response:
    """Read Communications and DocumentReferences (a resource, a Bundle or NDJSON, R4 or R5).

    The answer is a transaction Bundle: a Task with priority and focus for each message, or a
    provisional Condition for each code, and a Provenance that names the model. Messages are not
    touched and nothing is stored. What can't be read gets a Task for a person.
    """
    service = service_of(request)
    body = await request.body()
    rows, answered = await run_in_threadpool(_answered_fhir, service, body)
    made = await run_in_threadpool(_bundle, service, rows, answered, release)
    await service.record(request, "score-fhir", [row.id for row in rows.rows], texts=len(answered))
    return Json(made, media_type=FHIR_JSON)


@router.get(
    "/cds-services",
    tags=["Records"],
    summary="Discover CDS Hooks services",
    responses={**problems(401, 503)},
)
async def discover(request: Request) -> Response:
    """Say which service there is, when to call it and what to send along."""
    service = service_of(request)
    return Json(cds_services(service.predictor.maker, service.predictor.labels, count=_CALL))


@router.post(
    f"/cds-services/{SERVICE}",
    tags=["Records"],
    summary="Return cards on a patient's messages",
    responses={**problems(400, 401, 404, 412, 413, 503)},
    openapi_extra=_takes("application/json", _CALLED),
)
async def call(request: Request) -> Response:
    """Return cards on the messages that should not wait, the most pressing first."""
    service = service_of(request)
    if service.predictor.state != "ready":
        await service.predictor.ask(())
    if service.priorities is None:
        raise Refused(404, "cards need a map from labels to priorities: see --priorities.")
    try:
        rows = await run_in_threadpool(prefetched, await request.body(), _bounds(service, 500))
    except DataError as error:
        if error.what == _NO_MESSAGES:
            return Json({"cards": []})
        raise Refused(412 if error.found == "no prefetch" else 400, str(error)) from None
    evidence = bool(service.predictor.model.methods)
    predictions = await run_in_threadpool(service.predictor.predict, rows.rows, evidence=evidence)
    await service.record(request, "cards", [row.id for row in rows.rows], texts=len(rows.rows))
    made = cards(
        rows.rows,
        predictions,
        labels=service.predictor.labels,
        maker=service.predictor.maker,
        priorities=service.priorities,
    )
    return Json(made)


class Reason(BaseModel):
    """Why a card was overridden: the label that it should have been."""

    model_config = ConfigDict(extra="ignore")
    code: str = Field("", max_length=200)


class Override(BaseModel):
    """The reason that a reader chose."""

    model_config = ConfigDict(extra="ignore")
    reason: Reason = Field(default_factory=Reason)


class FeedbackItem(BaseModel):
    """What a reader did with one card."""

    model_config = ConfigDict(extra="ignore")
    card: str = Field(pattern=r"^[0-9A-Fa-f-]{36}$", description="The card's uuid.")
    outcome: Literal["accepted", "overridden"]
    overrideReason: Override = Field(default_factory=Override)  # CDS Hooks' name


class Feedback(BaseModel):
    """What readers did with cards."""

    model_config = ConfigDict(extra="ignore")
    feedback: list[FeedbackItem] = Field(min_length=1, max_length=100)


@router.post(
    f"/cds-services/{SERVICE}/feedback",
    tags=["Records"],
    summary="Say what became of cards",
    responses={**problems(400, 401, 422, 503)},
)
async def feedback(request: Request, body: Feedback) -> Response:
    """Count what readers did with cards and keep it in the audit, by card and label.

    Comments are not kept: they may hold words about a patient.
    """
    service = service_of(request)
    known = service.predictor.labels
    for item in body.feedback:
        service.metrics.feedback.labels(item.outcome).inc()
        code = item.overrideReason.reason.code
        label = code if code in known.ids else None
        await service.record(request, item.outcome, [item.card.lower()], label=label)
    return Json({"status": "kept"})


def _answered_fhir(service: Service, body: bytes) -> tuple[Corpus, list[Prediction]]:
    bounds = _bounds(service, _RESOURCES)
    rows = read_fhir(body, name="body", bounds=bounds, zone=service.settings.zone)
    service.predictor.load()
    evidence = bool(service.predictor.model.methods)
    return rows, service.predictor.predict(rows.rows, evidence=evidence)


def _bundle(
    service: Service, rows: Corpus, predictions: list[Prediction], release: str
) -> dict[str, Any]:
    try:
        return fhir_bundle(
            rows.rows,
            predictions,
            labels=service.predictor.labels,
            maker=service.predictor.maker,
            release=release,
            priorities=service.named_priorities,
            codes=service.settings.codes,
        )
    except LabelError:
        raise Refused(404, "FHIR needs a map of labels: see --priorities and --codes.") from None


def _bounds(service: Service, resources: int) -> Bounds:
    return Bounds(
        bytes=service.settings.upload_bytes,
        resources=resources,
        text=min(service.settings.text_chars, 2_000_000),
    )
