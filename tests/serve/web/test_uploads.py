"""Files that people upload: every kind, and every way to go wrong."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attending.errors import AttendingError
from attending.serve.web.uploads import read_upload

FHIR = {
    "resourceType": "Bundle", "type": "collection",
    "entry": [
        {"resource": {"resourceType": "Communication", "id": "c1", "status": "completed",
                      "subject": {"reference": "Patient/7"}, "sent": "2026-03-01T08:00:00Z",
                      "payload": [{"contentString": "chest pain since noon"}]}},
        {"resource": {"resourceType": "Communication", "id": "c2", "status": "completed"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "name, body",
    [
        ("a.csv", "text\nchest pain\n"),
        ("a.tsv", "id\ttext\n1\tchest pain\n"),
        ("a.jsonl", '{"message": "chest pain", "priority": "medium"}\n'),
        ("C:\\Users\\ana\\A B.CSV", "text\nchest pain\n"),
        ("../../etc/x.csv", "text\nchest pain\n"),
    ],
)
def test_kinds(client, upload, listed, name, body):
    assert "1 new message" in upload(body, name).text
    assert len(listed(client.get("/inbox"))) == 1


@pytest.mark.parametrize("name", ["b.json", "b.ndjson"])
def test_fhir(client, upload, listed, name):
    resources = [e["resource"] for e in FHIR["entry"]]
    lines = "\n".join(json.dumps(r) for r in resources)
    done = upload(json.dumps(FHIR) if name.endswith(".json") else lines, name)
    assert "2 new messages" in done.text
    assert "1 could not be read" in done.text
    page = client.get("/inbox")
    assert len(listed(page)) == 2
    assert "Patient/7" in page.text
    assert "Communication/c1" in client.get(f"/inbox/messages/{listed(page)[-1]}").text


def test_labels_of_the_file_sway_nobody(upload):
    done = upload("text,label\nchest pain,urgent\n")
    assert "they are not shown" in done.text


@pytest.mark.parametrize(
    "name, body, said",
    [
        ("a.xlsx", b"PK\x03\x04", "can&#39;t be uploaded"),
        ("noending", b"x", "no ending"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"  \n\n", "empty"),
        ("a.csv", b"one,two\n1,2\n", "text"),
        ("a.csv", b"text\ncaf\xe9 zebrafish\n", "can&#39;t be read"),
        ("a.jsonl", b"[1, 2]", "array"),
        ("a.json", b"{", "a.json"),
        ("a.json", b"[" * 100_000, "a.json"),
    ],
)
def test_files_that_can_not_be_read(client, upload, listed, name, body, said):
    page = upload(body, name)
    assert page.status_code == 422
    assert "Nothing was kept." in page.text
    assert said in page.text
    assert "zebrafish" not in page.text
    assert "attending-upload-" not in page.text
    assert " --" not in page.text.split("Nothing was kept.")[1].split("</p>")[0]
    assert listed(client.get("/inbox")) == []


def test_a_form_without_a_file(client):
    assert client.post("/inbox/upload", data={"x": "y"}).status_code == 422
    assert client.post("/inbox/upload", data={"file": "not a file"}).status_code == 422


def test_a_file_that_is_too_large(serve, store):
    client = serve(store=store, upload_bytes=2000)
    sent = client.post("/inbox/upload", files={"file": ("a.csv", b"text\n" + b"x\n" * 2000)})
    assert sent.status_code == 413


def test_too_many_rows(upload, monkeypatch):
    monkeypatch.setattr("attending.serve.web.uploads.MOST_ROWS", 3)
    page = upload("text\n" + "chest pain\n" * 4)
    assert page.status_code == 422
    assert "too many messages" in page.text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=300), st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a.json", "a.ndjson"])
)
def test_any_bytes_are_read_or_refused_in_one_line(body, name):
    try:
        corpus = read_upload(body, name)
    except AttendingError as error:
        assert "\n" not in str(error)
        return
    assert corpus.rows


def test_a_fhir_file_uploaded_again_doubles_nothing(case, client, upload, listed):
    body = (case("D27") / "bundle.json").read_bytes()
    upload(body, "bundle.json")
    before = listed(client.get("/inbox"))
    assert len(before) == 6
    again = upload(body, "bundle.json")
    assert "6 were there already" in again.text
    assert listed(client.get("/inbox")) == before


def test_an_unreadable_message_that_changed_is_another_one(client, upload, listed):
    def sent(at):
        message = {"resourceType": "Communication", "id": "m", "status": "completed", "sent": at}
        upload(json.dumps(message), "m.json")
        return len(listed(client.get("/inbox")))

    assert sent("2024-03-11T07:30:00Z") == sent("2024-03-11T07:30:00Z") == 1
    assert sent("2024-03-12T07:30:00Z") == 2
