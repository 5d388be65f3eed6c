"""The routes: what is asked and what is answered."""

import json
import re
import threading

import pytest

from attending.models.store import load_model
from attending.records import Document
from attending.serve.audit import entries, verify

TEXT = "chest pain and trouble breathing"


def test_texts_are_answered_in_order_as_by_the_model(serve, model_folder, messages):
    client = serve()
    texts = [m.text for m in messages[:10]]
    answered = client.post("/v1/predict", json={"texts": texts})
    assert answered.status_code == 200
    wanted = load_model(model_folder).predict([Document(str(i), t) for i, t in enumerate(texts)])
    for i, (row, p) in enumerate(zip(answered.json()["predictions"], wanted, strict=True), 1):
        assert row["id"] == f"row-{i}"
        assert tuple(row["labels"]) == p.labels
        assert row["scores"] == pytest.approx(p.scores, abs=1e-6)
        assert list(row["scores"].values()) == sorted(row["scores"].values(), reverse=True)
    assert answered.json()["model"]["name"] == "tfidf-logistic"
    assert answered.json()["request_id"] == answered.headers["x-request-id"]


def test_documents_keep_their_ids_and_get_evidence(serve):
    client = serve()
    text = "\U0001f600 " + TEXT
    body = {"documents": [{"id": "msg-17", "text": text}], "evidence": True, "top_k": 1}
    (row,) = client.post("/v1/predict", json=body).json()["predictions"]
    assert row["id"] == "msg-17"
    assert len(row["scores"]) == 1
    assert row["evidence"]
    for item in row["evidence"]:
        assert text[item["start"] : item["end"]] == item["words"]


def test_what_nobody_can_read_is_never_routine(serve, case):
    client = serve(text_chars=50)
    texts = json.loads((case("D18") / "batch.json").read_text())
    texts += ["x" * 51, None, " \u200b\n"]
    found = client.post("/v1/predict", json={"texts": texts}).json()["predictions"]
    assert len(found) == len(texts)
    assert {p["status"] for p in found[-3:]} == {"too_long", "empty_text"}
    for row in found:
        if row["status"] != "ok":
            assert (row["labels"], row["scores"], row["priority"]) == ([], {}, "asap")
            assert row["reason"]


def test_labels_have_their_priority(serve):
    client = serve()
    found = client.get("/v1/labels").json()
    assert {x["id"]: x["priority"] for x in found["labels"]} == {
        "non-urgent": "routine", "medium": "urgent", "urgent": "stat",
    }  # fmt: skip
    assert (found["name"], found["ordered"], found["count"]) == ("urgency", True, 3)
    some = client.get("/v1/labels", params={"offset": 1, "limit": 1}).json()
    assert [x["id"] for x in some["labels"]] == ["medium"]


def test_one_text_is_explained(serve):
    client = serve()
    found = client.post("/v1/explain", json={"text": TEXT, "labels": ["urgent"]}).json()
    assert found["method"] == "weights"
    assert "Read the whole message" in found["caution"]
    assert {e["label"] for e in found["prediction"]["evidence"]} == {"urgent"}
    for body in ({"text": TEXT, "labels": ["nothing"]}, {"text": TEXT, "method": "magic"}):
        assert client.post("/v1/explain", json=body).status_code == 422


def test_the_model_says_what_it_is(serve):
    client = serve(texts=3)
    found = client.get("/v1/model").json()
    assert found["labels"] == 3
    assert found["limits"]["texts"] == 3
    assert found["decision"]["kind"] == "argmax"
    assert "macro_f1" in found["metrics"]
    assert "Not a medical device" in found["notice"]
    assert client.get("/v1/model/card").text.startswith("# tfidf-logistic")
    assert client.post("/v1/predict", json={"texts": ["a"] * 4}).status_code == 413


def test_health_and_readiness_while_the_model_is_loaded_and_at_the_stop(serve, model_folder):
    free = threading.Event()

    def load(folder):
        assert free.wait(5)
        return load_model(folder)

    client = serve(load=load)
    assert client.get("/v1/health").json() == {"status": "alive", "model": "loading"}
    waiting = client.get("/v1/ready")
    assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "5")
    assert client.get("/v1/model").status_code == 503
    free.set()
    assert client.post("/v1/predict", json={"texts": ["a"]}).status_code == 200
    assert client.get("/v1/ready").json() == {"status": "ready", "model": "ready"}
    client.service.stopping = True
    assert client.get("/v1/ready").json()["status"] == "stopping"


def test_a_full_queue_answers_503_and_when_to_come_again(serve, model_folder):
    free = threading.Event()

    def load(folder):
        assert free.wait(5)
        return load_model(folder)

    client = serve(load=load, queue=2, texts=2)
    answers = []
    asking = [
        threading.Thread(
            target=lambda: answers.append(client.post("/v1/predict", json={"texts": ["a", "b"]}))
        )
        for _ in range(6)
    ]
    for thread in asking:
        thread.start()
    while sum(a.status_code == 503 for a in list(answers)) < 5:
        assert any(t.is_alive() for t in asking)
    free.set()
    for thread in asking:
        thread.join(5)
    assert sorted(a.status_code for a in answers) == [200, *[503] * 5]
    refused = next(a for a in answers if a.status_code == 503)
    assert int(refused.headers["retry-after"]) >= 1
    assert "attending_refused_total 5.0" in client.get("/metrics").text


