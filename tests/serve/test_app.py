"""What the application does by itself: deleting what is old, and stopping."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import APIRouter

from attending.errors import LabelError
from attending.serve.predictor import NotReady


class Kept:
    """A store that remembers what it was told to delete, and fails at first."""

    audit = None

    def __init__(self):
        self.asked = []

    def expire(self, before, *, who):
        self.asked.append((before, who))
        if len(self.asked) == 1:
            raise RuntimeError("locked")
        return [1, 2]


def test_old_messages_are_deleted_again_and_again_also_after_a_failure(serve, monkeypatch, caplog):
    caplog.set_level("INFO", "attending.serve")
    monkeypatch.setattr("attending.serve.app._HOUR", 0.01)
    monkeypatch.setattr("attending.serve.web.create_inbox", lambda *_: APIRouter())
    store = Kept()
    serve(store=store, inbox=True, retention_days=7)
    until = time.monotonic() + 5
    while len(store.asked) < 3:
        assert time.monotonic() < until
        time.sleep(0.01)
    before, who = store.asked[0]
    assert who == "retention"
    assert abs(datetime.now(UTC) - timedelta(days=7) - before) < timedelta(minutes=1)
    assert "could not be deleted (RuntimeError)" in caplog.text
    assert "deleted 2 messages older than 7 days" in caplog.text


def test_a_map_that_does_not_fit_is_told_at_the_start(serve, tmp_path):
    (tmp_path / "map.toml").write_text('[priority]\n"urgent" = "stat"\n')
    client = serve(priorities=tmp_path / "map.toml", wait=False)
    with pytest.raises(NotReady, match="has no priority"):
        client.service.predictor.load()
    assert isinstance(client.service.predictor.failure, LabelError)
    refused = client.post("/v1/predict", json={"texts": ["a"]})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert "map.toml" not in refused.text
    assert client.get("/v1/ready").json()["status"] == "failed"


def test_after_its_end_the_predictor_takes_no_more(serve):
    client = serve()
    client.post("/v1/predict", json={"texts": ["a"]})
    client.__exit__(None, None, None)
    assert client.service.stopping
    with pytest.raises(Exception, match="stopping"):
        client.service.predictor.start()
