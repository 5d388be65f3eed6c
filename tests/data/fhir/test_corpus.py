"""FHIR read into a corpus: payloads, releases, bounds, times."""

import base64
import gzip
import json
from datetime import UTC

import pytest

from attending.data.corpora import load_corpus
from attending.data.fhir.bounds import Bounds
from attending.data.fhir.corpus import read_fhir
from attending.data.fhir.messages import UnreadMessage
from attending.data.fhir.parts import REASONS
from attending.errors import DataError
from attending.records import Document, Unreadable

MARKER = "ZXQ-MARKER-7731"


def message(id_="c1", *payloads, **more):
    body = {"resourceType": "Communication", "id": id_, "status": "completed", **more}
    return body | ({"payload": list(payloads)} if payloads else {})


def bundle(*resources):
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": r} for r in resources],
    }


def attached(text, kind="text/plain", **more):
    data = base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()
    return {"contentAttachment": {"contentType": kind, "data": data, **more}}


def read(resource, **settings):
    return read_fhir(json.dumps(resource).encode(), **settings)


def only(*payloads, **more):
    (row,) = read(message("c1", *payloads, **more)).rows
    return row


def test_every_kind_of_payload(case):
    folder = case("D27")
    expected = json.loads((folder / "expected.json").read_text())["values"]
    corpus = read_fhir(folder / "bundle.json")
    texts = {row.id: getattr(row, "text", None) for row in corpus.rows}
    assert texts == expected["texts"]
    assert list(texts) == ["c1", "c2", "c3", "c4", "c5", "c6"]
    flags = {row.id: row.attributes.get("fhir_unread", []) for row in corpus.rows}
    assert {k: v for k, v in flags.items() if v} == {k: [v] for k, v in expected["flags"].items()}
    assert len(corpus.rows) == expected["n_messages"]
    assert "1 other resource left out (Patient: 1)" in corpus.notes[0]
    assert [row.source.line for row in corpus.rows][:2] == [5, 17]


