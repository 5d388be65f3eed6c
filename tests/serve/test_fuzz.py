"""Whatever is sent, the service answers, and never with a fault of its own."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FREE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
NAMES = ["texts", "documents", "id", "text", "evidence", "top_k", "labels", "method", "feedback",
         "card", "outcome", "overrideReason", "reason", "code", "prefetch", "messages",
         "resourceType", "payload", "contentString", "entry", "resource"]  # fmt: skip
WORDS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["Communication", "Bundle", "urgent", "\ud800", "\x00", "a" * 3000, "weights"]),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.just(10**400),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(NAMES), WORDS), inner, max_size=5),
    ),
    max_leaves=20,
)
PATHS = ["/v1/predict", "/v1/explain", "/v1/fhir", "/cds-services/attending",
         "/cds-services/attending/feedback"]  # fmt: skip
CALM = range(200, 500)


def answers(client, method, path, content=b"", headers=None):
    given = {"Content-Type": "application/json"} | (headers or {})
    answered = client.request(method, path, content=content, headers=given)
    assert answered.status_code in CALM, (method, path, answered.status_code)
    return answered


def test_any_json(serve):
    client = serve(audit=False)

    @given(path=st.sampled_from(PATHS), body=VALUES)
    @settings(max_examples=150, suppress_health_check=FREE)
    def attempt(path, body):
        answers(client, "POST", path, json.dumps(body).encode())

    attempt()


def test_any_bytes_methods_and_headers(serve):
    client = serve(audit=False)
    header = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)

    @given(
        path=st.sampled_from([*PATHS, "/v1/labels", "/v1/model", "/v1/docs", "/v1/none"]),
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "X"]),
        body=st.binary(max_size=200),
        kind=header,
        value=header,
    )
    @settings(max_examples=100, suppress_health_check=FREE)
    def attempt(path, method, body, kind, value):
        more = {"Content-Type": kind, "X-Request-ID": value, "Accept": value}
        answers(client, method, path, body, more)

    attempt()


def test_any_text_is_answered(serve):
    client = serve(audit=False)

    @given(texts=st.lists(st.one_of(st.none(), st.text(max_size=200)), min_size=1, max_size=5))
    @settings(max_examples=60, suppress_health_check=FREE)
    def attempt(texts):
        body = json.dumps({"texts": texts, "evidence": True}).encode()
        answered = answers(client, "POST", "/v1/predict", body)
        assert answered.status_code == 200
        rows = answered.json()["predictions"]
        assert len(rows) == len(texts)
        assert all(bool(row["labels"]) == (row["status"] == "ok") for row in rows)

    attempt()


def test_any_addresses(serve):
    client = serve(audit=False)

    @given(
        query=st.text(max_size=30),
        path=st.sampled_from(["/v1/labels", "/v1/fhir", "/v1/messages/1/correction"]),
        number=st.one_of(st.integers(), st.text(max_size=8)),
    )
    @settings(max_examples=60, suppress_health_check=FREE)
    def attempt(query, path, number):
        at = {"offset": number, "limit": number, "release": query, query or "q": query}
        answered = client.get(path, params={k: str(v) for k, v in at.items()})
        assert answered.status_code in CALM

    attempt()


@pytest.mark.slow
def test_schemathesis_finds_no_fault_and_no_answer_that_is_not_described(serve, settings):
    schemathesis = pytest.importorskip("schemathesis")
    from attending.serve.store import Store

    chosen = settings_of_store(settings)
    store = Store(chosen.database_url)
    client = serve(store=store, inbox=True)
    client.post("/v1/predict", json={"texts": ["a"]})
    schema = schemathesis.openapi.from_dict(client.app.openapi())
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings_for_schema
        def attempt(case):
            nonlocal tried
            tried += 1
            answered = client.request(**request_of(case))
            assert answered.status_code in CALM, (case.method, case.path)

        attempt()
    store.close()
    assert tried > 300


settings_for_schema = settings(
    max_examples=60, suppress_health_check=[*FREE, HealthCheck.filter_too_much]
)


def settings_of_store(make):
    chosen = make()
    chosen.data.mkdir(parents=True, exist_ok=True)
    return chosen


def request_of(case):
    """Return a generated case as the client takes it."""
    made = {"method": case.method, "url": case.formatted_path, "params": case.query}
    headers = {k: v for k, v in (case.headers or {}).items() if v.isascii()}
    if isinstance(case.body, dict | list | str | int | float | bool) or case.body is None:
        made["content"] = json.dumps(case.body).encode()
    return made | {"headers": headers | {"Content-Type": case.media_type or "application/json"}}
