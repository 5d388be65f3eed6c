"""What a service counts, for Prometheus. No ids and no text: routes, states, labels."""

from collections.abc import Sequence

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from attending.models.base import MOST_SCORES
from attending.records import Prediction
from attending.serve.predictor import Predictor

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one service; several services in a process don't mix.

    Args:
        predictor: What is counted.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        at = self.registry
        self.requests = Counter(
            "attending_requests", "Requests answered.", ["route", "method", "status"], registry=at
        )
        self.seconds = Histogram(
            "attending_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, registry=at
        )
        self.documents = Counter("attending_documents", "Texts answered.", ["status"], registry=at)
        self.labels = Counter(
            "attending_labels",
            f"Labels given, of models with up to {MOST_SCORES} labels.",
            ["label"],
            registry=at,
        )
        self.batches = Histogram(
            "attending_batch_documents", "Texts read at once.", buckets=_SIZES, registry=at
        )
        self.refused = Counter("attending_refused", "Requests refused as too many.", registry=at)
        self.feedback = Counter(
            "attending_feedback", "Feedback on cards.", ["outcome"], registry=at
        )
        waiting = Gauge("attending_queue_documents", "Texts that wait.", registry=at)
        waiting.set_function(lambda: predictor.waiting)
        ready = Gauge("attending_ready", "1 if the model can answer.", registry=at)
        ready.set_function(lambda: predictor.state == "ready")
        self._model = Gauge("attending_model_info", "The model.", ["name", "version"], registry=at)
        self._predictor = predictor
        predictor.watch = self._answered

    def page(self) -> bytes:
        """Return all figures in Prometheus' own format."""
        if self._predictor.state == "ready":
            maker = self._predictor.maker
            self._model.labels(maker.name, maker.version).set(1)
        return generate_latest(self.registry)

    def _answered(self, predictions: Sequence[Prediction]) -> None:
        if not predictions:
            return
        self.batches.observe(len(predictions))
        few = len(self._predictor.labels) <= MOST_SCORES
        for prediction in predictions:
            self.documents.labels(prediction.status).inc()
            for label in prediction.labels if few else ():
                self.labels.labels(label).inc()
