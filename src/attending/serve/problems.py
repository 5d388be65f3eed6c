"""Errors of a service as answers: RFC 9457 problem details, which never quote what was sent."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field

from attending.errors import (
    AttendingError,
    LabelError,
    MissingExtra,
    ModelError,
    QueueFull,
    ServeError,
)
from attending.serve.answers import Json
from attending.serve.predictor import NotReady

MEDIA_TYPE = "application/problem+json"
_FIELD = 40
_QUOTING = frozenset({"union_tag_invalid", "json_invalid", "value_error", "assertion_error"})
"""Kinds of validation errors whose message may hold what was sent."""


class Fault(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Where: `body.documents.0.id`.")
    reason: str = Field(description="Why; never what was sent.")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field("about:blank", description="Always `about:blank`.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do; never what was sent.")
    request_id: str = Field(description="Names the request in the service's log and audit.")
    faults: list[Fault] = Field(default_factory=list, description="The fields that are wrong.")


class Refused(Exception):
    """A request that gets a problem for an answer.

    Args:
        status: The HTTP status.
        detail: What is wrong and what to do; never what was sent.
        headers: Headers of the answer.
        faults: The fields that are wrong.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers, self.faults = dict(headers or {}), list(faults)


def refusal(error: AttendingError) -> Refused:
    """Return how an error of Attending is answered."""
    if isinstance(error, QueueFull):
        return Refused(503, str(error), {"Retry-After": str(error.seconds)})
    if isinstance(error, NotReady):
        # Why it can't be loaded names files of the server, which its log does.
        return Refused(503, "the model is not loaded: see /v1/ready.", {"Retry-After": "5"})
    if isinstance(error, ServeError):  # names files of the server
        return Refused(503, f"{error.what}.", {"Retry-After": "30"})
    if isinstance(error, MissingExtra):
        return Refused(501, "this service was installed without what that needs.")
    if isinstance(error, LabelError):
        return Refused(422, "a label is not the model's: GET /v1/labels lists them.")
    if isinstance(error, ModelError):
        known = f" (allowed: {error.allowed})" if error.allowed else ""
        return Refused(422, f"the model has no such method of evidence{known}.")
    return Refused(422, str(error))


def answer(refused: Refused, request_id: str) -> Json:
    """Return a problem as a response."""
    try:
        title = HTTPStatus(refused.status).phrase
    except ValueError:
        title = "Error"
    problem = Problem(
        title=title,
        status=refused.status,
        detail=refused.detail,
        request_id=request_id,
        faults=refused.faults,
    )
    return Json(
        problem.model_dump(),
        status_code=refused.status,
        headers=refused.headers,
        media_type=MEDIA_TYPE,
    )


def faults(errors: Sequence[Any], names: frozenset[str]) -> list[Fault]:
    """Return validation errors without what was sent.

    Args:
        errors: As pydantic lists them.
        names: Fields that may be named; anything else in a place may have been sent.
    """
    found = []
    for error in errors:
        kind = error["type"]
        place = [str(x) if isinstance(x, int) or x in names else "…" for x in error["loc"]]
        reason = error["msg"] if kind not in _QUOTING else "can't be read"
        if kind == "extra_forbidden":
            reason = "there is no such field"
        if kind == "json_invalid":
            reason = "this is no JSON"
        if kind == "value_error" and "said" in error.get("ctx", {}):
            reason = error["ctx"]["said"]
        found.append(Fault(field=".".join(place), reason=reason))
    return found[:_FIELD]
