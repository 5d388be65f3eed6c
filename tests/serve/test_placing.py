"""Where messages go: nothing unread is ever last."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.labels import load_labels
from attending.errors import LabelError
from attending.records import Coverage, Document, Prediction, Unreadable
from attending.serve.placing import Place, place, told
from attending.serve.priorities import PRIORITIES, Priorities, load_priorities, rank

MAP = load_priorities(None, load_labels("portal"))


@pytest.mark.parametrize(
    ("label", "priority"), [("non-urgent", "routine"), ("medium", "urgent"), ("urgent", "stat")]
)
def test_a_message_that_was_read_has_the_priority_of_its_label(row, predicted, label, priority):
    assert place(row(), predicted(row(), label), MAP) == Place(priority, "read", label)


def test_what_was_read_in_part_is_raised_but_never_lowered(row, predicted):
    part = row(fhir_unread=["attachment_skipped:application/pdf"])
    assert place(part, predicted(part, "non-urgent"), MAP).priority == "asap"
    assert place(part, predicted(part, "urgent"), MAP).priority == "stat"
    cut = place(row(), predicted(row(), "non-urgent", of=900), MAP)
    assert cut == Place("asap", "read-in-part", "non-urgent")


def test_what_was_not_read_waits_for_a_person(row, predicted):
    unread = Unreadable("c2", "no_payload")
    assert place(unread, predicted(unread), MAP) == Place("asap", "not-read")
    assert place(row(), predicted(row()), MAP) == Place("asap", "unsure")
    none = Prediction("c1", "ok", read=Coverage(1, 1, 1))
    assert place(row(), none, MAP) == Place("asap", "no-label")


def test_the_highest_of_several_labels_decides(row):
    two = Prediction("c1", "ok", ("non-urgent", "urgent"), {}, read=Coverage(1, 1, 1))
    assert place(row(), two, MAP) == Place("stat", "read", "urgent")
    with pytest.raises(LabelError, match="has no priority"):
        place(row(), two, Priorities({"urgent": "stat"}))


@given(
    st.sampled_from(["ok", "empty_text", "too_long", "failed"]),
    st.sets(st.sampled_from(["non-urgent", "medium", "urgent"])),
    st.booleans(), st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans(),
    st.sampled_from(PRIORITIES[1:]),
)  # fmt: skip
def test_only_what_was_read_whole_is_ever_last(
    status, labels, abstained, tokens, more, flagged, unreadable, unread
):
    attributes = {"fhir_unread": ["no_payload"]} if flagged else {}
    row = Unreadable("a", "x") if unreadable else Document("a", "t", attributes=attributes)
    read = Coverage(tokens, tokens + more, 1)
    prediction = Prediction("a", status, tuple(sorted(labels)), {}, abstained, read=read)
    found = place(row, prediction, Priorities(MAP.of, unread))
    if found.priority == "routine":
        assert status == "ok" and not (unreadable or flagged or more)
        assert labels == {"non-urgent"}
    if found.reading != "read":
        assert rank(found.priority) >= rank(unread)


def test_what_is_missing_is_told(row, predicted):
    unread = Unreadable("c2", "no_payload: the message has no payload")
    assert told("not-read", unread, predicted(unread)).endswith(f"({unread.reason})")
    part = row(fhir_unread=["attachment_skipped:application/pdf", "not one of ours", 7])
    words = told("read-in-part", part, predicted(part, "medium", of=900))
    assert "attachment_skipped:application/pdf: an attachment is of a kind" in words
    assert "4 of 900 tokens" in words
    assert "not one of ours" not in words
    assert told("read", row(), predicted(row(), "medium")) == "Read by the model"
