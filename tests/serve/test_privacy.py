"""No text of a message in a log, an error, a figure, an address or the audit."""

import json
import logging

import pytest

from attending.serve.running import PlainFormatter

MARKER = "ZXQ-MARKER-7731"


@pytest.fixture
def everything(caplog):
    """Record every log line at every level, with tracebacks."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("attending.serve").setLevel(logging.DEBUG)
    yield caplog
    logging.getLogger("attending.serve").setLevel(logging.NOTSET)


def nowhere(caplog, client, answered):
    """Look for the marker in everything but the answer to a valid request."""
    own = [r for r in caplog.records if r.name.startswith("attending") or "uvicorn" in r.name]
    said = [logging.Formatter("%(name)s %(message)s").format(r) for r in own]
    assert MARKER not in "\n".join(said)
    assert said
    assert MARKER not in client.get("/metrics").text
    assert MARKER not in client.service.settings.audit_file.read_text()
    assert MARKER not in str(answered.headers)
    if answered.status_code >= 400:
        assert MARKER not in answered.text
        problem = answered.json()
        assert problem["request_id"] == answered.headers["x-request-id"]
        assert answered.headers["content-type"] == "application/problem+json"
    return answered


def test_the_requests_of_the_case(serve, case, everything):
    client = serve()
    statuses = {}
    for asked in json.loads((case("D26") / "requests.json").read_text()):
        query = f"?{asked['query']}" if "query" in asked else ""
        answered = client.post(f"/v1/predict{query}", json=asked.get("body"))
        nowhere(everything, client, answered)
        statuses[asked["name"]] = answered.status_code
    assert statuses == {
        "valid": 200, "missing_field": 422, "wrong_type": 422, "raise_inside": 422, "query": 422,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/predict", {MARKER: 1}),
        ("POST", "/v1/predict", {"documents": [{"id": f"a {MARKER}", "text": "a"}]}),
        ("POST", "/v1/predict", {"documents": [{MARKER: MARKER, "id": "1", "text": "a"}]}),
        ("POST", "/v1/predict", {"texts": [{"x": MARKER}]}),
        ("POST", "/v1/predict", {"texts": ["a"], "top_k": MARKER}),
        ("POST", "/v1/predict", MARKER),
        ("POST", "/v1/explain", {"text": MARKER, "labels": [MARKER]}),
        ("POST", "/v1/explain", {"text": MARKER, "method": MARKER}),
        ("GET", f"/v1/labels?limit={MARKER}", None),
        ("GET", f"/v1/{MARKER}", None),
        ("POST", f"/v1/fhir?release={MARKER}", {"resourceType": MARKER}),
        ("POST", "/v1/fhir", {"resourceType": "Patient", "name": MARKER}),
        ("POST", "/v1/fhir", [MARKER]),
        ("POST", "/cds-services/attending", {"prefetch": {"messages": MARKER}}),
        ("POST", "/cds-services/attending/feedback", {"feedback": [{"card": MARKER}]}),
    ],
)
def test_errors_name_fields_and_never_what_was_sent(serve, everything, method, path, body):
    client = serve()
    answered = client.request(method, path, json=body)
    assert 400 <= answered.status_code < 500
    nowhere(everything, client, answered)


@pytest.mark.parametrize("sent", [f'{{"texts": ["{MARKER}', f"{MARKER}", f'"{MARKER}"', "\x00"])
def test_broken_json(serve, everything, sent):
    client = serve()
    headers = {"Content-Type": "application/json"}
    answered = client.post("/v1/predict", content=sent.encode(), headers=headers)
    assert answered.status_code == (422 if sent[0] == '"' else 400)
    nowhere(everything, client, answered)


def test_a_fault_inside_is_named_by_kind_and_place(serve, everything, monkeypatch):
    client = serve()

    def broken(*_, **__):
        raise RuntimeError(f"could not take {MARKER}")

    monkeypatch.setattr(client.service, "shown", broken)
    answered = client.post("/v1/predict", json={"texts": [MARKER]})
    assert answered.status_code == 500
    nowhere(everything, client, answered)
    assert "unexpected RuntimeError in api.py line" in everything.text
    assert answered.json()["request_id"] in everything.text


def test_an_id_of_a_request_is_taken_only_where_it_is_an_id(serve, everything):
    client = serve()
    for given in (MARKER * 10, f"a {MARKER}", f"{MARKER}\u00e9".encode("latin-1")):
        answered = client.get("/v1/health", headers={"X-Request-ID": given})
        assert MARKER not in answered.headers["x-request-id"]


def test_every_answer_has_the_headers_that_keep_a_browser_in(serve):
    client = serve()
    for path in ("/v1/health", "/v1/docs", "/nothing", "/v1/openapi.json"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"


def test_the_log_keeps_exceptions_to_their_kind():
    try:
        raise ValueError(MARKER)
    except ValueError as error:
        found = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "two\nlines", (), found)
    assert PlainFormatter("%(message)s").format(record) == "two lines (ValueError)"
