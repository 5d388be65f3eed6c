"""Messages and predictions without a model."""

import pytest

from attending.data.labels import load_labels
from attending.records import Coverage, Document, Evidence, Prediction, Unreadable
from attending.serve.maker import Maker
from attending.serve.store import Store


@pytest.fixture
def store(tmp_path):
    opened = Store(str(tmp_path / "inbox.sqlite"))
    yield opened
    opened.close()


@pytest.fixture
def labels():
    return load_labels("portal")


@pytest.fixture
def maker():
    return Maker("tiny", "abc123", "0.0")


@pytest.fixture
def predicted():
    def predict(row, label=None, *, of=None, evidence=()):
        """Answer a row with a label, or with none if it shows no text; ``of``: how many tokens."""
        if isinstance(row, Unreadable):
            return Prediction(row.id, "failed", reason=row.reason)
        words = len(row.text.split())
        read = Coverage(words, of or words, 1)
        if label is None:
            return Prediction(row.id, "ok", (), {}, abstained=True, read=read)
        found = tuple(Evidence(a, b, 0.5, label, "test") for a, b in evidence)
        return Prediction(row.id, "ok", (label,), {label: 0.9}, evidence=found, read=read)

    return predict


@pytest.fixture
def row():
    def make(id_="c1", text="chest pain since noon", **attributes):
        return Document(
            id_, text, attributes={"fhir_resource": f"Communication/{id_}", **attributes}
        )

    return make


@pytest.fixture(scope="session")
def model_folder(messages, urgency, tmp_path_factory):
    """Return the folder of a linear model, trained on 48 messages."""
    from attending.classifier import Classifier

    folder = tmp_path_factory.mktemp("served") / "model"
    fitted = Classifier("tfidf-logistic", labels=urgency).fit(messages)
    fitted.save(folder)
    return folder


@pytest.fixture
def settings(tmp_path):
    """Return a function that makes settings whose files lie in the test's own folder."""
    from attending.serve.settings import Settings

    def make(**values):
        return Settings(**{"data": tmp_path / "data", "inbox": False} | values)

    return make


@pytest.fixture
def serve(model_folder, settings):
    """Return a function that starts a service and returns a client of it.

    The client's ``service`` is what its routes share. ``load`` opens the model, which is waited
    for otherwise, unless ``wait`` is false.
    """
    from contextlib import ExitStack

    from starlette.testclient import TestClient

    from attending.serve.app import create_app
    from attending.serve.audit import Audit
    from attending.serve.predictor import Predictor

    with ExitStack() as stack:

        def start(
            *, client=("127.0.0.1", 50000), store=None, audit=True, load=None, wait=True, **values
        ):
            chosen = settings(**values)
            more = {"load": load} if load else {}
            predictor = Predictor(
                model_folder,
                batch=chosen.batch,
                wait_ms=chosen.wait_ms,
                queue=chosen.queue,
                longest=chosen.text_chars,
                seconds=chosen.answer_seconds,
                **more,
            )
            kept = Audit(chosen.audit_file) if audit else None
            if kept is not None:
                stack.callback(kept.close)
            app = create_app(predictor, chosen, store, kept)
            made = TestClient(
                app, "http://127.0.0.1:8000", raise_server_exceptions=False, client=client
            )
            stack.enter_context(made)
            made.service = app.state.service
            if load is None and wait:
                predictor.load()
            return made

        yield start
