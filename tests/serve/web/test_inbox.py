"""The pages without a browser and without scripts: plain links and forms."""

import re
import time
from datetime import UTC, datetime

import pytest
from sqlalchemy.exc import DataError

from attending.records import Coverage, Document, Prediction
from attending.serve.audit import Audit, entries
from attending.serve.store import Store
from attending.serve.web.wording import clock


def titles(page):
    return re.findall(r'<span class="who" dir="auto">(.*?)</span>', page.text)


def shown_label(page):
    return re.search(r'<span class="chip big \w+">(.*?)</span>', page.text)[1]


def test_an_empty_inbox_says_what_to_do(client):
    page = client.get("/inbox")
    assert page.status_code == 200
    assert "No open messages" in page.text
    assert "/inbox/upload" in page.text


def test_an_upload_is_sorted_and_nothing_is_dropped(client, upload, listed):
    done = upload()
    assert done.status_code == 200
    assert "5 new messages" in done.text
    assert "2 could not be read" in done.text
    assert "morning.csv line 6: 5 cells, expected 4" in done.text
    page = client.get("/inbox")
    groups = re.findall(r'<section class="group (\w+)"', page.text)
    assert groups[0] == "person"
    first = page.text.split('<section class="group')[1]
    assert "Patient/3" in first
    assert "m5" in first or "row-5" in first
    assert len(listed(page)) == 5
    assert listed(client.get("/inbox?person=1")) == listed(page)[:2]


def test_what_is_uploaded_again_is_not_doubled(client, upload, listed):
    upload()
    again = upload()
    assert "3 were there already" in again.text or "4 were there already" in again.text
    assert len(listed(client.get("/inbox"))) <= 6


def test_urgency_then_age(client, store, listed):
    rows = [Document(x, x) for x in ("a", "b", "c")]
    said = [
        Prediction(r.id, "ok", (label,), {label: 0.81}, read=Coverage(1, 1, 1))
        for r, label in zip(rows, ("non-urgent", "urgent", "medium"), strict=True)
    ]
    a, b, c = store.add_messages(rows, said, "test")
    page = client.get("/inbox")
    assert listed(page) == [b, c, a]
    assert page.text.count("fairly sure, 81 %") == 3
    assert listed(client.get("/inbox?label=medium")) == [c]
    assert listed(client.get("/inbox?unsure=1")) == []


