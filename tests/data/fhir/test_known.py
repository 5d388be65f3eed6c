"""What references lead to: never to another patient's document, nor to a retracted one unseen."""

import base64
import json

import pytest

from attending.data.fhir.bounds import Bounds
from attending.data.fhir.corpus import read_fhir

A, B = "https://a.invalid/fhir", "https://b.invalid/fhir"


def note(text, id_="1", **more):
    data = base64.b64encode(text.encode()).decode()
    content = [{"attachment": {"contentType": "text/plain", "data": data}}]
    body = {"resourceType": "DocumentReference", "id": id_, "status": "current", "content": content}
    return body | more


def message(*references, **more):
    payload = [{"contentReference": {"reference": r}} for r in references]
    return {"resourceType": "Communication", "id": "5", "status": "completed"} | {
        "payload": payload,
        **more,
    }


def read(*entries, **settings):
    """Return {id: text, or flags} of a bundle's rows; each entry is (base or None, resource)."""
    listed = []
    for base, resource in entries:
        url = f"{base}/{resource['resourceType']}/{resource['id']}"
        listed.append({"resource": resource} | ({"fullUrl": url} if base else {}))
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": listed}
    rows = read_fhir(json.dumps(bundle).encode(), **settings).rows
    return [
        (row.id, getattr(row, "text", None), row.attributes.get("fhir_unread", [])) for row in rows
    ]


LOST = ("5", None, ["unresolved_reference"])
IN_ERROR = ("5", None, ["entered_in_error"])


def row(text, id_="1"):
    return (f"DocumentReference/{id_}", text, [])


@pytest.mark.parametrize("home", [A, B])
def test_a_relative_reference_leads_to_the_server_of_the_message(home):
    texts = {A: "A's note", B: "B's note"}
    (other,) = {A, B} - {home}
    rows = read((A, note(texts[A])), (B, note(texts[B])), (home, message("DocumentReference/1")))
    assert rows == [row(texts[other]), ("5", texts[home], [])]


@pytest.mark.parametrize(
    ("documents", "home"),
    [
        ([(A, "one"), (B, "two")], None),  # nothing says which of them
        ([(None, "one"), (None, "two")], None),
        ([(None, "one"), (None, "two")], B),
        ([(A, "one")], B),  # it is another server's
        ([(B, "one"), (B, "two")], B),
    ],
)
def test_a_name_that_does_not_lead_to_one_document_is_told(documents, home):
    rows = read(*[(b, note(t)) for b, t in documents], (home, message("DocumentReference/1")))
    assert rows == [*[row(text) for _, text in documents], LOST]


@pytest.mark.parametrize(("of_note", "home"), [(None, None), (None, B), (A, None), (B, B)])
def test_type_and_id_are_enough_where_no_server_says_otherwise(of_note, home):
    rows = read((of_note, note("one")), (home, message("DocumentReference/1/_history/2")))
    assert rows == [("5", "one", [])]


def test_an_absolute_reference_leads_to_its_server():
    rows = read((A, note("one")), (B, note("two")), (B, message(f"{A}/DocumentReference/1")))
    assert rows == [row("two"), ("5", "one", [])]


def test_the_same_document_twice_is_one():
    rows = read((None, note("one")), (None, note("one")), (None, message("DocumentReference/1")))
    assert rows == [row("one"), ("5", "one", [])]


def test_what_is_not_read_as_a_part_stays_a_row():
    refers = message("DocumentReference/1", "DocumentReference/2")
    rows = read((None, note("one")), (None, note("two", "2")), (None, refers))
    assert rows == [("5", "one\ntwo", [])]
    rows = read(
        (None, note("one")), (None, note("two", "2")), (None, refers), bounds=Bounds(payloads=1)
    )
    assert rows == [row("two", "2"), ("5", "one", ["payloads_left_out"])]
    by_identifier = {"contentReference": {"identifier": {"value": "DocumentReference/1"}}}
    by_condition = message("DocumentReference?identifier=DocumentReference/1")
    for refers in (message(payload=[by_identifier]), by_condition):
        assert read((None, note("one")), (None, refers)) == [row("one"), LOST]


@pytest.mark.parametrize("where", ["status", "docStatus"])
def test_a_retracted_document_is_not_read(where):
    retracted = note("retracted") | {where: "entered-in-error"}
    rows = read((None, retracted), (None, message("DocumentReference/1")))
    assert rows == [IN_ERROR]
    said = {"payload": [{"contentString": "a"}, *message("DocumentReference/1")["payload"]]}
    rows = read((None, retracted), (None, message() | said))
    assert rows == [("5", "a", ["entered_in_error"])]
    rows = read((None, retracted))
    assert rows == [("DocumentReference/1", None, ["entered_in_error"])]
    inside = message("#1", contained=[retracted])
    assert read((None, inside)) == [IN_ERROR]


def test_a_modifier_of_a_document_that_is_referred_to_is_told():
    changed = note("a", modifierExtension=[{"url": "urn:x", "valueBoolean": True}])
    rows = read((None, changed), (None, message("DocumentReference/1")))
    assert rows == [("5", "a", ["modifier_extension"])]


def test_a_retracted_message_takes_no_document_with_it():
    retracted = message("DocumentReference/1", status="entered-in-error")
    rows = read((None, note("good")), (None, retracted))
    assert rows == [row("good"), IN_ERROR]


def about(subject):
    reference = {"reference": subject} if isinstance(subject, str) else {"identifier": subject}
    return {"subject": reference} if subject else {}


@pytest.mark.parametrize(
    ("mine", "its"),
    [
        ("Patient/1", "Patient/2"),
        (f"{A}/Patient/1", "Patient/2"),
        (f"{A}/Patient/1", f"{B}/Patient/1"),
        ("Patient/1", "Group/1"),
        ("urn:uuid:1", "urn:uuid:2"),
        ({"system": "urn:x", "value": "1"}, {"system": "urn:x", "value": "2"}),
    ],
)
def test_a_document_about_somebody_else_is_not_read_and_stays_a_row(mine, its):
    refers = message("DocumentReference/1", **about(mine))
    rows = read((None, note("theirs", **about(its))), (None, refers))
    assert rows == [row("theirs"), ("5", None, ["subject_differs"])]
    inside = message("#1", contained=[note("theirs", **about(its))], **about(mine))
    assert read((None, inside)) == [("5", None, ["subject_differs"])]


@pytest.mark.parametrize(
    ("mine", "its"),
    [
        (None, "Patient/1"),
        ("Patient/1", None),
        ("Patient/1", "Patient/1/_history/3"),
        (f"{A}/Patient/1", "Patient/1"),
        ("Patient/1", "urn:uuid:1"),
        ("Patient/1", {"value": "1"}),
        ({"system": "urn:x", "value": "1"}, {"system": "urn:y", "value": "2"}),
        ("Patient?identifier=urn:x|1", {"system": "urn:x", "value": "1"}),
    ],
)
def test_a_document_that_may_be_about_the_same_person_is_read(mine, its):
    refers = message("DocumentReference/1", **about(mine))
    assert read((None, note("a", **about(its))), (None, refers)) == [("5", "a", [])]
