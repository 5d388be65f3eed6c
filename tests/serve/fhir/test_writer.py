"""FHIR written from predictions, in R4 and R5."""

import gzip
import json
import sys
from datetime import UTC, datetime
from importlib import import_module

import pytest

from attending.data.fhir.corpus import read_fhir
from attending.errors import DataError, LabelError, MissingExtra, OutputError
from attending.records import Document, Label, LabelSet, Prediction, Unreadable
from attending.serve.fhir.coding import SYSTEMS, code_system, spelled
from attending.serve.fhir.releases import checker
from attending.serve.fhir.writer import fhir_bundle, require_writable, write_fhir

WHEN = datetime(2024, 3, 11, 8, tzinfo=UTC)
RELEASES = ("R4", "R5")
CODES = LabelSet(
    (Label("E119", description="Diabetes"), Label("I10", name="Hypertension")), "icd10cm"
)


@pytest.fixture
def said(case, predicted):
    corpus = read_fhir(case("D27") / "bundle.json")
    labels = iter(["non-urgent", "urgent", "non-urgent", None])
    answers = [
        predicted(r, next(labels) if isinstance(r, Document) else None, evidence=[(0, 4)])
        for r in corpus.rows
    ]
    return corpus.rows, answers


def by_type(bundle, kind):
    found = [e["resource"] for e in bundle["entry"]]
    return [r for r in found if r["resourceType"] == kind]


def said_of_a_message(entry):
    return entry["resource"]["resourceType"] in ("Task", "Condition")