@pytest.fixture
def west(monkeypatch):
    """Be in a zone west of UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_date_that_means_none_takes_no_page_away(west, client, upload, listed):
    upload("id,text,date\nm1,refill please,0001-01-01T00:00:00Z\nm2,refill,2020-01-01T00:00:00Z\n")
    page = client.get("/inbox")
    assert page.status_code == 200
    assert listed(page) == [2, 1]
    assert client.get("/inbox/messages/1").status_code == 200
    assert clock(datetime(1, 1, 1, tzinfo=UTC)).endswith("1-01-01 00:00")


def test_text_with_markup_shows_as_text(client, upload, listed):
    upload()
    for number in listed(client.get("/inbox")):
        page = client.get(f"/inbox/messages/{number}")
        assert "<script>alert" not in page.text
        assert "<b>" not in page.text
    assert "&lt;" in client.get("/inbox").text
    assert "<script>alert" not in client.get("/inbox").text


def test_no_page_runs_or_styles_inline(client, upload, listed):
    upload()
    number = listed(client.get("/inbox"))[-1]
    for path in ("", f"/messages/{number}", "/upload", "/model", "/messages/999", "/model?floor=x"):
        page = client.get(f"/inbox{path}")
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", page.text), path
        for address in re.findall(r'(?:src|href|action)="([^"]+)"', page.text):
            assert address.startswith(("/inbox", "#")), address


def test_a_message_shows_its_evidence_and_every_label(client, upload, listed):
    upload()
    page = client.get(f"/inbox/messages/{listed(client.get('/inbox?label=urgent'))[0]}")
    assert page.status_code == 200
    assert "<mark>" in page.text
    for label in ("urgent", "medium", "non-urgent"):
        assert re.search(rf"Evidence for {label}:|No word speaks for {label}\.", page.text)
        assert re.search(rf'value="{label}" class="choice', page.text)
    assert "Not a medical device" in page.text
    assert re.search(r"(very|fairly) sure, |unsure, |a guess, ", page.text)


def test_a_correction_by_plain_forms(client, upload, listed, store):
    upload()
    number = listed(client.get("/inbox"))[-1]
    address = f"/inbox/messages/{number}"
    sent = {"label": "urgent", "note": "worse than it sounds"}
    page = client.post(f"{address}/label?state=all&unsure=1", data=sent)
    assert page.status_code == 200
    assert page.url.path == address
    assert "state=all" in str(page.url)
    assert "unsure=1" in str(page.url)
    assert "Label saved: urgent." in page.text
    assert shown_label(page) == "urgent"
    assert "worse than it sounds" in page.text
    (row,) = store.corrections()
    assert (row.change.labels, row.change.reviewer) == (("urgent",), "local")
    page = client.post(f"{address}/undo")
    assert "Taken back" in page.text
    assert store.corrections() == []
    assert "There is nothing to undo" in client.post(f"{address}/undo").text


def test_done_takes_a_message_off_the_list(client, upload, listed):
    upload()
    number = listed(client.get("/inbox"))[-1]
    client.post(f"/inbox/messages/{number}/done")
    assert number not in listed(client.get("/inbox"))
    assert listed(client.get("/inbox?state=done")) == [number]
    client.post(f"/inbox/messages/{number}/undo")
    assert number in listed(client.get("/inbox"))


@pytest.mark.parametrize("given", ["", "nonsense", "urgent\0", "Urgent"])
def test_labels_that_do_not_exist_are_refused(client, upload, listed, store, given):
    upload()
    number = listed(client.get("/inbox"))[-1]
    page = client.post(f"/inbox/messages/{number}/label", data={"label": given})
    assert page.status_code == 422
    assert "That could not be done" in page.text
    assert "nonsense" not in page.text
    assert store.corrections() == []


@pytest.mark.parametrize("path", ["999", "0", "-1", "x", "9" * 40, "1%00", "\u0663"])
@pytest.mark.parametrize("verb", ["", "/label", "/done", "/undo"])
def test_messages_that_are_not_there(client, path, verb):
    data = {"label": "urgent"}
    address = f"/inbox/messages/{path}{verb}"
    page = client.post(address, data=data) if verb else client.get(address)
    assert page.status_code == 404


@pytest.mark.parametrize(
    "asked",
    ["page=0", "page=-3", "page=99999999999", "page=x", "state=x", "label=%00", "label=nope",
     "person=7", "unsure=%F0", "did=correct", "did=%7B0.__class__%7D", "page=1&page=2"],
)  # fmt: skip
def test_addresses_that_make_no_sense(client, upload, listed, asked):
    upload()
    number = listed(client.get("/inbox"))[-1]
    assert client.get(f"/inbox?{asked}").status_code == 200
    assert client.get(f"/inbox/messages/{number}?{asked}").status_code == 200


def test_a_search_is_in_no_address(client, upload):
    upload()
    page = client.post("/inbox/search", data={"q": "chest breath"})
    assert titles(page) == ["Patient/2"]
    assert "chest" not in str(page.url)
    for address in re.findall(r'(?:href|action)="([^"]+)"', page.text):
        assert "chest" not in address
    assert "No message matches" in client.post("/inbox/search", data={"q": "zzz<b>"}).text
    assert titles(client.post("/inbox/search", data={"q": "patient/1"})) == ["Patient/1"]


def test_pages_of_a_long_list(client, store, listed):
    rows = [Document(f"r{i}", f"text {i}") for i in range(120)]
    said = [Prediction(r.id, "ok", ("medium",), {"medium": 0.5}) for r in rows]
    ids = store.add_messages(rows, said, "test")
    found = []
    for number in (1, 2, 3):
        page = client.get(f"/inbox?page={number}")
        found += listed(page)
        assert f"Page {number} of 3" in page.text
        assert ">120</span>" in page.text
    assert found == ids
    searched = client.post("/inbox/search?page=2", data={"q": "text"})
    assert len(listed(searched)) == 50
    assert 'name="q" value="text"' in searched.text


def test_a_stranger_sees_and_changes_nothing(serve, store, tmp_path):
    from attending.serve.keys import Keys

    secret = Keys(tmp_path / "keys.json").add("ana")
    client = serve(store=store, keys=tmp_path / "keys.json")
    (number,) = store.add_messages(
        [Document("a", "text")], [Prediction("a", "ok", ("medium",), {"medium": 0.9})], "x"
    )
    sent = {"label": "urgent"}
    address = f"/inbox/messages/{number}"
    assert client.get("/inbox").status_code == 401
    assert client.post(f"{address}/label", data=sent).status_code == 401
    known = {"Authorization": f"Bearer {secret}"}
    assert client.get(address, headers=known).status_code == 200
    client.post(f"{address}/label", data=sent, headers=known)
    assert store.corrections()[0].change.reviewer == "ana"
    foreign = known | {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
    assert client.post(f"{address}/label", data=sent, headers=foreign).status_code == 403


def test_forms_come_back_with_an_origin(client):
    # Under "no-referrer" a browser sends forms with the origin "null", which is refused.
    assert client.get("/inbox").headers["referrer-policy"] == "same-origin"


def test_the_audit_knows_who_read_and_corrected(serve, tmp_path):
    from attending.serve.audit import Audit

    audit = Audit(tmp_path / "audit.jsonl")
    store = Store(str(tmp_path / "i.sqlite"), audit)
    client = serve(store=store, audit=False)
    text = "zebrafish in my chest"
    client.post("/inbox/upload", files={"file": ("a.jsonl", f'{{"text": "{text}"}}\n'.encode())})
    client.post("/inbox/search", data={"q": "zebrafish"})
    client.get("/inbox/messages/1")
    client.post("/inbox/messages/1/label", data={"label": "urgent"})
    audit.close()
    store.close()
    lines = list(entries(tmp_path / "audit.jsonl"))
    assert [x["action"] for x in lines if x["action"] != "list"][:3] == [
        "upload",
        "read",
        "correct",
    ]
    assert all(x["who"] == "local" for x in lines)
    assert "zebrafish" not in (tmp_path / "audit.jsonl").read_text()


def test_while_the_model_is_loading_a_page_says_so(model_folder, settings, store):
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    from attending.serve.predictor import Predictor
    from attending.serve.web import create_inbox

    app = FastAPI()
    app.include_router(create_inbox(Predictor(model_folder), store, settings()))
    page = TestClient(app).get("/inbox")
    assert page.status_code == 503
    assert "One moment" in page.text


def test_files_of_the_pages(client):
    for name in ("inbox.css", "inbox.js", "icon.svg"):
        found = client.get(f"/inbox/static/{name}")
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
        assert "http" not in found.text.replace("http://www.w3.org/2000/svg", "")
    for name in ("../routes.py", "%2e%2e%2froutes.py", "x", "inbox.css.map"):
        assert client.get(f"/inbox/static/{name}").status_code == 404


def test_a_lost_database_is_said_and_what_needs_none_goes_on(client, store, tmp_path, caplog):
    text = "chest pain of a lost message"
    body = {"documents": [{"id": "m1", "text": text}]}
    assert client.post("/v1/messages", json=body).status_code == 201
    store.close()
    for file in tmp_path.glob("inbox.sqlite*"):
        file.write_bytes(b"no database any more" * 300)
    body["documents"][0]["id"] = "m2"
    for answered in (client.post("/v1/messages", json=body), client.get("/inbox")):
        assert answered.status_code == 503
        assert answered.headers["Retry-After"] == "30"
        assert "database does not answer" in answered.json()["detail"]
        assert text not in answered.text
    assert text not in caplog.text and "DatabaseError" in caplog.text
    assert client.post("/v1/predict", json={"texts": [text]}).status_code == 200


def test_what_a_database_refuses_for_good_is_no_passing_fault(serve, store, monkeypatch, caplog):
    text = "chest pain of a refused message"

    def refuse(*_, **__):
        raise DataError("INSERT", {"text": text}, ValueError(text))

    monkeypatch.setattr(store, "add_messages", refuse)
    client = serve(store=store)
    body = {"documents": [{"id": "m1", "text": text}]}
    answered = client.post("/v1/messages", json=body)
    assert answered.status_code == 500
    assert text not in answered.text and text not in caplog.text


def test_without_an_audit_there_is_no_page_and_no_path(serve, tmp_path, caplog):
    kept = Audit(tmp_path / "audit.jsonl")
    store = Store(str(tmp_path / "inbox.sqlite"), kept)
    client = serve(store=store)
    row = Document("a", "chest pain")
    store.add_messages([row], [Prediction("a", "ok", ("urgent",), {"urgent": 0.9})], "test")
    kept.close()
    for answered in (client.get("/inbox"), client.post("/inbox/messages/1/done")):
        assert answered.status_code == 503
        assert "the audit can&#39;t be written" in answered.text
        assert str(tmp_path) not in answered.text and "audit.jsonl" not in answered.text
        assert "http-equiv" not in answered.text
    store.close()