def test_figures_for_prometheus_name_routes_and_labels_only(serve):
    client = serve()
    client.post("/v1/predict", json={"texts": [TEXT, ""]})
    client.get("/secret/path")
    page = client.get("/v1/metrics").text
    assert 'attending_documents_total{status="ok"} 1.0' in page
    assert 'attending_documents_total{status="empty_text"} 1.0' in page
    assert 'attending_requests_total{method="POST",route="/v1/predict",status="200"} 1.0' in page
    assert 'route="unmatched"' in page
    assert "secret" not in page
    assert re.search(r'attending_model_info\{name="tfidf-logistic",version="\w{12}"\} 1\.0', page)
    assert page == client.get("/metrics").text or "attending_ready 1.0" in page


def test_the_audit_has_ids_and_request_of_every_answer(serve, tmp_path):
    client = serve()
    body = {"documents": [{"id": "m1", "text": TEXT}]}
    answered = client.post("/v1/predict", json=body, headers={"X-Request-ID": "call-1"})
    assert answered.headers["x-request-id"] == "call-1"
    client.post("/v1/explain", json={"text": TEXT, "id": "m2"})
    client.post("/v1/predict", json={"texts": [TEXT, TEXT]})
    lines = list(entries(client.service.settings.audit_file))
    assert [(x["action"], x["who"], x["ids"], x["texts"]) for x in lines] == [
        ("score", "local", ["m1"], 1), ("explain", "local", ["m2"], 1), ("score", "local", [], 2),
    ]  # fmt: skip
    assert lines[0]["request"] == "call-1"
    assert lines[0]["model"].startswith("tfidf-logistic ")
    assert verify(client.service.settings.audit_file).lines == 3


def test_without_a_line_in_the_audit_there_is_no_answer(serve, monkeypatch):
    client = serve()

    def full(file, line):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attending.serve.audit.os.write", full)
    answered = client.post("/v1/predict", json={"texts": [TEXT]})
    assert answered.status_code == 503
    assert "predictions" not in answered.json()
    assert str(client.service.settings.data) not in answered.text


def test_openapi_shows_examples_that_work_and_problems(serve):
    client = serve()
    schema = client.get("/v1/openapi.json").json()
    tried = 0
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"]
            assert operation["description"]
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                examples = schema["components"]["schemas"].get(name, {}).get("examples", [])
                for example in [*examples, *filter(None, [content.get("example")])]:
                    answered = client.request(
                        method, path, content=json.dumps(example), headers={"content-type": media}
                    )
                    assert answered.status_code == 200, (path, answered.text)
                    tried += 1
    assert tried >= 6
    assert "Problem" in schema["components"]["schemas"]
    assert "HTTPValidationError" not in json.dumps(schema)


def test_the_page_of_the_api_needs_no_script_and_no_network(serve):
    client = serve()
    page = client.get("/v1/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/predict" in page.text
    assert "<script" not in page.text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    assert not re.findall(r"\sstyle=|\son\w+=", page.text)
    assert client.get("/v1/docs.css").headers["content-type"].startswith("text/css")


def test_messages_go_into_the_inbox_and_are_corrected(serve, settings):
    from attending.serve.store import Store

    chosen = settings()
    chosen.data.mkdir()
    store = Store(chosen.database_url)
    client = serve(store=store, inbox=True)
    answered = client.post("/v1/messages", json={"documents": [{"id": "m1", "text": TEXT}]})
    assert answered.status_code == 201
    (number,) = answered.json()["messages"]
    assert store.message(number).row.text == TEXT
    at = f"/v1/messages/{number}/correction"
    assert client.post(at, json={"labels": ["medium"], "note": "n"}).json() == {
        "message": number, "labels": ["medium"], "reviewer": "local",
    }  # fmt: skip
    assert client.post(at, json={"labels": []}).status_code == 422
    assert client.post(at, json={"labels": ["nothing"]}).status_code == 422
    lost = client.post("/v1/messages/9999/correction", json={"labels": ["urgent"]})
    assert lost.status_code == 404
    (row,) = store.corrections()
    assert (row.document.text, row.change.labels, row.change.note) == (TEXT, ("medium",), "n")
    store.close()


def test_without_an_inbox_there_are_no_routes_of_it(serve):
    client = serve()
    assert client.post("/v1/messages", json={}).status_code == 404
    assert "/v1/messages" not in client.get("/v1/openapi.json").text


def test_a_body_without_its_content_type_is_told_what_is_missing(serve):
    client = serve()
    body = json.dumps({"texts": ["a"]})
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answered = client.post("/v1/predict", content=body, headers=headers)
        if answered.status_code != 200:
            (fault,) = answered.json()["faults"]
            assert fault["reason"] == "send JSON, with Content-Type: application/json"
    assert answered.status_code == 422
    assert client.post("/v1/predict").json()["faults"][0]["field"] == "body"


def test_the_bare_address_leads_somewhere(serve):
    answered = serve().get("/", follow_redirects=False)
    assert (answered.status_code, answered.headers["location"]) == (307, "v1/docs")