def extension(resource, url):
    return [
        {part["url"]: next(v for k, v in part.items() if k != "url") for part in e["extension"]}
        for e in resource.get("extension", ())
        if e["url"] == url
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_every_message_gets_a_task_and_its_provenance(said, labels, maker, release, tmp_path):
    rows, answers = said
    path = tmp_path / "out.json"
    written = write_fhir(
        rows, answers, path, labels=labels, maker=maker, release=release, recorded=WHEN
    )
    assert written.resources == {"Device": 1, "Task": 6, "Provenance": 6}
    bundle = json.loads(path.read_text("utf-8"))
    package = "fhir.resources.R4B.bundle" if release == "R4" else "fhir.resources.bundle"
    import_module(package).Bundle.model_validate(bundle)
    tasks = by_type(bundle, "Task")
    assert [t["focus"]["reference"] for t in tasks] == [f"Communication/c{i}" for i in range(1, 7)]
    assert [t["priority"] for t in tasks] == ["routine", "stat", "asap", "asap", "asap", "asap"]
    readings = [t["businessStatus"]["coding"][0]["code"] for t in tasks]
    assert readings == ["read", "read", "not-read", "not-read", "read-in-part", "unsure"]
    assert {(t["status"], t["intent"], t["authoredOn"]) for t in tasks} == {
        ("requested", "proposal", "2024-03-11T08:00:00Z")
    }
    reason = tasks[1]["reasonCode"] if release == "R4" else tasks[1]["reason"][0]["concept"]
    assert reason["coding"][0]["code"] == "urgent"
    (device,) = by_type(bundle, "Device")
    names = device["deviceName"][0]["name"] if release == "R4" else device["name"][0]["value"]
    assert (names, device["version"][0]["value"]) == ("tiny", "abc123")
    for task, provenance in zip(tasks, by_type(bundle, "Provenance"), strict=True):
        assert provenance["target"] == [{"reference": f"urn:uuid:{task['id']}"}]
        assert provenance["entity"][0]["what"] == task["focus"]
        assert provenance["agent"][0]["who"] == {
            "reference": f"urn:uuid:{device['id']}", "display": "tiny abc123",
        }  # fmt: skip


def test_evidence_is_offsets_within_a_payload(said, labels, maker):
    rows, answers = said
    bundle = fhir_bundle(rows, answers, labels=labels, maker=maker)
    (found,) = extension(by_type(bundle, "Task")[1], "urn:attending:evidence")
    assert found == {
        "label": "urgent", "payload": 0, "start": 0, "end": 4, "score": 0.5, "method": "test",
    }  # fmt: skip
    (told,) = extension(by_type(bundle, "Task")[1], "urn:attending:label")
    assert (told["code"]["code"], told["probability"]) == ("urgent", 0.9)
    text = json.dumps(bundle)
    assert not any(d.text in text for d in rows if isinstance(d, Document))


def test_evidence_across_payloads_is_told_in_each(row, predicted, labels, maker):
    d = row(text="one two\nthree", fhir_payloads=[[0, 0, 7], [2, 8, 13]])
    answer = predicted(d, "urgent", evidence=[(4, 13)])
    bundle = fhir_bundle([d], [answer], labels=labels, maker=maker)
    found = extension(by_type(bundle, "Task")[0], "urn:attending:evidence")
    assert [(e["payload"], e["start"], e["end"]) for e in found] == [(0, 4, 7), (2, 0, 5)]


@pytest.mark.parametrize("release", RELEASES)
def test_codes_become_provisional_conditions(row, predicted, maker, release, tmp_path):
    about = row(subject="Patient/p1")
    both = Prediction(
        "c1", "ok", ("E119", "I10"), {"E119": 0.8, "I10": 0.6}, read=predicted(about).read
    )
    other = row("c2")
    path = tmp_path / "out.ndjson.gz"
    written = write_fhir(
        [about, other], [both, predicted(other)], path,
        labels=CODES, maker=maker, release=release, recorded=WHEN,
    )  # fmt: skip
    assert written.resources == {"Device": 1, "Condition": 2, "Provenance": 2, "Task": 1}
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    first, second = (r for r in lines if r["resourceType"] == "Condition")
    assert first["code"]["coding"] == [
        {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "E11.9", "display": "Diabetes"}
    ]
    assert second["code"]["coding"][0]["display"] == "Hypertension"
    assert first["verificationStatus"]["coding"][0]["code"] == "provisional"
    assert first["subject"] == {"reference": "Patient/p1"}
    source = {"reference": "Communication/c1"}
    r4 = release == "R4"
    assert first["evidence"] == ([{"detail": [source]}] if r4 else [{"reference": source}])
    assert ("clinicalStatus" in first) == (release == "R5")
    (task,) = (r for r in lines if r["resourceType"] == "Task")
    assert (task["focus"]["reference"], task["priority"]) == ("Communication/c2", "asap")
    targets = [r["target"] for r in lines if r["resourceType"] == "Provenance"]
    assert targets[0] == [{"reference": f"Condition/{c['id']}"} for c in (first, second)]
    for resource in lines:
        checker(release)(resource)


def test_a_condition_of_an_unknown_person_says_so(row, predicted, maker):
    answer = Prediction("c1", "ok", ("I10",), {"I10": 0.6}, read=predicted(row()).read)
    bundle = fhir_bundle([row()], [answer], labels=CODES, maker=maker)
    (condition,) = by_type(bundle, "Condition")
    assert condition["subject"]["extension"][0]["valueCode"] == "unknown"


def test_documents_from_a_table_are_named_by_their_id(predicted, labels, maker):
    d = Document("17", "chest pain", group="p9", attributes={"resource": "not FHIR's"})
    bundle = fhir_bundle([d], [predicted(d, "urgent")], labels=labels, maker=maker)
    (task,) = by_type(bundle, "Task")
    assert task["focus"] == {"identifier": {"value": "17"}}
    assert task["for"] == {"identifier": {"value": "p9"}}


def test_the_same_answer_has_the_same_ids(said, labels, maker):
    one, two = (fhir_bundle(*said, labels=labels, maker=maker, recorded=WHEN) for _ in range(2))
    assert one == two
    ids = [e["fullUrl"] for e in one["entry"]]
    assert len(set(ids)) == len(ids)
    again = fhir_bundle(said[0] * 2, said[1] * 2, labels=labels, maker=maker, recorded=WHEN)
    ids = [e["fullUrl"] for e in again["entry"]]
    assert len(set(ids)) == len(ids)
    tasks = [e for e in one["entry"] if e["resource"]["resourceType"] == "Task"]
    assert all(
        e["request"]["ifNoneExist"] == f"identifier=urn:attending:task|{e['resource']['id']}"
        for e in tasks
    )


@pytest.mark.parametrize("codes", [None, "icd10cm"])
def test_other_messages_of_the_same_id_have_other_identifiers(maker, labels, codes):
    known = CODES if codes else labels
    label = known.ids[-1]
    when = datetime(2024, 3, 11, tzinfo=UTC)
    rows = [
        Document("row-1", "refill"),
        Document("row-1", "chest pain"),
        Document("row-1", "refill", group="p2"),
        Document("row-1", "refill", when=when),
        Document("c1", "refill", attributes={"fhir_resource": "Communication/c1"}),
        Document("c1", "chest pain", attributes={"fhir_resource": "Communication/c1"}),
    ]

    def sent(*some):
        answers = [Prediction(r.id, "ok", (label,), {label: 0.9}) for r in some]
        bundle = fhir_bundle(some, answers, labels=known, maker=maker, codes=codes)
        return [e["request"]["ifNoneExist"] for e in bundle["entry"] if said_of_a_message(e)]

    alone = [sent(r)[0] for r in rows]
    assert len(set(alone)) == len(rows)
    assert sent(*rows) == alone
    assert sent(*rows[::-1]) == alone[::-1]
    assert not any("refill" in x or "pain" in x for x in alone)


def test_what_nothing_tells_apart_is_made_each_time(predicted, labels, maker):
    rows = [Unreadable("row-1", "no_payload"), Document("row-2", " "), Document("row-3", "refill")]
    answers = [predicted(r) for r in rows]
    first, second = (
        [
            e
            for e in fhir_bundle(rows, answers, labels=labels, maker=maker, recorded=at)["entry"]
            if said_of_a_message(e)
        ]
        for at in (WHEN, WHEN.replace(hour=9))
    )
    for entries in (first, second):
        assert ["ifNoneExist" in e["request"] for e in entries] == [False, False, True]
        assert ["identifier" in e["resource"] for e in entries] == [False, False, True]
    same = [a["fullUrl"] == b["fullUrl"] for a, b in zip(first, second, strict=True)]
    assert same == [False, False, True]


def test_a_message_without_an_id_is_about_its_patient(predicted, labels, maker):
    sent = {
        "resourceType": "Communication",
        "status": "completed",
        "subject": {"reference": "Patient/8"},
    }
    text = sent | {"payload": [{"contentString": "chest pain"}]}
    written = {**text, "sender": text["subject"], "subject": None}
    for message in (text, written, sent):
        rows = read_fhir(json.dumps(message).encode()).rows
        answers = [predicted(r, "urgent") for r in rows]
        bundle = fhir_bundle(rows, answers, labels=labels, maker=maker)
        assert by_type(bundle, "Task")[0]["for"] == {"reference": "Patient/8"}


def test_what_can_not_be_written_is_refused(said, labels, maker, tmp_path):
    rows, answers = said
    settings = {"labels": labels, "maker": maker}
    path = tmp_path / "out.json"
    with pytest.raises(DataError, match="not written under this name"):
        write_fhir(rows, answers, tmp_path / "out.csv", **settings)
    with pytest.raises(DataError, match="no such release"):
        write_fhir(rows, answers, path, release="STU3", **settings)
    with pytest.raises(DataError, match="no zone"):
        write_fhir(rows, answers, path, recorded=datetime(2024, 1, 1), **settings)
    for wrong in (answers[:-1], [*answers, answers[0]], answers[::-1]):
        with pytest.raises(DataError, match=r"belong together|more predictions"):
            write_fhir(rows, wrong, path, **settings)
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write_fhir(rows, answers, path, **settings)
    with pytest.raises(LabelError, match="no map"):
        require_writable(path, LabelSet.from_ids(["a", "b"]))
    with pytest.raises(LabelError, match="no such code system"):
        require_writable(path, CODES, codes="icd-11")
    require_writable(path, CODES)


def test_a_resource_that_is_not_valid_is_told_by_place_alone():
    with pytest.raises(DataError) as caught:
        checker("R4")(
            {"resourceType": "Task", "status": "requested", "intent": "x", "colour": "SECRET"}
        )
    assert "colour" in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch, labels, tmp_path):
    checker.cache_clear()
    monkeypatch.setitem(sys.modules, "fhir.resources.R4B.task", None)
    with pytest.raises(MissingExtra, match=r"attending\[fhir\]"):
        require_writable(tmp_path / "out.json", labels)
    checker.cache_clear()


def test_codes_are_spelled_as_their_system_wants():
    icd10 = SYSTEMS["icd10cm"]
    assert [spelled(c, icd10) for c in ("E119", "E11.9", "I10", "S72001A")] == [
        "E11.9", "E11.9", "I10", "S72.001A",
    ]  # fmt: skip
    assert spelled("4019", SYSTEMS["icd9"]) == "4019"
    assert code_system("https://x.invalid/codes") == "https://x.invalid/codes"
