"""CDS Hooks: discovery, what is sent along, cards."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.fhir.bounds import Bounds
from attending.errors import DataError
from attending.records import Document, Unreadable
from attending.serve.cds_hooks import card_id, cards, cds_services, prefetched
from attending.serve.identity import identity
from attending.serve.priorities import load_priorities

CALL = {"hook": "patient-view", "hookInstance": "x", "context": {"patientId": "p1"}}


@pytest.fixture
def shown(labels, maker):
    def show(pairs, **settings):
        rows, answers = zip(*pairs, strict=True)
        found = load_priorities(None, labels)
        body = cards(rows, answers, labels=labels, maker=maker, priorities=found, **settings)
        json.dumps(body, allow_nan=False)
        return body["cards"]

    return show


def test_discovery(labels, maker):
    (service,) = cds_services(maker, labels)["services"]
    assert {"hook", "id", "description", "title", "prefetch"} <= set(service)
    assert service["hook"] == "patient-view"
    assert "{{context.patientId}}" in service["prefetch"]["messages"]
    assert "tiny abc123" in service["description"]


def test_messages_sent_along_are_read(case):
    bundle = json.loads((case("D27") / "bundle.json").read_text())
    corpus = prefetched(json.dumps(CALL | {"prefetch": {"messages": bundle}}).encode())
    assert [row.id for row in corpus.rows] == ["c1", "c2", "c3", "c4", "c5", "c6"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "no JSON"), (b"[]", "no prefetch"), (b"[" * 1000, "nested"),
        (json.dumps(CALL).encode(), "no prefetch"),
        (json.dumps(CALL | {"prefetch": {"messages": None}}).encode(), "no prefetch"),
        (json.dumps(CALL | {"prefetch": {"messages": {"a": 1}}}).encode(), "not FHIR"),
        (b" " * 2000, "too large"),
    ],
)  # fmt: skip
def test_a_call_without_messages_is_refused(body, words):
    with pytest.raises(DataError, match=words):
        prefetched(body, Bounds(bytes=1500))


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(st.sampled_from(["prefetch", "messages", "resourceType", "entry"]), x)
        ),
    )
)
def test_any_call_is_answered_or_refused(body):
    try:
        prefetched(json.dumps(body).encode())
    except DataError as error:
        assert "\n" not in str(error)


def test_cards_come_by_priority_and_then_by_age(row, predicted, shown, maker):
    rows = [
        row("calm", sent_utc="2024-01-01T00:00:00Z"),
        row("new", sent_utc="2024-01-03T00:00:00Z", sent="2024-01-03T01:00:00+01:00"),
        row("old", sent_utc="2024-01-02T00:00:00Z"),
        row("unknown"),
        row("worst", sent_utc="2024-01-04T00:00:00Z"),
        Unreadable("lost", "no_payload"),
    ]
    answers = ["non-urgent", "medium", "medium", "medium", "urgent", None]
    found = shown([(r, predicted(r, x)) for r, x in zip(rows, answers, strict=True)], most=9)
    assert [c["indicator"] for c in found] == ["critical", *["warning"] * 4]
    order = [4, 5, 3, 2, 1]
    assert [c["uuid"] for c in found] == [card_id(maker, identity(rows[i])) for i in order]
    assert "2024-01-03T01:00:00+01:00" in found[-1]["summary"]
    assert "for a person to read" in found[1]["summary"]


def test_a_card_quotes_as_plain_text_and_never_in_its_summary(row, predicted, shown):
    text = "<script>x</script> [a](javascript:b) **pain**\nnow " + "long " * 40
    d = row(text=text)
    (card,) = shown([(d, predicted(d, "urgent", evidence=[(0, len(text))]))])
    assert "script" not in card["summary"]
    assert "<script>" not in card["detail"]
    assert r"\<script\>" in card["detail"]
    assert r"\[a\]\(javascript:b\)" in card["detail"]
    assert max(map(len, card["detail"].split("\n"))) < 200
    assert "Not a medical device" in card["detail"]
    assert card["summary"].startswith("urgent (90%)")
    assert [r["code"] for r in card["overrideReasons"]] == ["non-urgent", "medium"]


def test_other_messages_of_the_same_id_have_other_cards(predicted, shown):
    monday, tuesday = Document("row-1", "chest pain"), Document("row-1", "bleeding")
    rows = (monday, tuesday, monday, Unreadable("row-1", "no_payload"))
    found = [shown([(r, predicted(r, "urgent"))])[0]["uuid"] for r in rows]
    assert found[0] == found[2]
    assert len(set(found)) == 3


def test_few_cards_and_how_many_more(row, predicted, shown):
    rows = [row(f"c{i}") for i in range(9)]
    found = shown([(r, predicted(r, "urgent")) for r in rows], most=3)
    assert len(found) == 4
    assert found[-1]["summary"].startswith("6 more messages")
    assert found[-1]["indicator"] == "critical"
    assert all(len(c["summary"]) <= 140 for c in found)


def test_nothing_that_should_not_wait_gives_no_card(row, predicted, shown):
    assert shown([(row(), predicted(row(), "non-urgent"))]) == []