def test_times_are_instants_and_never_the_computers_zone(case, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    folder = case("D28")
    expected = json.loads((folder / "expected.json").read_text())["values"]
    corpus = read_fhir(folder / "bundle.json")
    zoned = sorted((d for d in corpus if d.when), key=lambda d: d.when)
    assert [d.id for d in zoned] == expected["order_of_zoned"]
    assert {d.id: d.attributes["sent_utc"] for d in zoned} == expected["utc"]
    assert all(d.when.tzinfo is UTC for d in zoned)
    flagged = [d.id for d in corpus if d.attributes.get("sent_remark") == "no_timezone"]
    assert flagged == expected["flagged"]
    written = json.loads((folder / "bundle.json").read_text())
    sent = [e["resource"]["sent"] for e in written["entry"]]
    assert [d.attributes["sent"] for d in corpus] == sent
    with pytest.raises(DataError, match="no_timezone"):
        read_fhir(folder / "bundle.json", strict=True)
    assumed = read_fhir(folder / "bundle.json", zone="America/Los_Angeles")
    (m3,) = [d for d in assumed if d.id == "m3"]
    assert m3.attributes["sent_utc"] == "2024-03-11T14:45:00Z"
    assert any("taken as America/Los_Angeles" in note for note in assumed.notes)


def test_r4_and_r5_say_the_same():
    r4 = only({"contentString": "a"}, reasonCode=[{"coding": [{"code": "x1"}]}])
    r5 = only(
        {"contentCodeableConcept": {"text": "a"}},
        reason=[{"concept": {"coding": [{"code": "x1"}]}}],
    )
    assert r4.text == r5.text == "a"
    assert r4.attributes["reason"] == r5.attributes["reason"] == ["x1"]


def test_payloads_are_joined_in_order_and_their_places_kept():
    row = only({"contentString": "é one"}, {"contentReference": {}}, attached("two"))
    assert row.text == "é one\ntwo"
    assert row.attributes["fhir_payloads"] == [[0, 0, 5], [2, 6, 9]]
    assert [row.text[a:b] for _, a, b in row.attributes["fhir_payloads"]] == ["é one", "two"]
    assert row.attributes["fhir_unread"] == ["unresolved_reference"]


@pytest.mark.parametrize(
    ("payload", "flag"),
    [
        ({}, "content_missing"),
        ("text", "content_missing"),
        ({"contentString": 7}, "content_missing"),
        ({"contentCodeableConcept": {"coding": [{"code": "x"}]}}, "coding_without_text"),
        ({"contentAttachment": {"contentType": "text/plain"}}, "attachment_empty"),
        (
            {"contentAttachment": {"contentType": "text/plain", "url": "https://x.invalid/1"}},
            "attachment_not_fetched",
        ),
        ({"contentAttachment": {"contentType": "text/plain", "data": "%%"}}, "attachment_broken"),
        ({"contentAttachment": {"contentType": "text/plain", "data": "YQ"}}, "attachment_broken"),
        ({"contentAttachment": {"contentType": "text/plain", "data": 7}}, "attachment_broken"),
        (attached(b"\xff\xfe\xfd"), "attachment_broken"),
        (attached("a", "text/plain; charset=hex"), "attachment_broken"),
        (attached("a", "image/png"), "attachment_skipped:image/png"),
        (attached("a", MARKER + " and more"), "attachment_skipped:odd-type"),
        ({"contentAttachment": {"data": "YQ=="}}, "attachment_skipped:no-type"),
        ({"contentString": "a\0"}, "characters_broken"),
        ({"contentString": "\ud800"}, "characters_broken"),
        (attached("x" * 3000), "attachment_too_large"),
        ({"contentString": "x" * 6000}, "text_too_long"),
    ],
)
def test_what_can_not_be_read_is_told(payload, flag):
    bounds = Bounds(attachment=1000, text=5000)
    (row,) = read(message("c1", payload), bounds=bounds).rows
    assert isinstance(row, UnreadMessage)
    assert row.attributes["fhir_unread"] == [flag]
    assert row.reason.startswith(flag + ": ")
    assert MARKER not in row.reason
    assert flag.partition(":")[0] in REASONS


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        ("Déjà".encode(), "text/plain", "Déjà"),
        ("Déjà".encode("latin-1"), "text/plain; charset=iso-8859-1", "Déjà"),
        ("it’s".encode("cp1252"), 'TEXT/PLAIN;charset="ISO-8859-1"', "it’s"),
        ("Déjà".encode("utf-16"), "text/plain", "Déjà"),
        (b"\xef\xbb\xbfab", "text/plain", "ab"),
        ('<meta charset="windows-1252"><p>caf\xe9'.encode("cp1252"), "text/html", "café"),
        (b"<p>a &lt;b&gt; &eacute;</p><script>x()</script>", "text/html", "a <b> é"),
        ('<meta charset="utf-16"><p>café'.encode(), "text/html", "café"),
        (b"<meta content='text/html; charset=UTF-16LE'><p>pain.", "text/html", "pain."),
        ("<meta charset=utf-16><p>é".encode("utf-16-le"), "text/html; charset=utf-16le", "é"),
        ("<meta charset=utf-16><p>é".encode("utf-16"), "text/html", "é"),
    ],
)
def test_characters_of_attachments(content, kind, text):
    assert only(attached(content, kind)).text == text


def test_base64_in_lines():
    payload = attached("word " * 40)
    payload["contentAttachment"]["data"] = "\r\n".join(
        payload["contentAttachment"]["data"][i : i + 76] for i in range(0, 300, 76)
    )
    assert only(payload).text == "word " * 40


def test_documents_within_the_file_are_found_and_read_once():
    note = {
        "resourceType": "DocumentReference", "id": "d1", "status": "current",
        "content": [
            {"attachment": {"contentType": "application/pdf", "data": "JVBERi0="}},
            {"attachment": attached("<b>note</b>", "text/html")["contentAttachment"]},
            {"attachment": attached("note")["contentAttachment"]},
        ],
    }  # fmt: skip
    inside = message(
        "c2",
        {"contentReference": {"reference": "#b"}},
        contained=[
            {"resourceType": "Binary", "id": "b", "contentType": "text/plain", "data": "YQ=="}
        ],
    )
    refers = message("c1", {"contentReference": {"reference": "DocumentReference/d1"}})
    corpus = read(bundle(note, refers, inside, note | {"id": "d2"}))
    assert [(d.id, d.text) for d in corpus] == [
        ("c1", "note"), ("c2", "a"), ("DocumentReference/d2", "note"),
    ]  # fmt: skip
    assert all("fhir_unread" not in d.attributes for d in corpus)


