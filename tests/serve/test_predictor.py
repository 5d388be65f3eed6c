"""One model, loaded once, asked by many."""

import asyncio
import json
import threading

import pytest

from attending.errors import LabelError, ModelError, QueueFull
from attending.models.store import load_model
from attending.records import Document, Unreadable
from attending.serve.batching import Explaining
from attending.serve.predictor import NotReady, Predictor


@pytest.fixture
def make(model_folder):
    made = []

    def predictor(load=load_model, **values):
        made.append(Predictor(model_folder, load=load, **values))
        return made[-1]

    yield predictor
    for one in made:
        one.close(5)


class Counted:
    """Loads a model, counts how often, and can be held up or made to fail."""

    def __init__(self, failures=0):
        self.calls, self.failures, self.free = 0, failures, threading.Event()
        self.free.set()

    def __call__(self, folder):
        self.calls += 1
        assert self.free.wait(5)
        if self.calls <= self.failures:
            raise OSError("no such file: ZXQ-MARKER")
        return load_model(folder)


def test_answers_are_those_of_the_model(make, model_folder, messages):
    predictor, model = make(batch=5), load_model(model_folder)
    assert predictor.predict(messages) == model.predict(messages)
    assert predictor.labels == model.labels
    assert predictor.facts == model.facts
    found = asyncio.run(predictor.ask(messages[:3]))
    assert found == model.predict(messages[:3])
    assert asyncio.run(predictor.submit(messages[0])) == found[0]


def test_many_who_ask_at_once_load_it_once_and_all_are_answered(make, case):
    race = json.loads((case("D25") / "race.json").read_text())
    values = json.loads((case("D25") / "expected.json").read_text())["values"]
    load = Counted()
    load.free.clear()
    predictor = make(load)
    document = Document("1", race["text"])

    async def storm():
        asked = [asyncio.ensure_future(predictor.submit(document)) for _ in range(race["n"] + 12)]
        await asyncio.sleep(0.05)
        assert predictor.state == "loading"
        load.free.set()
        return await asyncio.gather(*asked)

    answers = asyncio.run(storm())
    assert load.calls == values["loader_calls"]
    assert len(answers) == 32
    assert len({str(a.to_dict()) for a in answers}) == values["distinct_answers"]
    assert predictor.state == "ready"


def test_if_loading_fails_all_get_the_same_error_and_the_next_try_can_succeed(make, caplog):
    load = Counted(failures=1)
    load.free.clear()
    predictor = make(load)

    async def storm():
        asked = [asyncio.ensure_future(predictor.submit(Document("1", "a"))) for _ in range(20)]
        await asyncio.sleep(0.05)
        load.free.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    errors = asyncio.run(storm())
    assert load.calls == 1
    assert {str(e) for e in errors} == {"the model can't be loaded (OSError)."}
    assert predictor.state == "failed"
    with pytest.raises(NotReady):
        _ = predictor.model
    assert "MARKER" not in caplog.text
    assert predictor.load().state == "ready"
    assert load.calls == 2


def test_a_model_that_does_not_suit_the_service_is_not_used(make):
    predictor = make()

    def refuse(model):
        raise LabelError("no map")

    predictor.require = refuse
    with pytest.raises(NotReady, match="no map"):
        predictor.load()
    assert predictor.state == "failed"
    assert isinstance(predictor.failure, LabelError)


def test_a_text_that_the_model_fails_on_fails_alone(make, monkeypatch, caplog):
    predictor = make().load()
    whole = predictor.model.predict

    def broken(rows, **more):
        if any("bad" in row.text for row in rows):
            raise ValueError("could not take ZXQ-MARKER")
        return whole(rows, **more)

    monkeypatch.setattr(predictor.model, "predict", broken)
    rows = [Document("1", "chest pain"), Document("2", "bad"), Document("3", "refill please")]
    found = predictor.predict(rows)
    assert [p.status for p in found] == ["ok", "failed", "ok"]
    assert found[1].reason == "the model failed (ValueError)"
    assert not found[1].labels
    assert "MARKER" not in caplog.text


def test_what_can_not_be_read_keeps_its_place(make):
    predictor = make(longest=20)
    rows = [Document("1", ""), Document("2", "x" * 21), Unreadable("3", "not text"),
            Document("4", "chest pain")]  # fmt: skip
    found = predictor.predict(rows, evidence=True)
    assert [p.status for p in found] == ["empty_text", "too_long", "failed", "ok"]
    assert [p.id for p in found] == ["1", "2", "3", "4"]
    assert found[1].reason == "longer than 20 characters"


def test_evidence_is_for_the_labels_that_are_asked_for(make):
    predictor = make().load()
    document = Document("1", "chest pain and trouble breathing")
    found = predictor.explain(document, labels=["urgent", "medium"])
    assert "urgent" in {e.label for e in found.evidence} <= {"urgent", "medium"}
    assert all(document.text[e.start : e.end] for e in found.evidence)
    with pytest.raises(LabelError):
        predictor.explain(document, labels=["nothing"])
    with pytest.raises(ModelError, match="no evidence method"):
        predictor.explain(document, method="magic")


def test_callers_who_want_different_things_share_a_batch(make):
    predictor = make()
    document = Document("1", "chest pain and trouble breathing")

    async def three():
        return await asyncio.gather(
            predictor.submit(document),
            predictor.submit(document, explain=True),
            predictor.submit(document, Explaining(labels=("urgent",))),
        )

    plain, own, urgent = asyncio.run(three())
    assert not plain.evidence
    assert {e.label for e in own.evidence} == set(own.labels)
    assert {e.label for e in urgent.evidence} == {"urgent"}
    assert plain.scores == own.scores == urgent.scores


def test_an_answer_that_takes_too_long_is_given_up(make):
    load = Counted()
    load.free.clear()
    predictor = make(load, seconds=0.02)
    with pytest.raises(QueueFull, match="too long"):
        asyncio.run(predictor.submit(Document("1", "a")))
    load.free.set()


def test_a_stopped_predictor_answers_no_more(make):
    predictor = make().load()
    predictor.close(5)
    with pytest.raises(QueueFull, match="stopping"):
        predictor.predict([Document("1", "a")])


@pytest.mark.slow
def test_no_torch_is_needed_for_a_model_without_it(model_folder):
    import subprocess
    import sys

    code = (
        "import sys; from attending.serve.app import create_app; "
        "from attending.serve.predictor import Predictor; "
        f"Predictor({str(model_folder)!r}).load(); "
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
