"""A model in service: loaded once, asked by many at a time. Whatever it is made of, no torch here.

Everything the model does happens in one thread, so it needs no locks of its own.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attending.errors import AttendingError, ModelError, QueueFull
from attending.explain.evidence import explain
from attending.models.base import Model, require_method
from attending.models.store import load_model
from attending.records import Coverage, Document, LabelSet, Prediction, Row
from attending.serve.batching import Batcher, Explaining, Job
from attending.serve.maker import Maker

State = Literal["loading", "ready", "failed"]
Watch = Callable[[Sequence[Prediction]], None]
_log = logging.getLogger("attending.serve")


class NotReady(ModelError):
    """The model is not loaded yet, or could not be."""


class Predictor:
    """Answers documents by a model folder, also an exported one.

    The model is loaded by the first who needs it, and by nobody else; all wait for it. Where that
    fails, all who wait get the same error, and the next who asks makes it try again.

    Args:
        folder: The model folder.
        batch: Most documents that the model reads at once.
        wait_ms: How long a batch waits for more, where several ask at a time.
        queue: Most documents that wait.
        longest: Code points of the longest text that is read.
        seconds: How long an answer may take.
        name: What to call the model; its recipe's name if left out.
        load: What opens a folder.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        batch: int = 32,
        wait_ms: float = 5,
        queue: int = 256,
        longest: int = 2_000_000,
        seconds: float = 30,
        name: str | None = None,
        load: Callable[[Path], Model] = load_model,
    ) -> None:
        self.folder = Path(folder)
        self._load, self._name = load, name
        self._batch, self._longest, self._seconds = batch, longest, seconds
        self._batcher = Batcher(self._handle, batch, wait_ms / 1000, queue)
        self._model: Model | None = None
        self._maker: Maker | None = None
        self.failure: AttendingError | None = None
        """Why the model could not be loaded."""
        self.require: Callable[[Model], None] = lambda _: None
        """Raises an ``AttendingError`` if the model can't be used here."""
        self.watch: Watch = lambda _: None
        """Told of the answers of each batch."""

    @property
    def state(self) -> State:
        """Whether the model can answer."""
        if self._model is not None:
            return "ready"
        return "failed" if self.failure is not None else "loading"

    @property
    def waiting(self) -> int:
        """How many documents wait."""
        return self._batcher.waiting

    @property
    def model(self) -> Model:
        """The model.

        Raises:
            NotReady: If it isn't loaded.
        """
        if self._model is None:
            raise NotReady(f"the model is {'not usable' if self.failure else 'being loaded'}")
        return self._model

    @property
    def labels(self) -> LabelSet:
        """The model's labels."""
        return self.model.labels

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of its training."""
        return self.model.facts

    @property
    def maker(self) -> Maker:
        """The model by name and version."""
        if self._maker is None:
            raise NotReady(f"the model is {'not usable' if self.failure else 'being loaded'}")
        return self._maker

    def start(self) -> None:
        """Begin to load the model, and don't wait for it."""
        self._batcher.put(Job(()), bounded=False)

    def load(self) -> "Predictor":
        """Load the model now.

        Raises:
            NotReady: If it can't be; ``failure`` says why.
        """
        job = Job(())
        self._batcher.put(job, bounded=False)
        job.answer.result()
        return self

    def predict(self, documents: Sequence[Row], *, evidence: bool = False) -> list[Prediction]:
        """Answer any number of documents and wait for it; others are answered in between.

        Raises:
            NotReady: If the model can't be loaded.
            QueueFull: If the service is stopping.
        """
        found: list[Prediction] = []
        for start in range(0, len(documents), self._batch):
            job = Job(documents[start : start + self._batch], Explaining() if evidence else None)
            self._batcher.put(job, bounded=False)
            found += job.answer.result()
        return found

    def explain(
        self, document: Document, *, method: str | None = None, labels: Sequence[str] = ()
    ) -> Prediction:
        """Answer one document with the words that spoke for its labels, or for those named.

        Raises:
            ModelError: If the model has no such method.
            LabelError: If a label is not the model's.
        """
        how = self.explaining(method, labels)
        job = Job((document,), how)
        self._batcher.put(job, bounded=False)
        return job.answer.result()[0]

    def explaining(self, method: str | None = None, labels: Sequence[str] = ()) -> Explaining:
        """Return what is to be explained, made sure of beforehand.

        Raises:
            ModelError: If the model has no such method, or isn't loaded.
            LabelError: If a label is not the model's.
        """
        model = self.model
        require_method(method, model.methods, model.recipe.name)
        for label in labels:
            model.labels.position(label)
        return Explaining(method, tuple(dict.fromkeys(labels)))

    async def submit(self, document: Row, explain: bool | Explaining = False) -> Prediction:
        """Answer one document as soon as it is its turn; see ``ask``."""
        return (await self.ask((document,), explain))[0]

    async def ask(
        self, documents: Sequence[Row], explain: bool | Explaining = False
    ) -> list[Prediction]:
        """Answer documents of one request as soon as it is their turn.

        Raises:
            QueueFull: If too many wait, it takes too long, or the service is stopping.
            NotReady: If the model can't be loaded.
        """
        how = explain if isinstance(explain, Explaining) else Explaining() if explain else None
        job = Job(tuple(documents), how)
        self._batcher.put(job)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(job.answer)
        except TimeoutError:
            raise QueueFull("the answer took too long", seconds=5) from None

    def close(self, timeout: float | None = None) -> None:
        """Answer what waits, then stop."""
        self._batcher.close(timeout)

    def _handle(self, jobs: Sequence[Job]) -> None:
        if self._model is None and not self._opened():
            for job in (*jobs, *self._abandoned()):
                job.answer.set_exception(NotReady(str(self.failure)))
            return
        answered = self._answers(jobs)
        for job, predictions in zip(jobs, answered, strict=True):
            job.answer.set_result(predictions)
        self.watch([p for predictions in answered for p in predictions])

    def _abandoned(self) -> list[Job]:
        return [j for j in self._batcher.drain() if j.answer.set_running_or_notify_cancel()]

    def _opened(self) -> bool:
        self.failure = None
        try:
            model = self._load(self.folder)
            self.require(model)
            self._maker = Maker.of(model, self._name)  # reads the folder that it is made of
            self._model = model
        except AttendingError as error:
            self.failure = error
        except Exception as error:  # a library's; its message may say anything
            self.failure = ModelError(f"the model can't be loaded ({type(error).__name__})")
        if self.failure is not None:
            _log.error("the model can't be loaded: %s", self.failure)
        return self._model is not None

    def _answers(self, jobs: Sequence[Job]) -> list[list[Prediction]]:
        """Answer jobs together; where that fails, each row by itself, so that one fails alone."""
        rows = [row for job in jobs for row in job.rows]
        hows = [job.how for job in jobs for _ in job.rows]
        try:
            found = self._read(rows, hows)
        except Exception:  # which row it was shows when they are read by themselves
            found = [self._alone(row, how) for row, how in zip(rows, hows, strict=True)]
        answers, start = [], 0
        for job in jobs:
            answers.append(found[start : start + len(job.rows)])
            start += len(job.rows)
        return answers

    def _alone(self, row: Row, how: Explaining | None) -> Prediction:
        try:
            return self._read([row], [how])[0]
        except Exception as error:
            kind = type(error).__name__
            _log.error("the model failed on a text (%s)", kind)
            return Prediction(row.id, "failed", reason=f"the model failed ({kind})")

    def _read(self, rows: Sequence[Row], hows: Sequence[Explaining | None]) -> list[Prediction]:
        model = self.model
        found: list[Prediction] = [self._too_long(row) for row in rows]
        short = [i for i, p in enumerate(found) if p.status != "too_long"]
        for i, prediction in zip(short, model.predict([rows[i] for i in short]), strict=True):
            found[i] = prediction
        for how in {how for how in hows if how is not None and model.methods}:
            mine = [i for i in short if hows[i] == how]
            explained = explain(
                model,
                [rows[i] for i in mine],
                [found[i] for i in mine],
                method=how.method,
                labels=how.labels or "predicted",
            )
            for i, prediction in zip(mine, explained, strict=True):
                found[i] = prediction
        return found

    def _too_long(self, row: Row) -> Prediction:
        if isinstance(row, Document) and len(row.text) > self._longest:
            reason = f"longer than {self._longest:,} characters"
            return Prediction(row.id, "too_long", read=Coverage(0, 0, 0), reason=reason)
        return Prediction(row.id, "failed")