def test_who_a_message_is_about():
    subject = only({"contentString": "a"}, subject={"reference": "Patient/p1/_history/2"})
    assert subject.group == subject.attributes["subject"] == "Patient/p1"
    sender = only({"contentString": "a"}, sender={"reference": "Patient/p2"})
    assert sender.group == "Patient/p2"
    nurse = only({"contentString": "a"}, sender={"reference": "Practitioner/n1"})
    assert nurse.group is None
    logical = only(
        {"contentString": "a"}, subject={"identifier": {"system": "urn:x", "value": "7"}}
    )
    assert logical.group == "urn:x|7"
    for reference in ("#p", "Patient?identifier=urn:y|8&active=true"):
        both = {"reference": reference, "identifier": {"system": "urn:x", "value": "7"}}
        assert only({"contentString": "a"}, subject=both).group == "urn:x|7"
    for condition, group in (
        ("urn:x|7", "urn:x|7"), ("urn%3Ax%7C7", "urn:x|7"), ("|7", "7"), ("urn:x|", "Patient/p2"),
    ):  # fmt: skip
        subject = {"reference": f"Patient?identifier={condition}"}
        row = only({"contentString": "a"}, subject=subject, sender={"reference": "Patient/p2"})
        assert row.group == group
    named = only({"contentString": "a"}, subject={"display": MARKER, "reference": "#p"})
    assert named.group is None
    assert MARKER not in repr(named)


def test_what_was_entered_in_error_is_kept_for_a_person():
    (row,) = read(message("c1", {"contentString": MARKER}) | {"status": "entered-in-error"}).rows
    assert isinstance(row, Unreadable)
    assert row.reason.startswith("entered_in_error")
    assert MARKER not in repr(row)


def test_a_modifier_that_is_not_understood_is_told():
    row = only({"contentString": "a"}, modifierExtension=[{"url": "urn:x", "valueBoolean": True}])
    assert row.text == "a"
    assert row.attributes["fhir_unread"] == ["modifier_extension"]


