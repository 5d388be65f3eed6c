"""What training tells the outside."""

import json

import pytest

from attending.training.progress import Event, Journal


def test_the_log_holds_every_tenth_step_and_all_else(tmp_path):
    heard = []
    journal = Journal(tmp_path / "log.jsonl", heard.append)
    sent = [
        Event("start", 0, 25, facts={"window_tokens": 64}),
        *(Event("step", i, 25, seconds_left=1.5) for i in range(1, 26)),
        Event("epoch", 25, 25, metrics={"macro_f1": 0.5}),
        Event("end", 25, 25),
    ]
    for event in sent:
        journal(event)
    assert heard == sent
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(r["kind"], r["step"]) for r in rows] == [
        ("start", 0),
        ("step", 10),
        ("step", 20),
        ("epoch", 25),
        ("end", 25),
    ]
    assert rows[0]["facts"] == {"window_tokens": 64}
    assert rows[3]["metrics"] == {"macro_f1": 0.5}
    assert all(r["time"] > 1e9 for r in rows)
    assert "metrics" not in rows[0] and "seconds_left" not in rows[0]


def test_a_log_goes_on_and_may_be_left_out(tmp_path):
    for _ in range(2):
        Journal(tmp_path / "log.jsonl", None)(Event("end", 1, 1))
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2
    Journal(None, None)(Event("end", 1, 1))


def test_events_of_a_training(train, tmp_path, messages):
    events = []
    train(run=tmp_path, listener=events.append)
    kinds = [e.kind for e in events]
    assert kinds == ["start", *["step"] * 5, "epoch", *["step"] * 5, "epoch", "end"]
    assert [e.step for e in events if e.kind == "step"] == list(range(1, 11))
    assert {e.total for e in events} == {10}
    assert [e.epoch for e in events if e.kind == "epoch"] == [1.0, 2.0]
    assert events[0].facts == {"precision": "float32", "window_tokens": 64}
    for event in events:
        if event.kind == "epoch":
            assert event.metrics.keys() == {"macro_f1", "accuracy", "log_loss"}
    left = [e.seconds_left for e in events if e.kind == "step"]
    assert left[:2] == [None, None]
    assert all(x is not None and x >= 0 for x in left[2:])
    assert left[-1] == 0
    seconds = [e.seconds for e in events]
    assert seconds == sorted(seconds)


def test_no_text_in_any_file_of_a_run(train, tmp_path, messages):
    """Messages hold a marker; checkpoints, state and log must not."""
    from dataclasses import replace

    marker = "zxqmarker7731"
    rows = [replace(d, text=f"{d.text} {marker}") for d in messages]
    seen = []
    train(
        rows=rows[8:], development=rows[:8], run=tmp_path, listener=lambda e: seen.append(repr(e))
    )
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert len(files) > 5
    for file in files:
        assert marker.encode() not in file.read_bytes().lower(), file.name
    assert not any(marker in line for line in seen)


@pytest.mark.parametrize("field", ["step", "total", "kind"])
def test_events_are_frozen(field):
    with pytest.raises(AttributeError):
        setattr(Event("end", 1, 1), field, 2)
