"""What the routes of a service share: the model, the map of priorities, the audit, the store."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from attending.errors import LabelError
from attending.records import Document, LabelSet, Prediction, Row
from attending.serve.audit import Audit
from attending.serve.fhir.coding import code_system
from attending.serve.metrics import Metrics
from attending.serve.placing import place
from attending.serve.predictor import Predictor
from attending.serve.priorities import Priorities, load_priorities
from attending.serve.problems import MEDIA_TYPE, Refused
from attending.serve.settings import Settings

if TYPE_CHECKING:
    from attending.serve.store import Store

NOTICE = (
    "Sorts a queue for people, says how sure it is and hands over what it can't read. Not a "
    "medical device: read the message itself."
)
_DIGITS = 6


class Service:
    """One model in service.

    Args:
        predictor: The model.
        settings: How it runs.
        metrics: What is counted.
        audit: Where it is recorded who did what; nowhere if left out.
        store: The inbox, if there is one.
    """

    def __init__(
        self,
        predictor: Predictor,
        settings: Settings,
        metrics: Metrics,
        audit: Audit | None = None,
        store: "Store | None" = None,
    ) -> None:
        self.predictor, self.settings, self.metrics = predictor, settings, metrics
        self.audit, self.store = audit, store
        self.stopping = False
        self.priorities: Priorities | None = None
        """The map from labels to priorities; none if none fits and none was named."""

    def settle(self, labels: LabelSet) -> None:
        """Settle what labels mean, as a model is loaded: one map for all that is answered by it.

        Raises:
            LabelError: If the map or the code system that settings name doesn't fit the labels.
            DataError: If the map can't be read.
        """
        self.priorities = priorities_of(self.settings, labels)
        if self.settings.codes is not None:
            code_system(self.settings.codes)

    @property
    def named_priorities(self) -> Priorities | None:
        """The map that settings name; none where labels speak for themselves."""
        return self.priorities if self.settings.priorities is not None else None

    def require_few(self, texts: Sequence[object]) -> None:
        """Refuse a request with more texts than allowed.

        Raises:
            Refused: If there are.
        """
        most = self.settings.texts
        if len(texts) > most:
            raise Refused(413, f"{len(texts):,} texts in one request; at most {most} are allowed.")

    def require_store(self) -> "Store":
        """Return the inbox.

        Raises:
            Refused: If this service has none.
        """
        if self.store is None:
            raise Refused(404, "this service has no inbox.")
        return self.store

    async def record(
        self, request: Request, action: str, ids: Sequence[object], **more: str | int | None
    ) -> None:
        """Put into the audit what a request did, before it is answered.

        Raises:
            ServeError: If that can't be written; then there is no answer.
        """
        if self.audit is None:
            return
        details = {"request": request.state.request_id, "model": self.version} | more
        record = partial(self.audit.record, action, who(request), ids, **details)
        await run_in_threadpool(record)

    @property
    def version(self) -> str | None:
        """The model's name and version, once it is loaded."""
        return str(self.predictor.maker) if self.predictor.state == "ready" else None

    def model(self) -> dict[str, str]:
        """Return the model by name and version, as answers name it."""
        maker = self.predictor.maker
        return {"name": maker.name, "version": maker.version}

    def shown(self, row: Row, prediction: Prediction, best: int | None = None) -> dict[str, Any]:
        """Return a prediction as an answer shows it.

        Args:
            row: What was read.
            prediction: What the model says of it.
            best: How many of its scores to show, the best; all if left out.
        """
        text = row.text if isinstance(row, Document) else ""
        scores = sorted(prediction.scores.items(), key=lambda item: -item[1])[:best]
        shown = prediction.to_dict() | {
            "scores": {label: round(score, _DIGITS) for label, score in scores},
            "priority": place(row, prediction, self.priorities).priority
            if self.priorities is not None
            else None,
        }
        for item, span in zip(shown["evidence"], prediction.evidence, strict=True):
            item["words"] = text[span.start : span.end]
            item["score"] = round(span.score, _DIGITS)
        return shown


def priorities_of(settings: Settings, labels: LabelSet) -> Priorities | None:
    """Return the map that settings name, else the bundled one where it fits, else none.

    Raises:
        LabelError: If the map that was named doesn't fit.
        DataError: If it can't be read.
    """
    if settings.priorities is not None:
        return load_priorities(settings.priorities, labels)
    try:
        return load_priorities(None, labels)
    except LabelError:
        return None


def who(request: Request) -> str:
    """Return who asks: the name of a key, a proxy's user, or ``local``."""
    return str(request.state.who)


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    found: Service = request.app.state.service
    return found


def problems(*statuses: int) -> Mapping[int | str, dict[str, Any]]:
    """Return how a route's problems are described in OpenAPI."""
    said = {
        400: "The body is no JSON.",
        401: "No key, or no valid one.",
        404: "There is no such thing.",
        412: "No messages were sent along.",
        413: "Too much in one request.",
        422: "The request is not as described.",
        503: "Too many wait, or the model is being loaded: see Retry-After.",
    }
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {MEDIA_TYPE: {"schema": schema}}
    return {s: {"description": said[s], "content": content} for s in statuses}