def test_lines_keep_their_places(tmp_path):
    good = json.dumps(message("a", {"contentString": "one"}))
    deep = '{"resourceType": "Communication", "id": ' + "[" * 100 + "]" * 100 + "}"
    lines = [good, f"{{broken {MARKER}", "", "[]", deep, good.replace('"a"', '"b"')]
    for name, pack in (("m.ndjson", bytes), ("m.ndjson.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack("\n".join(lines).encode()))
        corpus = read_fhir(path)
        kinds = [(row.id, row.source.line, isinstance(row, Document)) for row in corpus.rows]
        assert kinds == [
            ("a", 1, True), ("row-2", 2, False), ("row-3", 4, False), ("row-4", 5, False),
            ("b", 6, True),
        ]  # fmt: skip
        assert "broken JSON at column 2" in corpus.problems[0].reason
        assert "deeper than the 64 levels" in corpus.problems[2].reason
        assert MARKER not in repr(corpus.rows)


def test_a_broken_first_line_does_not_hide_the_rest(tmp_path):
    path = tmp_path / "m.ndjson"
    path.write_text("{oops\n" + json.dumps(message("a", {"contentString": "one"})) + "\n")
    assert [isinstance(row, Document) for row in load_corpus(path).rows] == [False, True]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"[1]", "this is not FHIR"),
        (b'{"a": 1}', "this is not FHIR"),
        (b'{"resourceType": "Patient"}', "no messages"),
        (b'{"resourceType": "Bundle",\n "entry": [}', "line 2: broken JSON"),
        (b'{"resourceType": "Bundle", "total": NaN}', "number"),
        (b'{"resourceType": "Bundle", "total": ' + b"9" * 5000 + b"}", "number"),
        (b"[" * 100_000, "nested deeper"),
        (b'"\\"' * 100_000, "broken JSON"),
        (b"\xff\xfe{", "UTF-16"),
        (b'{"resourceType": "Communication", "id": "\xff"}', "can't be read"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(content, words):
    with pytest.raises(DataError, match=words) as caught:
        read_fhir(content)
    assert "\n" not in str(caught.value)


def test_bounds_hold(tmp_path):
    many = [message(f"m{i}", {"contentString": "a"}) for i in range(5)]
    with pytest.raises(DataError, match="too many resources"):
        read(bundle(*many), bounds=Bounds(resources=4))
    path = tmp_path / "m.json"
    path.write_text(json.dumps(bundle(*many)))
    packed = tmp_path / "m.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes() + b" " * 10_000_000))
    for file in (path, packed):
        with pytest.raises(DataError, match="too large"):
            read_fhir(file, bounds=Bounds(bytes=300))
    with pytest.raises(DataError, match="too large"):
        read_fhir(path.read_bytes(), bounds=Bounds(bytes=300))
    (row,) = read(
        message("m", *[{"contentString": str(i)} for i in range(5)]), bounds=Bounds(payloads=2)
    ).rows
    assert (row.text, row.attributes["fhir_unread"]) == ("0\n1", ["payloads_left_out"])


def test_ids_and_zones_that_can_not_be_used():
    odd = message(f"{MARKER} long id", {"contentString": "a"})
    corpus = read(bundle(odd))
    assert corpus.documents[0].id == "row-1"
    assert "1 message without a usable id" in corpus.notes[0]
    assert MARKER not in repr(corpus)
    by_url = {
        "resourceType": "Bundle",
        "entry": [
            {
                "fullUrl": "urn:uuid:00000000-0000-4000-8000-000000000001",
                "resource": {**odd, "id": 1},
            },
            {"fullUrl": "https://x.invalid/Communication/7", "resource": {**odd, "id": 1}},
            {"request": {"method": "DELETE", "url": "Communication/8"}},
        ],
    }
    rows = read(by_url).rows
    assert [row.id for row in rows] == ["urn:uuid:00000000-0000-4000-8000-000000000001", "7"]
    assert [row.attributes["fhir_resource"] for row in rows] == [rows[0].id, "Communication/7"]
    with pytest.raises(DataError, match="no such time zone"):
        read(bundle(odd), zone="Mars/Base")


def test_strict_refuses_what_is_read_in_part():
    with pytest.raises(DataError, match="attachment_skipped:image/png"):
        read(message("c", {"contentString": "a"}, attached("b", "image/png")), strict=True)


def test_load_corpus_tells_fhir_by_its_content(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(
        json.dumps(
            bundle(
                message("a", {"contentString": "one"}, priority="stat"),
                message("b", {"contentString": "two"}) | {"status": "stopped"},
                message("c"),
            )
        )
    )
    corpus = load_corpus(path, label="")
    assert [row.id for row in corpus.rows] == ["a", "b", "c"]
    assert not corpus.labelled
    assert load_corpus([path, path]).notes[-1].startswith("export.json: 3 ids occur")
    kept = load_corpus(path, where={"status": "completed"})
    assert [row.id for row in kept.rows] == ["a", "c"]
    labelled = load_corpus(path, label="priority")
    assert [d.labels for d in labelled] == [("stat",), None]
    assert load_corpus(path, **labelled.columns).fingerprint == labelled.fingerprint
    with path.open("rb") as file:
        assert len(load_corpus(file)) == 2
    with pytest.raises(DataError, match="no columns"):
        load_corpus(path, text="body")
    assert len(load_corpus(path, **{"text": "payload", "date": "sent"})) == 2
    table = tmp_path / "t.csv"
    table.write_text("id,text\n1,a\n")
    with pytest.raises(DataError, match="one corpus"):
        load_corpus([path, table])


def test_json_lines_with_a_resource_type_inside_are_no_fhir(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "1", "text": "a", "meta": {"resourceType": "Patient"}}\n')
    assert load_corpus(path).documents[0].text == "a"
